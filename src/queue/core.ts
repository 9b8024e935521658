/**
 * The composer: admission, publishing, settling, threads and their ends, put together. Host thread. `TaskQueue` and `Task` are
 * thin faces of it.
 */
import type { EventEmitter } from 'node:events';
import { add, store } from '#atomics';
import {
  type DeathReason,
  type Entry,
  parallelism,
  type RailheadError,
  type RecordNumber,
  type ResolvedOptions,
  railheadError,
  readRunOptions,
  type RunOptions,
  type Sequence,
} from '#base';
import { createRegion, REGION_RECYCLE, REGION_TARGET, type Region, recordOf } from '#memory';
import { anySource, ENOUGH, exitedByItself, recoverSlot, runningWorkers, runsAny, START_ONE, unparkHottest, wakeFor } from '#pool';
import { type Defined, Definitions } from './definitions.ts';
import { abortError, Endings } from './endings.ts';
import { startedJobs } from './gauges.ts';
import { Inbox } from './inbox.ts';
import { refuseNotYet, refuseNotYetOfRun } from './not-yet.ts';
import { Reports } from './reports.ts';
import { Job, SUBMITTED, type Watch } from './job.ts';
import { Submitter } from './submitter.ts';
import { BOOT_FAILURES_MAX, slotsFor, type Thread, Threads } from './threads.ts';
import { holdProcess } from './timers.ts';

/** For tests: small rings and records, and sequences that begin near a wrap. */
export interface Internals {
  readonly ringCapacity?: number;
  readonly firstSequence?: number;
  readonly rotation?: number;
  readonly maxRegionBytes?: number;
}

export class Core {
  readonly options: Readonly<ResolvedOptions>;
  readonly region: Region;
  readonly threads: Threads;
  readonly reports: Reports;
  readonly submitter: Submitter;
  readonly endings: Endings;
  readonly #definitions: Definitions;
  readonly #inbox: Inbox;
  readonly #target: number;

  /** Verbs admit work. */
  accepting = true;
  /** `stop` has begun to cut: what fails unsettled from here is cut, and counted. */
  cutting = false;
  cut = 0;
  /** Unsettled jobs; of these the ones that count against `maxPending`; and counts since the queue was made. */
  pending = 0;
  bounded = 0;
  admitted = 0;
  completed = 0;
  failed = 0;
  needsDrain = false;
  /** A verb was refused since there last was room. */
  #refused = false;
  /** Why threads cannot boot, while they cannot. */
  #bootError: RailheadError | undefined;
  /** Asked after every drain; each says whether it is done. */
  readonly #waiters = new Set<() => boolean>();

  constructor(emitter: EventEmitter, options: Readonly<ResolvedOptions>, internals: Internals = {}) {
    refuseNotYet(options);
    this.options = options;
    const firstSequence = ((internals.firstSequence ?? 0) | 0) as Sequence;
    const processors = options.parallelism ?? parallelism();
    this.#target = Math.min(options.concurrency, processors);
    this.region = createRegion(slotsFor(options.concurrency), internals.maxRegionBytes);
    store(this.region.m, REGION_TARGET, this.#target);
    this.reports = new Reports(emitter, options.onError);
    this.submitter = new Submitter(this.region, { ...internals, firstSequence, maxPayloadBytes: options.maxPayloadBytes }, this);
    this.#definitions = new Definitions(this.region, options.allowFunctions, () => this.submitter.handlersInUse());
    this.threads = new Threads(this.region, options, processors, firstSequence, this);
    const tasksPerWorker = options.tasksPerWorker === 'auto' ? 64 : options.tasksPerWorker;
    this.endings = new Endings(this.region, { ...options, tasksPerWorker }, this.submitter, this.threads, () => this.#onEnded());
    this.#inbox = new Inbox(this.region, this);
  }

  // ---- admission

  /** @throws TypeError when it is no handler. */
  define(given: unknown): Defined {
    return this.#definitions.find(given);
  }

  run(given: unknown, value: unknown, options: RunOptions | undefined): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const defined = this.define(given); // what is thrown here rejects the promise
      this.#admit(defined, value, new Job(true, resolve, reject, options === undefined ? undefined : this.#watchFor(options)));
    });
  }

  #watchFor(options: RunOptions): Watch | undefined {
    const read = readRunOptions(options);
    refuseNotYetOfRun(read);
    if (read.signal?.aborted) throw abortError(read.signal.reason);
    return this.endings.watchFor(read);
  }

  push(given: unknown, value: unknown): boolean {
    return this.#tryAdmit(this.define(given), value, undefined);
  }

  submit(given: unknown, value: unknown): boolean {
    return this.#tryAdmit(this.define(given), value, SUBMITTED);
  }

  /** Skips what cannot be sent. `defined` is one handler for all values, or one for each. */
  pushBatch(defined: Defined | readonly Defined[], values: readonly unknown[]): number {
    const entries: Entry[] = [];
    for (let k = 0; k < values.length && this.accepting; k++) {
      const its = Array.isArray(defined) ? (defined[k] as Defined) : (defined as Defined);
      const entry = this.#prepare(its, values[k], undefined);
      if (entry === FULL) break;
      if (entry !== REFUSED) entries.push(entry);
    }
    return this.#publishRun(entries, undefined) ? entries.length : 0;
  }

  /** Admits exactly a prefix. */
  submitBatch(defined: Defined, values: readonly unknown[]): number {
    const entries: Entry[] = [];
    for (let k = 0; k < values.length && this.accepting && this.#hasRoom(k + 1); k++) {
      const entry = this.#prepare(defined, values[k], SUBMITTED);
      if (entry === FULL || entry === REFUSED) break;
      entries.push(entry);
    }
    while (!this.#hasRoom(entries.length)) this.#takeBack([entries.pop() as Entry]); // a getter of a value may have called a verb
    return this.#publishRun(entries, SUBMITTED) ? entries.length : 0;
  }

  trySubmitBatch(defined: Defined, values: readonly unknown[]): boolean {
    const entries: Entry[] = [];
    let whole = this.accepting && this.#hasRoom(values.length);
    for (let k = 0; k < values.length && whole; k++) {
      const entry = this.#prepare(defined, values[k], SUBMITTED);
      whole = entry !== FULL && entry !== REFUSED;
      if (whole) entries.push(entry as Entry);
    }
    whole &&= this.accepting && this.#hasRoom(values.length);
    if (!whole) this.#takeBack(entries);
    return whole && this.#publishRun(entries, SUBMITTED);
  }

  #tryAdmit(defined: Defined, value: unknown, job: Job | undefined): boolean {
    if (!this.accepting || (job !== undefined && !this.#hasRoom(1))) return false;
    const entry = this.#prepare(defined, value, job);
    if (entry === FULL || entry === REFUSED) return false;
    if (this.accepting && (job === undefined || this.#hasRoom(1)) && this.submitter.publish(entry)) {
      this.#published(1, job);
      return true;
    }
    this.#takeBack([entry]);
    return false;
  }

  #admit(defined: Defined, value: unknown, job: Job | undefined): void {
    this.#mayAdmit();
    const entry = this.submitter.prepare(defined, value, job);
    try {
      this.#mayAdmit(); // a getter of the value may have called a verb, or aborted the signal
      if (job?.watch?.signal?.aborted) throw abortError(job.watch.signal.reason);
      if (!this.submitter.publish(entry)) throw noMemory();
    } catch (error) {
      this.#takeBack([entry]);
      throw error;
    }
    this.#published(1, job);
  }

  #mayAdmit(): void {
    if (!this.accepting) throw stopped();
    if (!this.#hasRoom(1)) throw railheadError('E_QUEUE_FULL', `The queue is full: \`maxPending\` allows ${this.options.maxPending} unsettled tasks`);
  }

  /** An entry to publish, or why there is none. What cannot be sent is reported here. */
  #prepare(defined: Defined, value: unknown, job: Job | undefined): Entry | typeof FULL | typeof REFUSED {
    try {
      return this.submitter.prepare(defined, value, job);
    } catch (error) {
      if ((error as RailheadError).code === 'E_QUEUE_FULL') return FULL;
      this.reports.failure(error, { handler: defined.name });
      return REFUSED;
    }
  }

  #takeBack(entries: readonly Entry[]): void {
    for (const entry of entries) this.submitter.takeBack(recordOf(entry));
  }

  #publishRun(entries: readonly Entry[], job: Job | undefined): boolean {
    if (entries.length === 0) return true;
    if (!this.submitter.publishRun(entries)) {
      this.#takeBack(entries);
      return false;
    }
    this.#published(entries.length, job);
    return true;
  }

  /** Room under `maxPending`; results that have come meanwhile make room before anything is refused. */
  #hasRoom(jobs: number): boolean {
    const { maxPending } = this.options;
    if (maxPending === 0 || this.bounded + jobs <= maxPending) return true;
    this.drain(Number.POSITIVE_INFINITY);
    if (this.bounded + jobs <= maxPending) return true;
    this.#refused = true;
    return false;
  }

  #published(jobs: number, job: Job | undefined): void {
    if (job?.watch !== undefined || this.options.timeoutMs > 0) this.endings.admit(job, jobs);
    this.pending += jobs;
    this.admitted += jobs;
    if (job !== undefined) this.bounded += jobs;
    this.#inbox.expect();
    this.#staff(jobs);
    if (this.pending > this.options.backlogMax && !this.needsDrain && this.size > this.options.backlogMax) {
      this.needsDrain = true;
      this.reports.event('needsDrain');
    }
  }

  /** Wakes or starts as many workers as so many jobs need: all of a cold burst's at once. */
  #staff(jobs: number): void {
    for (let k = 0; k < jobs; k++) {
      const wake = wakeFor(this.region.m);
      if (wake === ENOUGH || (wake === START_ONE && !this.threads.start())) return;
    }
  }

  // ---- the inbox's owner

  drain(most: number): boolean {
    return this.submitter.drain(most);
  }

  /** Makes up for workers that left, or that a searcher could not start: jobs wait and fewer run than should. */
  beforeSleep(): void {
    if (!anySource(this.region)) return;
    const running = runningWorkers(this.region.m);
    if (running >= this.#target) return;
    let busy = 0;
    for (const { slot } of this.threads) if (runsAny(this.region.m, slot)) busy++;
    this.#staff(this.size - (running - busy)); // those that run and have no job yet will find one by themselves
  }

  afterDrain(): void {
    if (this.needsDrain && this.size <= this.options.backlogMax / 2) {
      this.needsDrain = false;
      this.reports.event('drain');
    } else if (this.#refused && this.#roomAgain()) {
      this.reports.event('drain');
    }
    if (this.#roomAgain()) this.#refused = false;
    for (const isDone of this.#waiters) if (isDone()) this.#waiters.delete(isDone);
  }

  #roomAgain(): boolean {
    return this.options.maxPending === 0 || this.bounded < this.options.maxPending;
  }

  /** Resolves as soon as `condition` holds, which is asked now and after every drain; rejects when it throws. */
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

  /** Whether a submitter should go on: neither the backlog nor `maxPending` is full. */
  isReady(): boolean {
    if (!this.accepting) throw stopped();
    return !this.needsDrain && this.#roomAgain();
  }

  // ---- the submitter's listener

  onOutcome(failed: boolean): void {
    if (failed) this.failed++;
    else this.completed++;
  }

  onReleased(job: Job | undefined): void {
    this.pending--;
    if (job?.bounded) this.bounded--;
    if (job?.watch !== undefined || this.options.timeoutMs > 0) this.endings.release(job);
  }

  onFailure(error: unknown, handlerId: number): void {
    const job = { handler: this.#definitions.nameOf(handlerId) };
    if (this.cutting) this.reports.notice(error, job);
    else this.reports.failure(error, job);
  }

  onCrashLoop(handlerId: number, error: unknown): void {
    this.reports.event('crashLoop', { handler: this.#definitions.nameOf(handlerId), error });
  }

  // ---- the threads' listener

  onReady({ workerId }: Thread): void {
    this.#bootError = undefined;
    this.reports.event('workerStart', { workerId });
    this.afterDrain();
  }

  onExit(thread: Thread, exitCode: number): void {
    this.drain(Number.POSITIVE_INFINITY); // first: what it handed over is settled and no concern of recovery
    const remains = recoverSlot(this.region, thread.slot);
    for (const record of remains.settled) this.submitter.settle(record);
    for (const record of remains.abandoned) this.submitter.fail(record, undefined);
    this.submitter.publishAhead(remains.requeued); // before those that run again: they are older than none of these
    for (const record of remains.died) this.#die(thread, exitCode, record);
    this.reports.event('workerExit', { workerId: thread.workerId, exitCode });
    this.#inbox.expect(); // jobs were settled outside a look: it sees whether any are left to stay alive for
  }

  onUncaught({ error, workerId }: Thread): void {
    this.reports.failure(error, { handler: undefined, workerId });
  }

  /** A job that ran on a thread when it ended: it may run again if it asked for that. */
  #die(thread: Thread, exitCode: number, record: RecordNumber): void {
    const watch = this.submitter.jobOf(record)?.watch;
    const error = this.cutting ? cutShort() : this.#deathOf(thread, exitCode, this.handlerNameOf(record), watch);
    if (watch !== undefined && !this.cutting) {
      watch.attempts++;
      watch.firstDeath ??= error;
      if (watch.retriesLeft-- > 0) return this.submitter.retry(record, watch);
    }
    if (this.submitter.fail(record, error) && this.cutting) this.cut++;
  }

  #deathOf({ workerId, slot, error, condemnedFor }: Thread, exitCode: number, handler: string, watch: Watch | undefined): RailheadError {
    if (condemnedFor !== 0) {
      const message = `Worker ${workerId} had to be ended because of another task, while it also ran this one of handler \`${handler}\``;
      return railheadError('E_WORKER_TERMINATED', message, { retryable: true });
    }
    const oom = (error as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY';
    const reason: DeathReason = oom ? 'oom' : error !== undefined ? 'crash' : exitedByItself(this.region.m, slot) ? 'exit' : 'terminated';
    const times = watch !== undefined && watch.attempts > 0 ? `, the last of ${watch.attempts + 1} attempts` : '';
    const message = `Worker ${workerId} ended with exit code ${exitCode} (${reason}) while it ran a task of handler \`${handler}\`${times}`;
    const cause = watch?.firstDeath ?? error;
    return railheadError('E_WORKER_DIED', message, { exitCode, reason, ...(cause === undefined ? {} : { cause }) });
  }

  /** Threads cannot even boot: what waits would wait for ever. */
  onBootFailure(error: unknown, failures: number): void {
    if (failures < BOOT_FAILURES_MAX) return;
    const message = `No worker could be started, ${failures} times in a row: ${error instanceof Error ? error.message : String(error)}`;
    this.#bootError = railheadError('E_WORKER_DIED', message, { reason: 'crash', cause: error });
    this.submitter.failQueued(this.#bootError);
    this.reports.event('crashLoop', { handler: undefined, error });
    this.afterDrain();
    this.#inbox.expect();
  }

  /** Jobs were ended, or given back, outside a look. */
  #onEnded(): void {
    this.afterDrain();
    this.beforeSleep();
    this.#inbox.expect();
  }

  onMayStart(): void {
    this.afterDrain();
    this.beforeSleep();
  }

  // ---- gauges

  /** Jobs admitted and not started. Derived: started ones are counted by the workers. */
  get size(): number {
    return Math.max(0, (this.admitted + this.submitter.retried - this.submitter.neverStarted - startedJobs(this.region)) | 0);
  }

  /** Every worker retires after its present task. */
  recycle(): void {
    add(this.region.m, REGION_RECYCLE, 1);
    this.wakeAll();
  }

  wakeAll(): void {
    while (unparkHottest(this.region.m));
  }

  /** Starts threads, whatever the target, until `workers` are ready. */
  async warm(workers: number): Promise<void> {
    const letGo = holdProcess(); // threads do not keep it alive
    try {
      await this.when(() => {
        if (!this.accepting) throw stopped();
        if (this.#bootError !== undefined && this.threads.pausing) throw this.#bootError;
        let [ready, starting] = [0, 0];
        for (const thread of this.threads) thread.ready ? ready++ : starting++;
        while (ready + starting < workers && this.threads.start()) starting++;
        return ready >= workers;
      });
    } finally {
      letGo();
    }
  }

  /** Fails all that has not started, or all that is left. Only while cutting. */
  cutQueued(error: RailheadError): void {
    this.cut += this.submitter.failQueued(error);
    this.afterDrain();
  }

  cutRest(error: RailheadError): void {
    this.cut += this.submitter.failAll(error);
    this.afterDrain();
  }

  handlerNameOf(record: RecordNumber): string {
    return this.#definitions.nameOf(this.submitter.handlerOf(record));
  }

  close(): void {
    this.endings.close();
    this.#inbox.close();
  }
}

/** Why there is no entry. */
const FULL = 'full';
const REFUSED = 'refused';

/** What a task that `stop` cut rejects with. */
export const cutShort = (): RailheadError => railheadError('E_QUEUE_STOPPED', 'The queue was stopped before the task had settled');
export const stopped = (): RailheadError => railheadError('E_QUEUE_STOPPED', 'The queue is stopped and admits no more work');
const noMemory = (): RailheadError => railheadError('E_QUEUE_FULL', 'The queue is full: no shared memory is left for a larger ring');
