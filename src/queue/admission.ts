/** The verbs: from a handler and its values to published jobs. Host thread. `TaskQueue` and `Task` are thin faces of it. */
import {
  Array,
  type Entry,
  Promise,
  type RailheadError,
  railheadError,
  readRunOptions,
  type ResolvedOptions,
  type ResolvedRunOptions,
  type RunOptions,
  type Transferable,
} from '#base';
import { recordOf } from '#memory';
import type { Defined, Definitions } from './definitions.ts';
import { abortError, type Endings } from './endings.ts';
import { Job, SUBMITTED } from './job.ts';
import { refuseNotYetOfRun } from './not-yet.ts';
import type { Reports } from './reports.ts';
import type { Submitter } from './submitter.ts';
import type { Tally } from './tally.ts';

export interface AdmissionParts {
  readonly options: Readonly<ResolvedOptions>;
  readonly definitions: Definitions;
  readonly submitter: Submitter;
  readonly endings: Endings;
  readonly tally: Tally;
  readonly reports: Reports;
  /** So many jobs were published: wakes and starts workers, and expects results. */
  onPublished(jobs: number): void;
}

/** Why there is no entry to publish. */
const FULL = 'full';
const REFUSED = 'refused';

export class Admission {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** @throws TypeError when it is no handler. */
  define(given: unknown): Defined {
    return this.#parts.definitions.find(given);
  }

  run(given: unknown, value: unknown, options: RunOptions | undefined): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const defined = this.define(given); // what is thrown here rejects the promise
      if (options === undefined) return this.#admit(defined, value, new Job(true, resolve, reject), undefined);
      const read = this.#readOptions(options);
      this.#admit(defined, value, new Job(true, resolve, reject, this.#parts.endings.watchFor(read)), read.transfer);
    });
  }

  push(given: unknown, value: unknown): boolean {
    return this.#tryAdmit(given, value, undefined);
  }

  submit(given: unknown, value: unknown): boolean {
    return this.#tryAdmit(given, value, SUBMITTED);
  }

  /** Skips what cannot be sent. `defined` is one handler for all values, or one for each. */
  pushBatch(defined: Defined | readonly Defined[], values: readonly unknown[]): number {
    const entries: Entry[] = [];
    for (let k = 0; k < values.length && this.#parts.tally.accepting; k++) {
      const its = Array.isArray(defined) ? (defined[k] as Defined) : (defined as Defined);
      const entry = this.#prepare(its, values[k], undefined);
      if (entry === FULL) break;
      if (entry !== REFUSED) entries.push(entry);
    }
    return this.#publishRun(entries, undefined) ? entries.length : 0;
  }

  /** Admits exactly a prefix. */
  submitBatch(defined: Defined, values: readonly unknown[]): number {
    const { tally } = this.#parts;
    const entries: Entry[] = [];
    for (let k = 0; k < values.length && tally.accepting && tally.hasRoom(k + 1); k++) {
      const entry = this.#prepare(defined, values[k], SUBMITTED);
      if (entry === FULL || entry === REFUSED) break;
      entries.push(entry);
    }
    while (entries.length > 0 && !tally.hasRoom(entries.length)) this.#takeBack([entries.pop() as Entry]); // a getter of a value may have called a verb
    return this.#publishRun(entries, SUBMITTED) ? entries.length : 0;
  }

  trySubmitBatch(defined: Defined, values: readonly unknown[]): boolean {
    if (values.length === 0) return true;
    const { tally } = this.#parts;
    const entries: Entry[] = [];
    let whole = tally.accepting && tally.hasRoom(values.length);
    for (let k = 0; k < values.length && whole; k++) {
      const entry = this.#prepare(defined, values[k], SUBMITTED);
      whole = entry !== FULL && entry !== REFUSED;
      if (whole) entries.push(entry as Entry);
    }
    whole &&= tally.hasRoom(values.length);
    if (!whole) this.#takeBack(entries);
    return whole && this.#publishRun(entries, SUBMITTED);
  }

  #readOptions(options: RunOptions): ResolvedRunOptions {
    const read = readRunOptions(options);
    refuseNotYetOfRun(read);
    if (read.signal?.aborted) throw abortError(read.signal.reason);
    return read;
  }

  /** @throws whatever keeps the job out. */
  #admit(defined: Defined, value: unknown, job: Job, transfer: readonly Transferable[] | undefined): void {
    const { endings, tally, submitter } = this.#parts;
    tally.checkRoom();
    const entry = this.#write(defined, value, job, transfer);
    try {
      tally.checkRoom(); // a getter of the value may have called a verb, or aborted the signal
      if (job.watch?.signal?.aborted) throw abortError(job.watch.signal.reason);
    } catch (error) {
      this.#takeBack([entry]);
      throw error;
    }
    try {
      if (job.watch !== undefined) endings.admit(job, 1); // before it can start: whatever throws here keeps it out
      if (!submitter.publish(entry)) throw noMemory();
    } catch (error) {
      if (job.watch !== undefined) endings.release(job);
      this.#takeBack([entry]);
      throw error;
    }
    this.#published(1, job);
  }

  #tryAdmit(given: unknown, value: unknown, job: Job | undefined): boolean {
    const { tally, submitter } = this.#parts;
    let defined: Defined;
    try {
      defined = this.define(given);
    } catch (error) {
      if ((error as RailheadError).code === 'E_QUEUE_FULL') return false; // no more handlers can be defined: full, as any other way
      throw error;
    }
    if (!tally.accepting || (job !== undefined && !tally.hasRoom(1))) return false;
    const entry = this.#prepare(defined, value, job);
    if (entry === FULL || entry === REFUSED) return false;
    if (tally.accepting && (job === undefined || tally.hasRoom(1)) && submitter.publish(entry)) {
      this.#published(1, job);
      return true;
    }
    this.#takeBack([entry]);
    return false;
  }

  /** An entry to publish, or why there is none. What cannot be sent is reported here. */
  #prepare(defined: Defined, value: unknown, job: Job | undefined): Entry | typeof FULL | typeof REFUSED {
    try {
      return this.#write(defined, value, job, undefined);
    } catch (error) {
      if ((error as RailheadError).code === 'E_QUEUE_FULL') return FULL;
      this.#parts.reports.failure(error, { handler: defined.name });
      return REFUSED;
    }
  }

  /** From here the job names its handler, so that it stays defined; until then verbs in getters may have defined too many others. */
  #write(defined: Defined, value: unknown, job: Job | undefined, transfer: readonly Transferable[] | undefined): Entry {
    const { definitions, submitter } = this.#parts;
    const entry = submitter.prepare(defined, value, job, transfer);
    if (!defined.dropped) return entry;
    try {
      submitter.setHandler(entry, definitions.again(defined));
    } catch (error) {
      this.#takeBack([entry]);
      throw error;
    }
    return entry;
  }

  #takeBack(entries: readonly Entry[]): void {
    for (const entry of entries) this.#parts.submitter.takeBack(recordOf(entry));
  }

  /** All or none: none where a getter of a value has stopped the queue meanwhile, or the region is at its limit. */
  #publishRun(entries: readonly Entry[], job: Job | undefined): boolean {
    if (entries.length === 0) return true;
    if (!this.#parts.tally.accepting || !this.#parts.submitter.publishRun(entries)) {
      this.#takeBack(entries);
      return false;
    }
    this.#published(entries.length, job);
    return true;
  }

  #published(jobs: number, job: Job | undefined): void {
    const { endings, options, tally } = this.#parts;
    if (job?.watch === undefined && options.timeoutMs > 0) endings.admit(job, jobs);
    tally.admit(jobs, job !== undefined);
    this.#parts.onPublished(jobs);
  }
}

const noMemory = (): RailheadError => railheadError('E_QUEUE_FULL', 'The queue is full: no shared memory is left for a larger ring');
