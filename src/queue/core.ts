/**
 * The composer: makes the parts of a queue, in the order in which they need one another, and acts on what threads tell. Host thread.
 *
 * Parts call those made before them directly. Upwards there are three ways only: the watches end a job (`EndJob`), the submitter
 * tells failures, and whoever has changed what waits or who could take it says `jobsMoved`. `docs/architecture.md` has the picture.
 */
import type { EventEmitter } from 'node:events';
import { add, store } from '#atomics';
import {
  Math,
  messageOf,
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
import { loadCodec, tellFall } from '#payload';
import { type Receivers, type ToHost, unparkHottest } from '#pool';
import { Admission } from './admission.ts';
import { Cancellation } from './cancellation.ts';
import { Counters } from './counters.ts';
import { Deaths } from './deaths.ts';
import { Definitions } from './definitions.ts';
import { Inbox } from './inbox.ts';
import { refuseNotYet } from './not-yet.ts';
import { HostPorts } from './ports.ts';
import { Registry } from './registry.ts';
import { Reports } from './reports.ts';
import { Staffing } from './staffing.ts';
import { type FailureListener, Submitter } from './submitter.ts';
import { BOOT_FAILURES_MAX, slotsFor, type Thread, Threads, type ThreadsListener } from './threads.ts';
import { Watches } from './watches/watches.ts';

/** For tests: small rings and records, and sequences that begin near a wrap. */
export interface Internals {
  readonly ringCapacity?: number;
  readonly firstSequence?: number;
  readonly rotation?: number;
  readonly maxRegionBytes?: number;
}

export class Core implements FailureListener, ThreadsListener {
  readonly options: Readonly<ResolvedOptions>;
  readonly region: Region;
  readonly counters: Counters;
  readonly threads: Threads;
  readonly submitter: Submitter;
  readonly cancellation: Cancellation;
  readonly admission: Admission;
  readonly #reports: Reports;
  readonly #registry: Registry;
  readonly #ports: HostPorts;
  readonly #definitions: Definitions;
  readonly #watches: Watches;
  readonly #staffing: Staffing;
  readonly #inbox: Inbox;
  readonly #deaths: Deaths;
  /** Why threads could not boot, the last time they could not. */
  bootError: RailheadError | undefined;

  constructor(emitter: EventEmitter, options: Readonly<ResolvedOptions>, internals: Internals = {}) {
    refuseNotYet(options);
    this.options = options;
    const firstSequence = ((internals.firstSequence ?? 0) | 0) as Sequence;
    const processors = options.parallelism ?? parallelism();
    const target = Math.min(options.concurrency, processors);
    const { maxPayloadBytes, maxResultBytes, graceMs, timeoutMs } = options;
    const region = createRegion(slotsFor(options.concurrency), internals.maxRegionBytes);
    store(region.m, REGION_TARGET, target);
    const jobsMoved = (): void => this.jobsMoved();
    const reports = new Reports(emitter, options.onError);
    const counters = new Counters(region, options, reports);
    const registry = new Registry(region);
    const threads = new Threads(region, options, processors, firstSequence, this);
    const ports = new HostPorts(region, threads);
    const watches = new Watches(region, timeoutMs, registry, threads, counters, (...job) => this.cancellation.end(...job));
    const values = { maxPayloadBytes, maxResultBytes, codec: loadCodec(options.codec) };
    const parts = { registry, counters, watches, ports, failures: this, jobsMoved };
    const submitter = new Submitter(region, { ...internals, firstSequence, ...values }, parts);
    const definitions = new Definitions(region, options.allowFunctions, registry);
    const staffing = new Staffing(region, target, threads, counters);
    const inbox = new Inbox(region, submitter, counters, staffing);
    this.cancellation = new Cancellation(region, graceMs, registry, submitter, threads, watches, jobsMoved);
    this.#deaths = new Deaths(region, options, registry, submitter, definitions, counters, reports);
    this.admission = new Admission({ options, definitions, submitter, watches, counters, reports, staffing, inbox });
    this.region = region;
    this.counters = counters;
    this.threads = threads;
    this.submitter = submitter;
    this.#reports = reports;
    this.#registry = registry;
    this.#ports = ports;
    this.#definitions = definitions;
    this.#watches = watches;
    this.#staffing = staffing;
    this.#inbox = inbox;
  }

  /**
   * Jobs were settled, failed or given back, or a thread may be started: who waits for that is told, workers are woken or started
   * for what waits, and the inbox sees what is left to stay alive for. Never inside a verb.
   */
  jobsMoved(): void {
    this.counters.changed();
    this.#staffing.makeUp();
    this.#inbox.expect();
  }

  // ---- what the submitter tells

  onFailure(error: unknown, handlerId: number): void {
    const job = { handler: this.#definitions.nameOf(handlerId) };
    if (this.counters.cutting) this.#reports.notice(error, job);
    else this.#reports.failure(error, job);
  }

  /** Later: we may be inside a verb, and a batch may have written jobs that are not published yet. They are not ours to fail. */
  onCrashLoop(handlerId: number, error: unknown): void {
    queueMicrotask(() => {
      this.#deaths.crashLoop(handlerId, error);
      this.jobsMoved();
    });
  }

  // ---- what the threads tell

  receiversFor(slot: Slot): Pick<Receivers<ToHost>, 'ask' | 'result'> {
    return this.#ports.receiversFor(slot);
  }

  onReady({ workerId }: Thread): void {
    this.bootError = undefined;
    this.#reports.event('workerStart', { workerId });
    this.counters.changed();
  }

  onUncaught({ error, workerId }: Thread): void {
    this.#reports.failure(error, { handler: undefined, workerId });
  }

  /** A death like any other: what ran there says so. Nothing of it is raised in the program, which could do nothing about it. */
  onBroken({ error, workerId }: Thread): void {
    this.#reports.notice(error, { handler: undefined, workerId });
  }

  onExit(thread: Thread, exitCode: number): void {
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
    this.jobsMoved();
  }

  // ---- what the queue's faces ask for

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
    this.counters.cut += this.submitter.failQueued(error);
    this.counters.changed();
  }

  cutRest(error: RailheadError): void {
    this.counters.cut += this.submitter.failAll(error);
    this.counters.changed();
  }

  handlerNameOf(record: RecordNumber): string {
    return this.#definitions.nameOf(this.#registry.handlerOf(record));
  }

  close(): void {
    this.#watches.close();
    this.#inbox.close();
  }
}
