/**
 * What is watched of unsettled jobs: their signals, deadlines and run times, and the grace of those that were given up. Host thread.
 *
 *   admission --add--> signal, deadline, run time --one of them comes--> `endJob`
 *   submitter --remove--> nothing of the job is watched any more
 *
 * It knows when a job must end, and neither how nor where the job is: `endJob` does all the rest.
 */
import { Map, performance, railheadError, type RecordNumber, type ResolvedRunOptions } from '#base';
import type { Region } from '#memory';
import type { Counters } from '../counters.ts';
import type { Job, Registry, Watch } from '../registry.ts';
import type { Thread } from '../threads.ts';
import { waitLong } from '../timers.ts';
import { Deadlines } from './deadlines.ts';
import { RunTimes } from './run-times.ts';
import { Signals } from './signals.ts';

/** Ends a job wherever it is: `error` becomes its outcome, and `reason` that of its `task.signal`. False: it had an outcome already. */
export type EndJob = (record: RecordNumber, error: unknown, reason: unknown) => boolean;

export class Watches {
  /** Run time allowed to jobs that do not say otherwise; 0 for no limit. */
  readonly #timeoutMs: number;
  readonly #signals: Signals;
  readonly #deadlines: Deadlines;
  readonly #runTimes: RunTimes;
  /** How to forget what will be done about jobs that were given up, unless they return by then. */
  readonly #graces = new Map<Job, () => void>();

  constructor(
    region: Region,
    timeoutMs: number,
    registry: Registry,
    threads: Iterable<Pick<Thread, 'slot'>>,
    counters: Counters,
    endJob: EndJob,
  ) {
    this.#timeoutMs = timeoutMs;
    this.#signals = new Signals((job, reason) => {
      if (endJob(job.record, abortError(reason), reason)) counters.aborted++;
    });
    this.#deadlines = new Deadlines((job) => {
      const error = railheadError('E_TASK_DEADLINE', 'The task had not settled by its deadline, `deadlineMs` after its submission');
      endJob(job.record, error, error);
    });
    this.#runTimes = new RunTimes(region, timeoutMs, registry, threads, (record, limitMs) => {
      const error = railheadError('E_TASK_TIMEOUT', `The task ran longer than its \`timeoutMs\`, ${limitMs}`);
      endJob(record, error, error);
    });
  }

  /** What a job with these options needs to be watched for; undefined where nothing. */
  watchFor({ signal, timeoutMs = this.#timeoutMs, deadlineMs, retry }: ResolvedRunOptions): Watch | undefined {
    if (signal === undefined && timeoutMs === this.#timeoutMs && deadlineMs === 0 && retry === 0) return undefined;
    const dueAt = deadlineMs === 0 ? 0 : performance.now() + deadlineMs;
    return { signal, timeoutMs, dueAt, retriesLeft: retry, attempts: 0, firstDeath: undefined, argument: undefined };
  }

  /** The job is about to be published; or `jobs` of them were, which have no options. */
  add(job: Job | undefined, jobs: number): void {
    const { signal, dueAt = 0 } = job?.watch ?? {};
    if (job !== undefined && dueAt > 0) this.#deadlines.add(dueAt, job);
    this.#runTimes.add(job, jobs);
    if (job !== undefined && signal !== undefined) this.#signals.add(signal, job); // last: a signal of the user's may throw
  }

  /** The job is released: nothing of it is watched any more. */
  remove(job: Job | undefined): void {
    if (job?.watch === undefined && this.#timeoutMs === 0) return;
    this.ignore(job);
    this.#runTimes.remove(job);
    if (job?.abandoned) {
      this.#graces.get(job)?.();
      this.#graces.delete(job);
    }
  }

  /** The job has its outcome while it still runs: its signal and its deadline change nothing any more. */
  ignore(job: Job | undefined): void {
    if (job?.watch === undefined) return;
    if (job.watch.signal !== undefined) this.#signals.remove(job.watch.signal, job);
    if (job.watch.dueAt > 0) this.#deadlines.remove(job);
  }

  /** Calls `then` after `graceMs`, unless the job, which was given up, is released before. */
  afterGrace(job: Job, graceMs: number, then: () => void): void {
    this.#graces.set(job, waitLong(graceMs, then));
  }

  close(): void {
    for (const forget of this.#graces.values()) forget();
    this.#graces.clear();
    this.#runTimes.close();
  }
}

/** As Node's own functions reject: name `AbortError`, code `ABORT_ERR`, the signal's reason as cause. */
export function abortError(reason: unknown): Error {
  return railheadError('ABORT_ERR', 'The task was aborted', { cause: reason });
}
