/** The verbs: from a handler and its values to published jobs. Host thread. `TaskQueue` and `Task` are thin faces of it. */
import {
  Array,
  type Entry,
  Number,
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
import { type Counters, stopped } from './counters.ts';
import type { Defined, Definitions } from './definitions.ts';
import type { Inbox } from './inbox.ts';
import { refuseNotYetOfRun } from './not-yet.ts';
import { Job, SUBMITTED } from './registry.ts';
import type { Reports } from './reports.ts';
import type { Staffing } from './staffing.ts';
import type { Submitter } from './submitter.ts';
import { abortError, type Watches } from './watches/watches.ts';

export interface AdmissionParts {
  readonly options: Readonly<ResolvedOptions>;
  readonly definitions: Definitions;
  readonly submitter: Submitter;
  readonly watches: Watches;
  readonly counters: Counters;
  readonly reports: Reports;
  readonly staffing: Staffing;
  readonly inbox: Inbox;
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
      this.#admit(defined, value, new Job(true, resolve, reject, this.#parts.watches.watchFor(read)), read.transfer);
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
    for (let k = 0; k < values.length && this.#parts.counters.accepting; k++) {
      const its = Array.isArray(defined) ? (defined[k] as Defined) : (defined as Defined);
      const entry = this.#prepare(its, values[k], undefined);
      if (entry === FULL) break;
      if (entry !== REFUSED) entries.push(entry);
    }
    return this.#publishRun(entries, undefined) ? entries.length : 0;
  }

  /** Admits exactly a prefix. */
  submitBatch(defined: Defined, values: readonly unknown[]): number {
    const { counters } = this.#parts;
    const entries: Entry[] = [];
    for (let k = 0; k < values.length && counters.accepting && this.#makeRoom(k + 1); k++) {
      const entry = this.#prepare(defined, values[k], SUBMITTED);
      if (entry === FULL || entry === REFUSED) break;
      entries.push(entry);
    }
    while (entries.length > 0 && !this.#makeRoom(entries.length)) this.#takeBack([entries.pop() as Entry]); // a getter of a value may have called a verb
    return this.#publishRun(entries, SUBMITTED) ? entries.length : 0;
  }

  trySubmitBatch(defined: Defined, values: readonly unknown[]): boolean {
    if (values.length === 0) return true;
    const { counters } = this.#parts;
    const entries: Entry[] = [];
    let whole = counters.accepting && this.#makeRoom(values.length);
    for (let k = 0; k < values.length && whole; k++) {
      const entry = this.#prepare(defined, values[k], SUBMITTED);
      whole = entry !== FULL && entry !== REFUSED;
      if (whole) entries.push(entry as Entry);
    }
    whole &&= this.#makeRoom(values.length);
    if (!whole) this.#takeBack(entries);
    return whole && this.#publishRun(entries, SUBMITTED);
  }

  /** Room under `maxPending` for so many jobs: before there is none, what has come meanwhile is settled. False: there is none. */
  #makeRoom(jobs: number): boolean {
    const { counters, submitter } = this.#parts;
    if (counters.hasRoom(jobs)) return true;
    submitter.settleCompleted(Number.POSITIVE_INFINITY);
    if (counters.hasRoom(jobs)) return true;
    counters.noteRefusal();
    return false;
  }

  /** @throws RailheadError `E_QUEUE_STOPPED` or `E_QUEUE_FULL` when one more job may not be admitted. */
  #checkRoom(): void {
    const { counters, options } = this.#parts;
    if (!counters.accepting) throw stopped();
    if (!this.#makeRoom(1))
      throw railheadError('E_QUEUE_FULL', `The queue is full: \`maxPending\` allows ${options.maxPending} unsettled tasks`);
  }

  #readOptions(options: RunOptions): ResolvedRunOptions {
    const read = readRunOptions(options);
    refuseNotYetOfRun(read);
    if (read.signal?.aborted) throw abortError(read.signal.reason);
    return read;
  }

  /** @throws whatever keeps the job out. */
  #admit(defined: Defined, value: unknown, job: Job, transfer: readonly Transferable[] | undefined): void {
    const { submitter, watches } = this.#parts;
    this.#checkRoom();
    const entry = this.#write(defined, value, job, transfer);
    try {
      this.#checkRoom(); // a getter of the value may have called a verb, or aborted the signal
      if (job.watch?.signal?.aborted) throw abortError(job.watch.signal.reason);
    } catch (error) {
      this.#takeBack([entry]);
      throw error;
    }
    try {
      if (job.watch !== undefined) watches.add(job, 1); // before it can start: whatever throws here keeps it out
      if (!submitter.publish(entry)) throw noMemory();
    } catch (error) {
      if (job.watch !== undefined) watches.remove(job);
      this.#takeBack([entry]);
      throw error;
    }
    this.#published(1, job);
  }

  #tryAdmit(given: unknown, value: unknown, job: Job | undefined): boolean {
    const { counters, submitter } = this.#parts;
    let defined: Defined;
    try {
      defined = this.define(given);
    } catch (error) {
      if ((error as RailheadError).code === 'E_QUEUE_FULL') return false; // no more handlers can be defined: full, as any other way
      throw error;
    }
    if (!counters.accepting || (job !== undefined && !this.#makeRoom(1))) return false;
    const entry = this.#prepare(defined, value, job);
    if (entry === FULL || entry === REFUSED) return false;
    if (counters.accepting && (job === undefined || this.#makeRoom(1)) && submitter.publish(entry)) {
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
      submitter.setHandler(entry, definitions.redefine(defined));
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
    if (!this.#parts.counters.accepting || !this.#parts.submitter.publishRun(entries)) {
      this.#takeBack(entries);
      return false;
    }
    this.#published(entries.length, job);
    return true;
  }

  /** From here workers may have them. They are counted, results are expected, and workers are woken or started for them. */
  #published(jobs: number, job: Job | undefined): void {
    const { counters, inbox, options, staffing, watches } = this.#parts;
    if (job?.watch === undefined && options.timeoutMs > 0) watches.add(job, jobs);
    counters.admit(jobs, job !== undefined);
    inbox.expect();
    staffing.staff(jobs);
  }
}

const noMemory = (): RailheadError => railheadError('E_QUEUE_FULL', 'The queue is full: no shared memory is left for a larger ring');
