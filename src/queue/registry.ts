/** The unsettled jobs: what the host remembers of each, and the register of all of them by record. Host thread. */
import { load, peek } from '#atomics';
import { Object, type RecordNumber, Set } from '#base';
import { RECORD_HANDLER, RECORD_STATE, type Region, recordAt, stateOf } from '#memory';
import { FREE } from '#ring';

/** What a job with options asks for beyond its promise. Most jobs have none. */
export interface Watch {
  readonly signal: AbortSignal | undefined;
  /** Run time allowed, in ms; 0 for no limit. */
  readonly timeoutMs: number;
  /** When the job must have settled, by `performance.now()`; 0 for never. */
  readonly dueAt: number;
  /** How often it may still run again after its worker died. */
  retriesLeft: number;
  /** Runs that died so far, and what the first of them was. */
  attempts: number;
  firstDeath: unknown;
  /** Of the record, for a retry; undefined where it lies in a port, since whoever is given that has the only one. */
  argument: { readonly meta: number; readonly length: number } | undefined;
}

/** One shape for all jobs, since every settle reads it. */
export class Job {
  /** Counts against `maxPending`. */
  readonly bounded: boolean;
  readonly resolve: ((value: unknown) => void) | undefined;
  readonly reject: ((error: unknown) => void) | undefined;
  readonly watch: Watch | undefined;
  record: RecordNumber = 0 as RecordNumber;
  /** Its promise is settled already; only record and payload are still taken. */
  abandoned = false;

  constructor(bounded: boolean, resolve?: (value: unknown) => void, reject?: (error: unknown) => void, watch?: Watch) {
    this.bounded = bounded;
    this.resolve = resolve;
    this.reject = reject;
    this.watch = watch;
  }
}

/** A pushed job has no `Job` at all, since there may be millions. Submitted ones share this one. */
export const SUBMITTED: Job = Object.freeze(new Job(true));

export class Registry {
  readonly #region: Region;
  readonly #jobs: (Job | undefined)[] = [];
  #highestRecord = 0;

  constructor(region: Region) {
    this.#region = region;
  }

  add(record: RecordNumber, job: Job | undefined): void {
    if (record > this.#highestRecord) this.#highestRecord = record;
    if (job === undefined) return;
    while (this.#jobs.length <= record) this.#jobs.push(undefined); // stays a dense array
    this.#jobs[record] = job;
  }

  remove(record: RecordNumber): void {
    if (this.jobOf(record) !== undefined) this.#jobs[record] = undefined;
  }

  jobOf(record: RecordNumber): Job | undefined {
    return record < this.#jobs.length ? this.#jobs[record] : undefined;
  }

  handlerOf(record: RecordNumber): number {
    const at = recordAt(this.#region, record);
    return peek(this.#region.m, at + RECORD_HANDLER);
  }

  /** Handler ids that unsettled jobs name. */
  handlersInUse(): Set<number> {
    const ids = new Set<number>();
    for (const record of this.unsettled()) ids.add(this.handlerOf(record));
    return ids;
  }

  /** All unsettled jobs, by a scan of the records' states: for rare occasions. */
  *unsettled(): Generator<RecordNumber> {
    for (let record = 1; record <= this.#highestRecord; record++) {
      const at = recordAt(this.#region, record as RecordNumber);
      if (stateOf(load(this.#region.m, at + RECORD_STATE)) !== FREE) yield record as RecordNumber;
    }
  }
}
