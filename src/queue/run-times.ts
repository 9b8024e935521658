/**
 * Run time limits: one timer that looks at what runs on each worker. Host thread.
 *
 * No clock is read and no timer is set per job: a job is timed from the look that first saw it run, so a limit is kept to within
 * one look, and never early. Looks come eight times as often as the shortest limit asks, within bounds.
 */
import { load } from '#atomics';
import { clearInterval, type Entry, Map, Math, performance, setInterval, type Slot } from '#base';
import { type Region, RUN_MAX, recordAt, recordOf, SLOT_RUN, slotAt } from '#memory';
import { isIn, STARTED } from '#ring';

const SHORTEST_LOOK_MS = 1;
const LONGEST_LOOK_MS = 50;
const LOOKS_A_LIMIT = 8;

export interface RunTimesOwner {
  /** Slots with a thread. */
  readonly slots: Iterable<Slot>;
  /** Run time allowed to the job that an entry names, in ms; 0 for no limit. */
  limitOf(entry: Entry): number;
  onOverrun(entry: Entry, limitMs: number): void;
}

interface Seen {
  entry: Entry;
  since: number;
}

export class RunTimes {
  readonly #region: Region;
  readonly #owner: RunTimesOwner;
  /** By slot and place of its run list. */
  readonly #seen = new Map<number, Seen>();
  #timer: NodeJS.Timeout | undefined;
  #lookMs = LONGEST_LOOK_MS;
  #jobs = 0;

  constructor(region: Region, owner: RunTimesOwner) {
    this.#region = region;
    this.#owner = owner;
  }

  /** So many jobs with this limit were admitted. */
  add(limitMs: number, jobs: number): void {
    this.#jobs += jobs;
    const lookMs = Math.min(LONGEST_LOOK_MS, Math.max(SHORTEST_LOOK_MS, limitMs / LOOKS_A_LIMIT));
    if (this.#timer !== undefined && lookMs >= this.#lookMs) return;
    this.#lookMs = Math.min(this.#lookMs, lookMs);
    clearInterval(this.#timer);
    this.#timer = setInterval(this.#onLook, this.#lookMs).unref();
  }

  /** A job with a limit has been released. */
  remove(): void {
    if (--this.#jobs === 0) this.close();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#lookMs = LONGEST_LOOK_MS;
    this.#seen.clear();
  }

  readonly #onLook = (): void => {
    const now = performance.now();
    for (const slot of this.#owner.slots) {
      for (let place = 0; place < RUN_MAX; place++) {
        const entry = load(this.#region.m, slotAt(slot) + SLOT_RUN + place) as Entry;
        if (entry !== 0) this.#look(slot * RUN_MAX + place, entry, now);
      }
    }
  };

  #look(key: number, entry: Entry, now: number): void {
    const seen = this.#seen.get(key);
    if (seen === undefined || seen.entry !== entry) {
      this.#seen.set(key, { entry, since: now });
      return;
    }
    const at = recordAt(this.#region, recordOf(entry));
    if (!isIn(this.#region.m, at, entry, STARTED)) return; // handed over, and not yet off the list
    const limitMs = this.#owner.limitOf(entry);
    if (limitMs > 0 && now - seen.since >= limitMs) {
      seen.since = now; // once
      this.#owner.onOverrun(entry, limitMs);
    }
  }
}
