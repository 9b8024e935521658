/**
 * Ending jobs before they end by themselves, and the thread of a job that does not heed it. Host thread.
 *
 *   queued:  gone at once
 *   running: the promise rejects at once and `task.signal` fires; after `graceMs` the thread is ended, unless the handler has
 *            returned by then. What its worker had claimed and not started goes back at once.
 */
import { load } from '#atomics';
import { type Entry, performance, type RecordNumber, setImmediate, type Slot, toWire } from '#base';
import { entryFor, RECORD_STATE, type Region, recordAt } from '#memory';
import { announceEnd, BUSY, MUST_END, placeOf, runningEntries, takeBatch, toDoomed } from '#pool';
import { LEFT_RUNNING, TOO_LATE } from '#ring';
import type { Registry } from './registry.ts';
import type { Submitter } from './submitter.ts';
import type { Thread, Threads } from './threads.ts';
import type { Watches } from './watches/watches.ts';

/**
 * A thread that stays inside the library for so long is stuck there, since its stays take microseconds. Ending it then is a death at
 * any point, which recovery makes up for; shorter, and a thread without a processor is taken for one.
 */
const STUCK_MS = 1_000;

export class Cancellation {
  readonly #region: Region;
  readonly #graceMs: number;
  readonly #registry: Registry;
  readonly #submitter: Submitter;
  readonly #threads: Threads;
  readonly #watches: Watches;
  readonly #jobsMoved: () => void;

  constructor(
    region: Region,
    graceMs: number,
    registry: Registry,
    submitter: Submitter,
    threads: Threads,
    watches: Watches,
    jobsMoved: () => void,
  ) {
    this.#region = region;
    this.#graceMs = graceMs;
    this.#registry = registry;
    this.#submitter = submitter;
    this.#threads = threads;
    this.#watches = watches;
    this.#jobsMoved = jobsMoved;
  }

  /** The watches' `EndJob`. */
  end(record: RecordNumber, error: unknown, reason: unknown): boolean {
    const was = this.#submitter.end(record, error);
    if (was === TOO_LATE) return false;
    if (was === LEFT_RUNNING) {
      this.#watches.ignore(this.#registry.jobOf(record)); // else the submitter has released it
      this.#endThreadLater(record, reason);
    }
    this.#jobsMoved();
    return true;
  }

  /** The end of the queue is near: fires `task.signal` of all that runs, so that it may finish in good order. */
  signalAll(reason: unknown): void {
    announceEnd(this.#region.m);
    for (const { slot, channel } of this.#threads) {
      for (const entry of runningEntries(this.#region, slot)) channel.send({ type: 'abort', entry, reason: toWire(reason) });
    }
  }

  #endThreadLater(record: RecordNumber, reason: unknown): void {
    const at = recordAt(this.#region, record);
    const { m } = this.#region;
    const entry = entryFor(record, load(m, at + RECORD_STATE));
    for (const thread of this.#threads) {
      if (placeOf(m, thread.slot, entry) === -1) continue;
      thread.channel.send({ type: 'abort', entry, reason: toWire(reason) });
      this.#giveBackBatch(thread.slot);
      const job = this.#registry.jobOf(record);
      if (job === undefined || !this.#submitter.hasBegun(record)) return; // without its value it never will
      this.#watches.afterGrace(job, this.#graceMs, () => this.#endThread(thread, entry, performance.now() + STUCK_MS));
      return;
    } // not found: it has just settled, and its record is on the way back
  }

  /** Innocent jobs, claimed behind the one that may never return. */
  #giveBackBatch(slot: Slot): void {
    const entries: Entry[] = [];
    takeBatch(this.#region.m, slot, entries);
    this.#submitter.publishAhead(entries);
  }

  #endThread(thread: Thread, entry: Entry, until: number): void {
    if (thread.condemned || this.#threads.at(thread.slot) !== thread) return;
    const is = toDoomed(this.#region, thread.slot, entry);
    if (is === MUST_END || (is === BUSY && performance.now() >= until)) this.#threads.condemn(thread, entry);
    else if (is === BUSY) setImmediate(() => this.#endThread(thread, entry, until));
  }
}
