/** The counts of a queue, the room they leave, and who waits for them to change. Host thread. */
import { Promise, type RailheadError, railheadError, type ResolvedOptions, Set } from '#base';
import type { Reports } from './reports.ts';

export interface TallyOwner {
  /** Jobs admitted and not started. */
  readonly size: number;
  /** Settles what has come meanwhile. */
  drainAll(): void;
}

export class Tally {
  readonly #options: Readonly<ResolvedOptions>;
  readonly #reports: Reports;
  readonly #owner: TallyOwner;
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
  cut = 0;
  needsDrain = false;
  /** A verb was refused since there last was room. */
  #refused = false;
  /** Asked whenever counts have changed; each says whether it is done. */
  readonly #waiters = new Set<() => boolean>();

  constructor(options: Readonly<ResolvedOptions>, reports: Reports, owner: TallyOwner) {
    this.#options = options;
    this.#reports = reports;
    this.#owner = owner;
  }

  admit(jobs: number, bounded: boolean): void {
    this.pending += jobs;
    this.admitted += jobs;
    if (bounded) this.bounded += jobs;
    const { backlogMax } = this.#options;
    if (this.pending > backlogMax && !this.needsDrain && this.#owner.size > backlogMax) {
      this.needsDrain = true;
      this.#reports.event('needsDrain');
    }
  }

  release(bounded: boolean): void {
    this.pending--;
    if (bounded) this.bounded--;
  }

  /** Room under `maxPending`; results that have come meanwhile make room before anything is refused. */
  hasRoom(jobs: number): boolean {
    const { maxPending } = this.#options;
    if (maxPending === 0 || this.bounded + jobs <= maxPending) return true;
    this.#owner.drainAll();
    if (this.bounded + jobs <= maxPending) return true;
    this.#refused = true;
    return false;
  }

  /** @throws RailheadError `E_QUEUE_STOPPED` or `E_QUEUE_FULL` when one more job may not be admitted. */
  checkRoom(): void {
    if (!this.accepting) throw stopped();
    if (!this.hasRoom(1))
      throw railheadError('E_QUEUE_FULL', `The queue is full: \`maxPending\` allows ${this.#options.maxPending} unsettled tasks`);
  }

  /** Counts have changed, outside any verb: tells whom it concerns. */
  changed(): void {
    const room = this.#roomAgain();
    if (this.needsDrain && this.#owner.size <= this.#options.backlogMax / 2) {
      this.needsDrain = false;
      this.#reports.event('drain');
    } else if (this.#refused && room) {
      this.#reports.event('drain');
    }
    if (room) this.#refused = false;
    for (const isDone of this.#waiters) if (isDone()) this.#waiters.delete(isDone);
  }

  #roomAgain(): boolean {
    return this.#options.maxPending === 0 || this.bounded < this.#options.maxPending;
  }

  /** Whether a submitter should go on: neither the backlog nor `maxPending` is full. */
  isReady(): boolean {
    if (!this.accepting) throw stopped();
    return !this.needsDrain && this.#roomAgain();
  }

  /** Resolves as soon as `condition` holds, which is asked now and after every change; rejects when it throws. */
  when(condition: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const isDone = (): boolean => {
        try {
          if (!condition()) return false;
          resolve();
        } catch (error) {
          reject(error);
        }
        return true;
      };
      if (!isDone()) this.#waiters.add(isDone);
    });
  }
}

export const stopped = (): RailheadError => railheadError('E_QUEUE_STOPPED', 'The queue is stopped and admits no more work');
/** What a task that `stop` cut rejects with. */
export const cutShort = (): RailheadError => railheadError('E_QUEUE_STOPPED', 'The queue was stopped before the task had settled');
