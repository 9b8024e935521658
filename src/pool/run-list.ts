/**
 * What a worker runs: its places in SLOT_RUN, and the handles of jobs that wanted one. Worker thread; the host reads the words
 * to learn what ran on a thread that has ended, or is to be ended.
 *
 * A job has its place from before it starts until after it is handed over.
 */
import { peek, store } from '#atomics';
import { Array, type Entry, pop, push, type SlotAt } from '#base';
import { type Region, RUN_MAX, recordAt, recordOf, SLOT_RUN } from '#memory';
import { ABANDONED, isIn } from '#ring';
import type { TaskHandle } from './task-handle.ts';

export class RunList {
  readonly #region: Region;
  /** The first of the list's words. */
  readonly #at: number;
  /** Free places, as a stack: the lowest on top. */
  readonly #free: number[] = Array.from({ length: RUN_MAX }, (_, k) => RUN_MAX - 1 - k);
  /** By place; only where the handler wanted one. */
  readonly #handles: (TaskHandle | undefined)[] = Array.from({ length: RUN_MAX }, () => undefined);

  constructor(region: Region, slot: SlotAt) {
    this.#region = region;
    this.#at = slot + SLOT_RUN;
  }

  get isFull(): boolean {
    return this.#free.length === 0;
  }

  /** Notes a job and returns its place. Before the start: the host finds it here if the thread dies. Not while full. */
  add(entry: Entry): number {
    const place = pop(this.#free) as number;
    store(this.#region.m, this.#at + place, entry);
    return place;
  }

  /** After the hand-over: until then the host would have to make up for it. */
  remove(place: number): void {
    const handle = this.#handles[place];
    if (handle !== undefined) {
      handle.settle();
      this.#handles[place] = undefined;
    }
    store(this.#region.m, this.#at + place, 0);
    push(this.#free, place);
  }

  entryAt(place: number): Entry {
    return peek(this.#region.m, this.#at + place) as Entry;
  }

  keepHandle(place: number, handle: TaskHandle): void {
    this.#handles[place] = handle;
  }

  /** Fires the signal of a job, if it is here and has one. */
  abort(entry: Entry, reason: unknown): void {
    for (let place = 0; place < RUN_MAX; place++) if (this.entryAt(place) === entry) this.#handles[place]?.abort(reason);
  }

  /** Whether a job under way was given up: then its thread may be ended, and nothing new should be on it. */
  hasAbandoned(): boolean {
    let left = RUN_MAX - this.#free.length;
    for (let place = 0; left > 0; place++) {
      const entry = this.entryAt(place);
      if (entry === 0) continue;
      if (this.isAbandoned(entry)) return true;
      left--;
    }
    return false;
  }

  isAbandoned(entry: Entry): boolean {
    const at = recordAt(this.#region, recordOf(entry));
    return isIn(this.#region.m, at, entry, ABANDONED);
  }
}
