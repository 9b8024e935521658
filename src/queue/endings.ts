/**
 * Ending jobs before they end by themselves: signals, deadlines, run time limits; and ending the thread of a job that does not
 * heed it. Host thread.
 *
 *   queued:  gone at once
 *   running: the promise rejects at once and `task.signal` fires; after `graceMs` the thread is ended, unless the handler has
 *            returned by then. What its worker had claimed and not started goes back at once.
 */
import { load } from '#atomics';
import {
  type Entry,
  Map,
  performance,
  railheadError,
  type RecordNumber,
  type ResolvedRunOptions,
  setImmediate,
  type Slot,
  toWire,
} from '#base';
import { entryFor, RECORD_STATE, type Region, recordAt, recordOf } from '#memory';
import { announceEnd, BUSY, doom, MUST_END, placeOf, runningEntries, takeBatch } from '#pool';
import { LEFT_RUNNING, TOO_LATE } from '#ring';
import { Deadlines } from './deadlines.ts';
import type { Job, Watch } from './job.ts';
import { RunTimes } from './run-times.ts';
import { Signals } from './signals.ts';
import type { Submitter } from './submitter.ts';
import type { Thread, Threads } from './threads.ts';
import { waitLong } from './timers.ts';

export interface EndingsOptions {
  /** Run time allowed to jobs that do not say otherwise; 0 for no limit. */
  readonly timeoutMs: number;
  readonly graceMs: number;
}

/** How long a thread may take to end by itself: on a loaded machine, with output that waits for the host's loop. */
const ENDING_MS = 250;
/**
 * A thread that stays inside the library for so long is stuck there, since its stays take microseconds. Ending it then is a death at
 * any point, which recovery makes up for; shorter, and a thread without a processor is taken for one.
 */
const STUCK_MS = 1_000;

export class Endings {
  readonly #region: Region;
  readonly #options: EndingsOptions;
  readonly #submitter: Submitter;
  readonly #threads: Threads;
  /** Jobs were ended, or given back and want somebody awake. */
  readonly #onEnded: () => void;
  readonly #signals = new Signals((job, reason) => this.#abort(job, reason));
  readonly #deadlines = new Deadlines((job) => this.#due(job));
  readonly #runTimes: RunTimes;
  /** How to forget what will be done about jobs that were given up, unless they return by then. */
  readonly #graces = new Map<Job | Thread, () => void>();
  /** Tasks that were ended by a signal. */
  aborted = 0;

  constructor(region: Region, options: EndingsOptions, submitter: Submitter, threads: Threads, onEnded: () => void) {
    this.#region = region;
    this.#options = options;
    this.#submitter = submitter;
    this.#threads = threads;
    this.#onEnded = onEnded;
    this.#runTimes = new RunTimes(region, {
      slots: { [Symbol.iterator]: () => this.#slots() },
      limitOf: (entry) => this.#limitOf(submitter.roll.jobOf(recordOf(entry))),
      onOverrun: (entry, limitMs) => this.#overrun(recordOf(entry), limitMs),
    });
  }

  *#slots(): Generator<Slot> {
    for (const { slot } of this.#threads) yield slot;
  }

  /** What a job with these options needs to be watched for; undefined where nothing. */
  watchFor({ signal, timeoutMs = this.#options.timeoutMs, deadlineMs, retry }: ResolvedRunOptions): Watch | undefined {
    if (signal === undefined && timeoutMs === this.#options.timeoutMs && deadlineMs === 0 && retry === 0) return undefined;
    const dueAt = deadlineMs === 0 ? 0 : performance.now() + deadlineMs;
    return { signal, timeoutMs, dueAt, retriesLeft: retry, attempts: 0, firstDeath: undefined, argument: undefined };
  }

  /** The job is about to be published; or `jobs` of them were, which have no options. */
  admit(job: Job | undefined, jobs: number): void {
    const { signal, dueAt = 0 } = job?.watch ?? {};
    if (job !== undefined && dueAt > 0) this.#deadlines.add(dueAt, job);
    if (this.#limitOf(job) > 0) this.#runTimes.add(this.#limitOf(job), jobs);
    if (job !== undefined && signal !== undefined) this.#signals.add(signal, job); // last: a signal of the user's may throw
  }

  /** The job has been released: nothing of it is watched any more. */
  release(job: Job | undefined): void {
    this.#forget(job);
    if (this.#limitOf(job) > 0) this.#runTimes.remove();
    if (job?.abandoned) {
      this.#graces.get(job)?.();
      this.#graces.delete(job);
    }
  }

  /** The end of the queue is near: fires `task.signal` of all that runs, so that it may finish in good order. */
  signalAll(reason: unknown): void {
    announceEnd(this.#region.m);
    for (const { slot, channel } of this.#threads) {
      for (const entry of runningEntries(this.#region, slot)) channel.send({ type: 'abort', entry, reason: toWire(reason) });
    }
  }

  /** The thread should end by itself, after `graceMs` at the latest and the time that takes; if it does not, it is ended. */
  endLater(thread: Thread): void {
    this.forget(thread);
    this.#graces.set(
      thread,
      waitLong(this.#options.graceMs + ENDING_MS, () => this.#threads.at(thread.slot) === thread && this.#threads.condemn(thread)),
    );
  }

  forget(thread: Thread): void {
    this.#graces.get(thread)?.();
    this.#graces.delete(thread);
  }

  close(): void {
    for (const forget of this.#graces.values()) forget();
    this.#graces.clear();
    this.#runTimes.close();
  }

  #forget(job: Job | undefined): void {
    if (job?.watch === undefined) return;
    if (job.watch.signal !== undefined) this.#signals.remove(job.watch.signal, job);
    if (job.watch.dueAt > 0) this.#deadlines.remove(job);
  }

  #limitOf(job: Job | undefined): number {
    return job?.watch === undefined ? this.#options.timeoutMs : job.watch.timeoutMs;
  }

  #abort(job: Job, reason: unknown): void {
    if (this.#end(job.record, abortError(reason), reason)) this.aborted++;
  }

  #due(job: Job): void {
    const error = railheadError('E_TASK_DEADLINE', 'The task had not settled by its deadline, `deadlineMs` after its submission');
    this.#end(job.record, error, error);
  }

  #overrun(record: RecordNumber, limitMs: number): void {
    if (this.#submitter.roll.jobOf(record)?.abandoned) return;
    const error = railheadError('E_TASK_TIMEOUT', `The task ran longer than its \`timeoutMs\`, ${limitMs}`);
    this.#end(record, error, error);
  }

  /** True: the job had no outcome yet, and `error` is its outcome now. */
  #end(record: RecordNumber, error: unknown, reason: unknown): boolean {
    const was = this.#submitter.end(record, error);
    if (was === TOO_LATE) return false;
    if (was === LEFT_RUNNING) {
      this.#forget(this.#submitter.roll.jobOf(record)); // else the release has
      this.#condemnLater(record, reason);
    }
    this.#onEnded();
    return true;
  }

  #condemnLater(record: RecordNumber, reason: unknown): void {
    const at = recordAt(this.#region, record);
    const { m } = this.#region;
    const entry = entryFor(record, load(m, at + RECORD_STATE));
    for (const thread of this.#threads) {
      if (placeOf(m, thread.slot, entry) === -1) continue;
      thread.channel.send({ type: 'abort', entry, reason: toWire(reason) });
      this.#giveBackBatch(thread.slot);
      const job = this.#submitter.roll.jobOf(record);
      if (job === undefined || !this.#submitter.hasBegun(record)) return; // without its value it never will
      this.#graces.set(
        job,
        waitLong(this.#options.graceMs, () => this.#endThread(thread, entry, performance.now() + STUCK_MS)),
      );
      return;
    } // not found: it has just settled, and its record is on the way back
  }

  /** Innocent jobs, claimed behind the one that may never return. */
  #giveBackBatch(slot: Slot): void {
    const entries: Entry[] = [];
    takeBatch(this.#region.m, slot, entries);
    if (entries.length === 0) return;
    this.#submitter.publishAhead(entries);
  }

  #endThread(thread: Thread, entry: Entry, until: number): void {
    if (thread.condemned || this.#threads.at(thread.slot) !== thread) return;
    const is = doom(this.#region, thread.slot, entry);
    if (is === MUST_END || (is === BUSY && performance.now() >= until)) this.#threads.condemn(thread, entry);
    else if (is === BUSY) setImmediate(() => this.#endThread(thread, entry, until));
  }
}

/** As Node's own functions reject: name `AbortError`, code `ABORT_ERR`, the signal's reason as cause. */
export function abortError(reason: unknown): Error {
  return railheadError('ABORT_ERR', 'The task was aborted', { cause: reason });
}
