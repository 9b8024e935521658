/** What the host remembers of an unsettled job. Host thread. One shape, since every settle looks at it. */
import { Object, type RecordNumber } from '#base';

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
