/**
 * The counters of a queue: the room they leave, and who waits for them to change. Host thread.
 *
 * Admission, the submitter and `stop` write them directly; nothing here calls back into those.
 */
import { peek } from '#atomics';
import { Math, Promise, type RailheadError, railheadError, type ResolvedOptions, Set, type Slot } from '#base';
import { type Region, SLOT_STARTED, slotAt, slotCount } from '#memory';
import type { Reports } from './reports.ts';

export class Counters {
  readonly #region: Region;
  readonly #options: Readonly<ResolvedOptions>;
  readonly #reports: Reports;
  /** Verbs admit work. */
  accepting = true;
  /** `stop` has begun to cut: what fails unsettled from here is cut, and counted. */
  cutting = false;
  /** Unsettled jobs, and those of them that count against `maxPending`. */
  pending = 0;
  bounded = 0;
  /** Since the queue was made. */
  admitted = 0;
  completed = 0;
  failed = 0;
  /** Of the failed ones, those that a signal ended, and those that `stop` cut. */
  aborted = 0;
  cut = 0;
  /** Jobs that got their outcome without a start, and starts that were repeated. */
  neverStarted = 0;
  retried = 0;
  needsDrain = false;
  /** A verb was refused since there last was room. */
  #hasRefused = false;
  /** Each is taken whenever counters have changed, until it returns true. */
  readonly #steps = new Set<() => boolean>();

  constructor(region: Region, options: Readonly<ResolvedOptions>, reports: Reports) {
    this.#region = region;
    this.#options = options;
    this.#reports = reports;
  }

  /** Jobs admitted and not started. Derived: started ones are counted by the workers. */
  get size(): number {
    return Math.max(0, (this.admitted + this.retried - this.neverStarted - startedJobs(this.#region)) | 0);
  }

  /** So many jobs were published. */
  admit(jobs: number, bounded: boolean): void {
    this.pending += jobs;
    this.admitted += jobs;
    if (bounded) this.bounded += jobs;
    const { backlogMax } = this.#options;
    if (this.pending > backlogMax && !this.needsDrain && this.size > backlogMax) {
      this.needsDrain = true;
      this.#reports.event('needsDrain');
    }
  }

  /** A job counts as unsettled no more: it has its outcome, and what it took is free. */
  settle(bounded: boolean): void {
    this.pending--;
    if (bounded) this.bounded--;
  }

  /** Whether `maxPending` leaves room for so many more jobs. */
  hasRoom(jobs: number): boolean {
    const { maxPending } = this.#options;
    return maxPending === 0 || this.bounded + jobs <= maxPending;
  }

  /** A verb found no room: the next time there is some, `drain` fires. */
  noteRefusal(): void {
    this.#hasRefused = true;
  }

  /** Counters have changed, outside any verb: fires `drain` if there is room again, and takes the step of each who waits. */
  changed(): void {
    const room = this.hasRoom(1);
    if (this.needsDrain && this.size <= this.#options.backlogMax / 2) {
      this.needsDrain = false;
      this.#reports.event('drain');
    } else if (this.#hasRefused && room) {
      this.#reports.event('drain');
    }
    if (room) this.#hasRefused = false;
    for (const step of this.#steps) if (step()) this.#steps.delete(step);
  }

  /** Whether a submitter should go on: neither the backlog nor `maxPending` is full. */
  isReady(): boolean {
    if (!this.accepting) throw stopped();
    return !this.needsDrain && this.hasRoom(1);
  }

  /** Takes `step` now and after every change. Resolves as soon as it returns true, and rejects when it throws. */
  until(step: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const isDone = (): boolean => {
        try {
          if (!step()) return false;
          resolve();
        } catch (error) {
          reject(error);
        }
        return true;
      };
      if (!isDone()) this.#steps.add(isDone);
    });
  }
}

/** Jobs started since the queue was made, by the workers' own counts; wraps at 2^32. */
function startedJobs(region: Region): number {
  const slots = slotCount(region.m);
  let started = 0;
  for (let slot = 1; slot < slots; slot++) started = (started + peek(region.m, slotAt(slot as Slot) + SLOT_STARTED)) | 0; // a moment's truth
  return started;
}

export const stopped = (): RailheadError => railheadError('E_QUEUE_STOPPED', 'The queue is stopped and admits no more work');
/** What a task that `stop` cut rejects with. */
export const cutShort = (): RailheadError => railheadError('E_QUEUE_STOPPED', 'The queue was stopped before the task had settled');
