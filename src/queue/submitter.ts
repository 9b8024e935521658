/**
 * The submitter: turns a value into a published job, and a settled record into a result. Host thread.
 *
 * It alone takes and frees records, moves the lane's tail and empties the completion stack. A settle goes, in this order: the
 * result is read; blocks, ports and record are freed; the watches forget the job; the counters count it; its promise is settled.
 */
import { load, peek, poke } from '#atomics';
import {
  type Entry,
  type ErrorWire,
  fromWire,
  Math,
  railheadError,
  type RecordNumber,
  type Sequence,
  type SlotAt,
  type Transferable,
} from '#base';
import {
  CRASH_LOOP,
  entryFor,
  FAILED,
  HOST,
  LANE_BITS,
  NO_RECORD,
  RECORD_HANDLER,
  RECORD_LENGTH,
  RECORD_META,
  RECORD_STATE,
  type Region,
  recordAt,
  recordOf,
  SLOT_ENTRIES,
  SLOT_FRONT,
  SLOT_LANE,
  setBit,
  slotAt,
  stateOf,
  withAttempt,
} from '#memory';
import { type Codec, type Encoded, freeBlocks, LARGEST_BYTES, sizeAt, unreadMost } from '#payload';
import { markFront } from '#pool';
import {
  CANCELLED,
  FREE,
  nextCompleted,
  openLane,
  publish,
  publishRun,
  Records,
  ROTATION,
  Sweeper,
  TOO_LATE,
  takeCompleted,
  toEnded,
  toFree,
  toQueued,
  toRetried,
  toStarted,
} from '#ring';
import { Arguments } from './arguments.ts';
import type { Counters } from './counters.ts';
import type { Defined } from './definitions.ts';
import type { HostPorts } from './ports.ts';
import { Job, type Registry, SUBMITTED, type Watch } from './registry.ts';
import { Results } from './results.ts';
import type { Watches } from './watches/watches.ts';

/** Who is told of failures. It is told at once, inside a verb perhaps, so it runs no code of the user's. */
export interface FailureListener {
  /** A failure that no promise tells. */
  onFailure(error: unknown, handlerId: number): void;
  /** The module of this handler has failed to load once too often, with this error. */
  onCrashLoop(handlerId: number, error: unknown): void;
}

/** The parts of the queue that a settle touches, each called directly. */
export interface SubmitterParts {
  readonly registry: Registry;
  readonly counters: Counters;
  readonly watches: Watches;
  readonly ports: HostPorts;
  readonly failures: FailureListener;
  /** Jobs were settled outside a look of the inbox: the user's codec had to read their results. */
  jobsMoved(): void;
}

/** A result of so many bytes (as a shift) takes as long to read as a small job to settle. Larger: the loop's turns are late under a flood of large ones. */
const LARGE_RESULT_SHIFT = 12;
/** Entries in the lane's first ring: large enough that small bursts never link a second. */
const RING_CAPACITY = 1024;
/** Entries in its front lane's first ring: what a few dead workers had claimed. */
const FRONT_CAPACITY = 256;

export interface SubmitterOptions {
  readonly maxPayloadBytes: number;
  readonly maxResultBytes: number;
  readonly codec: Codec | undefined;
  readonly ringCapacity?: number | undefined;
  readonly firstSequence?: Sequence | undefined;
  readonly rotation?: number | undefined;
}

export class Submitter {
  readonly #region: Region;
  readonly #registry: Registry;
  readonly #counters: Counters;
  readonly #watches: Watches;
  readonly #failures: FailureListener;
  readonly #unreadMost: number;
  readonly #ports: HostPorts;
  readonly #results: Results;
  readonly #records: Records;
  readonly #sweeper: Sweeper;
  readonly #arguments: Arguments;
  readonly #at: SlotAt = slotAt(HOST);
  /** Settled records taken from the stack and not yet settled here: the oldest. */
  #taken: RecordNumber = NO_RECORD;

  constructor(region: Region, options: SubmitterOptions, parts: SubmitterParts) {
    this.#region = region;
    const { codec } = options;
    const { ports } = parts;
    this.#registry = parts.registry;
    this.#counters = parts.counters;
    this.#watches = parts.watches;
    this.#failures = parts.failures;
    this.#unreadMost = unreadMost(options.maxResultBytes);
    this.#ports = ports;
    this.#results = new Results(region, ports, codec, () => parts.jobsMoved());
    this.#records = new Records(region, options.rotation);
    this.#sweeper = new Sweeper(region, this.#at + SLOT_LANE, this.#at + SLOT_ENTRIES, options.rotation ?? ROTATION);
    this.#arguments = new Arguments(region, this.#records, ports, { most: Math.min(options.maxPayloadBytes, LARGEST_BYTES), codec });
    const firstSequence = options.firstSequence ?? (0 as Sequence);
    openLane(region, this.#at + SLOT_LANE, options.ringCapacity ?? RING_CAPACITY, firstSequence);
    openLane(region, this.#at + SLOT_FRONT, FRONT_CAPACITY, firstSequence); // now: it is needed when memory may have run out
    setBit(region.m, LANE_BITS, HOST);
  }

  /** Writes a job and does not publish it yet. @throws as `Arguments.write` */
  prepare(defined: Defined, value: unknown, job: Job | undefined, transfer?: readonly Transferable[]): Entry {
    const record = this.#arguments.write(defined, value, job, transfer);
    this.#registry.add(record, job);
    const at = recordAt(this.#region, record);
    return toQueued(this.#region.m, at, record);
  }

  /** Of a job that is not published yet. */
  setHandler(entry: Entry, defined: Defined): void {
    const at = recordAt(this.#region, recordOf(entry));
    poke(this.#region.m, at + RECORD_HANDLER, defined.id);
  }

  /** Makes a prepared job visible. False: the region is at its limit; take the job back. */
  publish(entry: Entry): boolean {
    return publish(this.#region, this.#at + SLOT_LANE, entry);
  }

  /** Makes prepared jobs visible, as one run: all or none. */
  publishRun(entries: readonly Entry[]): boolean {
    return publishRun(this.#region, this.#at + SLOT_LANE, entries);
  }

  /** Publishes ahead of everything in the lane: what a dead worker had claimed and not started. */
  publishAhead(entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    if (publishRun(this.#region, this.#at + SLOT_FRONT, entries)) markFront(this.#region.m, HOST);
    else for (const entry of entries) this.#failUnpublished(entry); // the region is at its limit: better told than lost
  }

  #failUnpublished(entry: Entry): void {
    const at = recordAt(this.#region, recordOf(entry));
    if (!toStarted(this.#region.m, at, entry)) return; // void: its job is gone already
    this.#counters.neverStarted++;
    this.fail(recordOf(entry), railheadError('E_QUEUE_FULL', 'The task could not be queued again: no shared memory is left'));
  }

  /** Undoes `prepare` for a job that was never published. */
  takeBack(record: RecordNumber): void {
    this.#free(record, recordAt(this.#region, record), false);
  }

  /**
   * Settles what workers have handed back, oldest first, for at most `most` jobs; a large result counts as several. True: some are left.
   * Only promises are resolved here, and records freed: no user code runs.
   */
  settleCompleted(most: number): boolean {
    for (let k = 0; k < most; ) {
      if (this.#taken === NO_RECORD) {
        this.#taken = takeCompleted(this.#region, this.#at);
        if (this.#taken === NO_RECORD) return false;
      }
      const record = this.#taken;
      const at = recordAt(this.#region, record);
      this.#taken = nextCompleted(this.#region.m, at);
      k += 1 + (sizeAt(this.#region, at) >>> LARGE_RESULT_SHIFT);
      this.settle(record, at);
    }
    return this.#taken !== NO_RECORD;
  }

  /** Settles one job whose record is SETTLED; of an abandoned one only the record comes back. */
  settle(record: RecordNumber, at: number = recordAt(this.#region, record)): void {
    const meta = peek(this.#region.m, at + RECORD_META);
    const handlerId = peek(this.#region.m, at + RECORD_HANDLER);
    const job = this.#registry.jobOf(record);
    if (job?.abandoned) return this.#release(record, at, true);
    let failed = (meta & FAILED) !== 0;
    let value: unknown;
    if (failed || job?.resolve !== undefined) {
      try {
        value = this.#results.read(record, at);
        if (failed) value = fromWire(value as ErrorWire);
      } catch (unreadable) {
        failed = true;
        value = unreadable;
      }
    }
    if (this.#results.isEncoded(value)) return this.#settleLater(record, at, value, handlerId);
    this.#release(record, at, true);
    this.#finish(job, failed, value, handlerId);
    if ((meta & CRASH_LOOP) !== 0) this.#failures.onCrashLoop(handlerId, value);
  }

  /** Record and payload go back now, but the job counts as unsettled until its result is read. */
  #settleLater(record: RecordNumber, at: number, encoded: Encoded, handlerId: number): void {
    const job = this.#free(record, at, true);
    this.#watches.remove(job);
    this.#results.decodeLater(encoded, (failed, value) => {
      this.#counters.settle(job?.bounded === true);
      this.#finish(job, failed, value, handlerId);
    });
  }

  /** Fails a job that no worker will settle any more: it died with its thread, or is cut. False: it had its outcome already. */
  fail(record: RecordNumber, error: unknown): boolean {
    const at = recordAt(this.#region, record);
    const job = this.#registry.jobOf(record);
    const handlerId = peek(this.#region.m, at + RECORD_HANDLER);
    this.#release(record, at, false);
    if (job?.abandoned) return false;
    this.#finish(job, true, error, handlerId);
    return true;
  }

  /** Ends a job now, wherever it is; one that runs keeps its record until its worker is done with it. What it was. */
  end(record: RecordNumber, error: unknown): ReturnType<typeof toEnded> {
    const at = recordAt(this.#region, record);
    const job = this.#registry.jobOf(record);
    if (job?.abandoned) return TOO_LATE;
    const handlerId = peek(this.#region.m, at + RECORD_HANDLER);
    const was = toEnded(this.#region.m, at);
    if (was === TOO_LATE) return was;
    if (was === CANCELLED) {
      this.#counters.neverStarted++;
      this.#release(record, at, false);
      this.#sweeper.leftVoid(1);
    } else {
      const abandoned = job === undefined || job === SUBMITTED ? new Job(job !== undefined) : job; // those have nothing of their own
      abandoned.abandoned = true;
      this.#registry.add(record, abandoned);
    }
    this.#finish(job, true, error, handlerId);
    return was;
  }

  /** Publishes again a job that died with its thread. */
  retry(record: RecordNumber, argument: NonNullable<Watch['argument']>, attempts: number): void {
    const at = recordAt(this.#region, record);
    const { m } = this.#region;
    poke(m, at + RECORD_META, withAttempt(argument.meta, attempts));
    poke(m, at + RECORD_LENGTH, argument.length);
    this.publishAhead([this.restart(record)]);
  }

  /** The entry under which a job whose thread has ended may start once more. */
  restart(record: RecordNumber): Entry {
    this.#counters.retried++;
    const at = recordAt(this.#region, record);
    return toRetried(this.#region.m, at, record);
  }

  /** Whether a job that was started has its value, or may have: without it no handler was called. */
  hasBegun(record: RecordNumber): boolean {
    return !this.#ports.keeps(record);
  }

  /** Counts the outcome and tells whoever waits for it. */
  #finish(job: Job | undefined, failed: boolean, value: unknown, handlerId: number): void {
    if (failed) this.#counters.failed++;
    else this.#counters.completed++;
    if (job?.resolve === undefined) {
      if (failed) this.#failures.onFailure(value, handlerId);
    } else if (failed) job.reject?.(value);
    else job.resolve(value);
  }

  /** The job is gone from here: its record is free, nothing of it is watched, and it counts as unsettled no more. */
  #release(record: RecordNumber, at: number, settled: boolean): void {
    const job = this.#free(record, at, settled);
    this.#watches.remove(job);
    this.#counters.settle(job?.bounded === true);
  }

  /** Blocks and ports first, then the record: from here another job may use it. */
  #free(record: RecordNumber, at: number, settled: boolean): Job | undefined {
    const job = this.#registry.jobOf(record);
    freeBlocks(this.#region, HOST, at, settled, this.#unreadMost);
    this.#ports.drop(record);
    this.#registry.remove(record);
    if (stateOf(load(this.#region.m, at + RECORD_STATE)) !== FREE) toFree(this.#region.m, at); // a cancelled one is already
    this.#records.give(record);
    return job;
  }

  /** Fails every job, or every one of a handler, that has not started. Returns how many. Their entries in the rings are void. */
  failQueued(error: unknown, handlerId = 0): number {
    let failed = 0;
    for (const record of this.#registry.unsettled()) {
      if (handlerId !== 0 && this.#registry.handlerOf(record) !== handlerId) continue;
      const at = recordAt(this.#region, record);
      if (!toStarted(this.#region.m, at, entryFor(record, load(this.#region.m, at + RECORD_STATE)))) continue;
      this.fail(record, error);
      failed++;
    }
    this.#counters.neverStarted += failed;
    this.#sweeper.leftVoid(failed);
    return failed;
  }

  /** Fails every job that is left, whatever its state: no worker will touch it any more. Returns how many. */
  failAll(error: unknown): number {
    let failed = 0;
    for (const record of this.#registry.unsettled()) if (this.fail(record, error)) failed++;
    return failed;
  }
}
