/**
 * The composer: makes the parts of a queue, and tells each what it must know of the others. Host thread.
 */
import type { EventEmitter } from 'node:events';
import { add, store } from '#atomics';
import {
  Math,
  messageOf,
  Number,
  parallelism,
  queueMicrotask,
  type RailheadError,
  railheadError,
  type RecordNumber,
  type ResolvedOptions,
  type Sequence,
  type Slot,
} from '#base';
import { createRegion, HOST, REGION_RECYCLE, REGION_TARGET, type Region } from '#memory';
import { tellFall } from '#payload';
import { anySource, ENOUGH, type Receivers, runningWorkers, runsAny, START_ONE, type ToHost, unparkHottest, wakeFor } from '#pool';
import { Admission } from './admission.ts';
import { loadCodec } from './codec.ts';
import { Deaths } from './deaths.ts';
import { Definitions } from './definitions.ts';
import { Endings } from './endings.ts';
import { startedJobs } from './gauges.ts';
import { Inbox, type InboxOwner } from './inbox.ts';
import type { Job } from './job.ts';
import { refuseNotYet } from './not-yet.ts';
import { HostPorts } from './ports.ts';
import { Reports } from './reports.ts';
import { Submitter, type SubmitterListener } from './submitter.ts';
import { Tally, type TallyOwner } from './tally.ts';
import { BOOT_FAILURES_MAX, slotsFor, type Thread, Threads, type ThreadsListener } from './threads.ts';

/** For tests: small rings and records, and sequences that begin near a wrap. */
export interface Internals {
  readonly ringCapacity?: number;
  readonly firstSequence?: number;
  readonly rotation?: number;
  readonly maxRegionBytes?: number;
}

export class Core implements TallyOwner, InboxOwner, SubmitterListener, ThreadsListener {
  readonly options: Readonly<ResolvedOptions>;
  readonly region: Region;
  readonly threads: Threads;
  readonly submitter: Submitter;
  readonly endings: Endings;
  readonly tally: Tally;
  readonly admission: Admission;
  readonly #reports: Reports;
  readonly #definitions: Definitions;
  readonly #deaths: Deaths;
  readonly #inbox: Inbox;
  readonly #ports: HostPorts;
  readonly #target: number;
  /** Why threads could not boot, the last time they could not. */
  bootError: RailheadError | undefined;

  constructor(emitter: EventEmitter, options: Readonly<ResolvedOptions>, internals: Internals = {}) {
    refuseNotYet(options);
    this.options = options;
    const firstSequence = ((internals.firstSequence ?? 0) | 0) as Sequence;
    const processors = options.parallelism ?? parallelism();
    this.#target = Math.min(options.concurrency, processors);
    this.region = createRegion(slotsFor(options.concurrency), internals.maxRegionBytes);
    store(this.region.m, REGION_TARGET, this.#target);
    const reports = new Reports(emitter, options.onError);
    const tally = new Tally(options, reports, this);
    this.#ports = new HostPorts(this.region, (slot) => this.threads.at(slot));
    const { maxPayloadBytes, maxResultBytes } = options;
    const values = { maxPayloadBytes, maxResultBytes, codec: loadCodec(options.codec), ports: this.#ports };
    const submitter = new Submitter(this.region, { ...internals, firstSequence, ...values }, this);
    const definitions = new Definitions(this.region, options.allowFunctions, () => submitter.roll.handlersInUse());
    this.threads = new Threads(this.region, options, processors, firstSequence, this);
    const endings = new Endings(this.region, options, submitter, this.threads, () => this.#jobsMoved());
    this.#inbox = new Inbox(this.region, this);
    this.#deaths = new Deaths(this.region, options, submitter, definitions, tally, reports);
    this.admission = new Admission({
      options,
      definitions,
      submitter,
      endings,
      tally,
      reports,
      onPublished: (jobs) => this.#onPublished(jobs),
    });
    this.#reports = reports;
    this.tally = tally;
    this.submitter = submitter;
    this.#definitions = definitions;
    this.endings = endings;
  }

  #onPublished(jobs: number): void {
    this.#inbox.expect();
    this.#staff(jobs);
  }

  /** Wakes or starts as many workers as so many jobs need: all of a cold burst's at once. */
  #staff(jobs: number): void {
    for (let k = 0; k < jobs; k++) {
      const wake = wakeFor(this.region.m);
      if (wake === ENOUGH || (wake === START_ONE && this.threads.start() === undefined)) return;
    }
  }

  // ---- what the inbox asks for

  get pending(): number {
    return this.tally.pending;
  }

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
    this.tally.changed();
  }

  /** Jobs were settled or given back outside a look: who waits for that is told, and the inbox sees what is left to stay alive for. */
  #jobsMoved(): void {
    this.afterDrain();
    this.beforeSleep();
    this.#inbox.expect();
  }

  // ---- what the submitter tells

  onOutcome(failed: boolean): void {
    if (failed) this.tally.failed++;
    else this.tally.completed++;
  }

  onFreed(job: Job | undefined): void {
    if (job?.watch !== undefined || this.options.timeoutMs > 0) this.endings.release(job);
  }

  onSettled(job: Job | undefined): void {
    this.tally.release(job?.bounded === true);
  }

  onSettledLate(): void {
    this.#jobsMoved();
  }

  onFailure(error: unknown, handlerId: number): void {
    const job = { handler: this.#definitions.nameOf(handlerId) };
    if (this.tally.cutting) this.#reports.notice(error, job);
    else this.#reports.failure(error, job);
  }

  /** Later: we may be inside a verb, and a batch may have written jobs that are not published yet. They are not ours to fail. */
  onCrashLoop(handlerId: number, error: unknown): void {
    queueMicrotask(() => {
      this.#deaths.crashLoop(handlerId, error);
      this.#jobsMoved();
    });
  }

  // ---- what the threads tell

  receiversFor(slot: Slot): Pick<Receivers<ToHost>, 'ask' | 'result'> {
    return this.#ports.receiversFor(slot);
  }

  onReady({ workerId }: Thread): void {
    this.bootError = undefined;
    this.#reports.event('workerStart', { workerId });
    this.tally.changed();
  }

  onUncaught(thread: Thread): void {
    const { error, workerId } = thread;
    this.endings.endLater(thread); // its own timer may never fire: a task beside it may not yield
    this.#reports.failure(error, { handler: undefined, workerId });
  }

  /** A death like any other: what ran there says so. Nothing of it is raised in the program, which could do nothing about it. */
  onBroken(thread: Thread): void {
    const { error, workerId } = thread;
    this.endings.endLater(thread); // it ends by itself, unless a handler keeps it from that
    this.#reports.notice(error, { handler: undefined, workerId });
  }

  onLeaving(thread: Thread): void {
    this.endings.endLater(thread);
  }

  onExit(thread: Thread, exitCode: number): void {
    this.endings.forget(thread);
    this.#deaths.onExit(thread, exitCode);
    this.#reports.event('workerExit', { workerId: thread.workerId, exitCode });
  }

  /** Threads cannot even boot: what waits would wait for ever. */
  onBootFailure(error: unknown, failures: number): void {
    if (failures < BOOT_FAILURES_MAX) return;
    const message = `No worker could be started, ${failures} times in a row: ${messageOf(error)}`;
    this.bootError = railheadError('E_WORKER_DIED', message, { reason: 'crash', cause: error });
    this.submitter.failQueued(this.bootError);
    this.#reports.event('crashLoop', { handler: undefined, error });
    this.#jobsMoved();
  }

  /** A thread has gone or answered, or a pause is over. */
  onMayStart(): void {
    this.#jobsMoved();
  }

  // ---- what the queue's faces ask for

  /** Jobs admitted and not started. Derived: started ones are counted by the workers. */
  get size(): number {
    const { retried, neverStarted } = this.submitter;
    return Math.max(0, (this.tally.admitted + retried - neverStarted - startedJobs(this.region)) | 0);
  }

  drainAll(): void {
    this.submitter.drain(Number.POSITIVE_INFINITY);
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

  /** Fails all that has not started, or all that is left. Only while cutting. */
  cutQueued(error: RailheadError): void {
    this.tally.cut += this.submitter.failQueued(error);
    this.tally.changed();
  }

  cutRest(error: RailheadError): void {
    this.tally.cut += this.submitter.failAll(error);
    this.tally.changed();
  }

  handlerNameOf(record: RecordNumber): string {
    return this.#definitions.nameOf(this.submitter.roll.handlerOf(record));
  }

  close(): void {
    this.endings.close();
    this.#inbox.close();
  }
}
