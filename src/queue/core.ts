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
  type Slot,
  type Transferable,
} from '#base';
import { createRegion, HOST, REGION_RECYCLE, REGION_TARGET, type Region, recordAt, recordOf } from '#memory';
import { resetUnread, tellFall } from '#payload';
import { anySource, ENOUGH, type Receivers, type Remains, recoverSlot, START_ONE, type ToHost, unparkHottest, wakeFor } from '#pool';
import { toQueuedAgain } from '#ring';
import { loadCodec } from './codec.ts';
import { type Defined, Definitions } from './definitions.ts';
import { startedJobs } from './gauges.ts';
import { Inbox } from './inbox.ts';
import { refuseNotYet, refuseNotYetOfRun } from './not-yet.ts';
import { HostPorts } from './ports.ts';
import { Reports } from './reports.ts';
import { type Job, SUBMITTED, Submitter } from './submitter.ts';
import { BOOT_FAILURES_MAX, type Thread, Threads } from './threads.ts';

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
  readonly #definitions: Definitions;
  readonly #inbox: Inbox;
  readonly #ports: HostPorts;
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
  /** Jobs that were failed before they started. */
  neverStarted = 0;
  needsDrain = false;
  /** A verb was refused since there last was room. */
  #refused = false;
  /** A worker has died: the count of unread results may be too high. */
  #unreadUnsure = false;
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
    this.region = createRegion(options.concurrency + 1, internals.maxRegionBytes);
    store(this.region.m, REGION_TARGET, this.#target);
    this.reports = new Reports(emitter, options.onError);
    this.#ports = new HostPorts(this.region, (slot) => this.threads.in(slot)?.channel);
    const { maxPayloadBytes, maxResultBytes } = options;
    const values = { maxPayloadBytes, maxResultBytes, codec: loadCodec(options.codec), ports: this.#ports };
    this.submitter = new Submitter(this.region, { ...internals, firstSequence, ...values }, this);
    this.#definitions = new Definitions(this.region, options.allowFunctions, () => this.submitter.handlersInUse());
    this.threads = new Threads(this.region, options, processors, firstSequence, this);
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
      const read = readRunOptions(options);
      if (options !== undefined) refuseNotYetOfRun(read);
      this.#admit(defined, value, { resolve, reject }, read.transfer);
    });
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

  #tryAdmit(defined: Defined, value: unknown, job: Job): boolean {
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

  #admit(defined: Defined, value: unknown, job: Job, transfer: readonly Transferable[] | undefined): void {
    this.#mayAdmit();
    const entry = this.submitter.prepare(defined, value, job, transfer);
    try {
      this.#mayAdmit(); // a getter of the value may have called a verb
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
  #prepare(defined: Defined, value: unknown, job: Job): Entry | typeof FULL | typeof REFUSED {
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

  #publishRun(entries: readonly Entry[], job: Job): boolean {
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

  #published(jobs: number, job: Job): void {
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

  beforeSleep(): void {
    if (anySource(this.region)) this.#staff(this.#target);
  }

  afterDrain(): void {
    if (this.needsDrain && this.size <= this.options.backlogMax / 2) {
      this.needsDrain = false;
      this.reports.event('drain');
    } else if (this.#refused && this.#roomAgain()) {
      this.reports.event('drain');
    }
    if (this.#roomAgain()) this.#refused = false;
    if (this.#unreadUnsure && this.pending === 0) {
      this.#unreadUnsure = false;
      resetUnread(this.region.m, HOST);
    }
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

  onSettled(job: Job, failed: boolean): void {
    this.pending--;
    if (job !== undefined) this.bounded--;
    if (failed) this.failed++;
    else this.completed++;
  }

  onFailure(error: unknown, handlerId: number): void {
    const job = { handler: this.#definitions.nameOf(handlerId) };
    if (this.cutting) this.reports.notice(error, job);
    else this.reports.failure(error, job);
  }

  onCrashLoop(handlerId: number, error: unknown): void {
    this.reports.event('crashLoop', { handler: this.#definitions.nameOf(handlerId), error });
  }

  onSettledLate(): void {
    this.afterDrain();
    this.#inbox.expect(); // it sees whether any are left to stay alive for
  }

  // ---- the threads' listener

  receiversFor(slot: Slot): Receivers<ToHost> {
    return this.#ports.receiversFor(slot);
  }

  onReady({ workerId }: Thread): void {
    this.#bootError = undefined;
    this.reports.event('workerStart', { workerId });
    this.afterDrain();
  }

  onExit(thread: Thread, exitCode: number): void {
    this.drain(Number.POSITIVE_INFINITY); // first: what it handed over is settled and no concern of recovery
    const remains = this.#sparePorts(recoverSlot(this.region, thread.slot));
    for (const record of remains.settled) this.submitter.settle(record);
    for (const record of remains.died) this.submitter.fail(record, this.cutting ? stopped() : this.#died(thread, exitCode, this.submitter.handlerOf(record)));
    if (this.cutting) this.cut += remains.died.length;
    this.#unreadUnsure ||= remains.died.length > 0;
    this.submitter.publishAhead(remains.requeued);
    if (thread.error !== undefined && remains.died.length > 0) this.reports.notice(thread.error, { handler: undefined, workerId: thread.workerId });
    else if (thread.error !== undefined && thread.ready) this.reports.failure(thread.error, { handler: undefined, workerId: thread.workerId });
    this.reports.event('workerExit', { workerId: thread.workerId, exitCode });
    this.#inbox.expect(); // jobs were settled outside a look: it sees whether any are left to stay alive for
  }

  /** A job whose value lies in a port that its worker was not given yet had not begun: another runs it. */
  #sparePorts(remains: Remains): Remains {
    if (this.cutting) return remains;
    const spared = remains.died.filter((record) => this.#ports.keeps(record));
    if (spared.length === 0) return remains;
    this.neverStarted -= spared.length; // they are counted as started twice
    const requeued = spared.map((record) => toQueuedAgain(this.region.m, recordAt(this.region, record), record));
    return { ...remains, died: remains.died.filter((record) => !spared.includes(record)), requeued: [...requeued, ...remains.requeued] };
  }

  #died({ workerId, error, condemned }: Thread, exitCode: number, handlerId: number): RailheadError {
    const oom = (error as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY';
    const reason: DeathReason = oom ? 'oom' : error !== undefined ? 'crash' : condemned ? 'terminated' : 'exit';
    const message = `Worker ${workerId} ended with exit code ${exitCode} (${reason}) while it ran a task of handler \`${this.#definitions.nameOf(handlerId)}\``;
    return railheadError('E_WORKER_DIED', message, { exitCode, reason, ...(error === undefined ? {} : { cause: error }) });
  }

  /** Threads cannot even boot: what waits would wait for ever. */
  onBootFailure(error: unknown, failures: number): void {
    if (failures < BOOT_FAILURES_MAX) return;
    const message = `No worker could be started, ${failures} times in a row: ${error instanceof Error ? error.message : String(error)}`;
    this.#bootError = railheadError('E_WORKER_DIED', message, { reason: 'crash', cause: error });
    this.neverStarted += this.submitter.failQueued(this.#bootError);
    this.reports.event('crashLoop', { handler: undefined, error });
    this.afterDrain();
    this.#inbox.expect();
  }

  onMayStart(): void {
    this.afterDrain();
    this.beforeSleep();
  }

  // ---- gauges

  /** Jobs admitted and not started. Derived: started ones are counted by the workers. */
  get size(): number {
    return Math.max(0, (this.admitted - this.neverStarted - startedJobs(this.region)) | 0);
  }

  /** Every worker retires after its present task. */
  recycle(): void {
    add(this.region.m, REGION_RECYCLE, 1);
    this.wakeAll();
  }

  wakeAll(): void {
    while (unparkHottest(this.region.m));
    tellFall(this.region.m, HOST); // to those who wait for it there is something else to see
  }

  /** Starts threads, whatever the target, until `workers` are ready. */
  async warm(workers: number): Promise<void> {
    const hold = setInterval(() => {}, 2 ** 30); // threads do not keep the process alive
    try {
      await this.when(() => {
        if (!this.accepting) throw stopped();
        if (this.#bootError !== undefined) throw this.#bootError;
        let [ready, starting] = [0, 0];
        for (const thread of this.threads) thread.ready ? ready++ : starting++;
        while (ready + starting < workers && this.threads.start()) starting++;
        return ready >= workers;
      });
    } finally {
      clearInterval(hold);
    }
  }

  /** Fails all that has not started, or all that is left. Only while cutting. */
  cutQueued(error: RailheadError): void {
    const failed = this.submitter.failQueued(error);
    this.neverStarted += failed;
    this.cut += failed;
    this.afterDrain();
  }

  cutRest(error: RailheadError): void {
    this.cut += this.submitter.failAll(error);
    this.afterDrain();
  }

  handlerNameOf(record: RecordNumber): string {
    return this.#definitions.nameOf(this.submitter.handlerOf(record));
  }

  closeInbox(): void {
    this.#inbox.close();
  }
}

/** Why there is no entry. */
const FULL = 'full';
const REFUSED = 'refused';

export const stopped = (): RailheadError => railheadError('E_QUEUE_STOPPED', 'The queue is stopped and admits no more work');
const noMemory = (): RailheadError => railheadError('E_QUEUE_FULL', 'The queue is full: no shared memory is left for a larger ring');
