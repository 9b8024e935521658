/**
 * The submitter: turns a value into a published job, and a settled record into a result. Host thread.
 *
 * It alone takes and frees records, moves the lane's tail and empties the completion stack.
 */
import { load, peek, poke } from '#atomics';
import { type Entry, type ErrorWire, fromWire, type RailheadError, type RecordNumber, railheadError, type Sequence, type Transferable } from '#base';
import {
  CRASH_LOOP,
  entryFor,
  FAILED,
  HOST,
  LANE_BITS,
  LANE_RING,
  NO_RECORD,
  NONE,
  RECORD_HANDLER,
  RECORD_META,
  RECORD_STATE,
  type Region,
  recordAt,
  SLOT_FRONT,
  SLOT_LANE,
  setBit,
  slotAt,
  stateOf,
  WANTS_RESULT,
} from '#memory';
import {
  type Codec,
  causeOf,
  deserializeWith,
  Encoded,
  FORM_PORT,
  formAt,
  freeBlocks,
  getResult,
  LARGE_BYTES,
  LARGEST_BYTES,
  type Packing,
  pack,
  portOwner,
  putArgument,
  Scratch,
  sizeAt,
  TooLarge,
  toPort,
  unreadMost,
  whyNotSent,
} from '#payload';
import { markFront } from '#pool';
import { FREE, nextCompleted, openLane, publish, publishRun, Records, takeCompleted, toFree, toQueued, toStarted } from '#ring';
import type { Defined } from './definitions.ts';
import { Later } from './later.ts';
import type { HostPorts } from './ports.ts';

/** The two ends of a promise that `run` gave. */
export interface Settle {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}
/**
 * What the host remembers of an unsettled job: how to settle its promise, that it counts against `maxPending`, or nothing at
 * all for a pushed one, of which there may be millions.
 */
export type Job = Settle | typeof SUBMITTED | undefined;
export const SUBMITTED = 'submitted';

/** What is told of each settled job. `failed` is not told of promises: those reject. */
export interface SettledListener {
  onSettled(job: Job, failed: boolean): void;
  onFailure(error: unknown, handlerId: number): void;
  onCrashLoop(handlerId: number, error: unknown): void;
  /** Jobs were settled outside a drain: the user's codec had to read their results. */
  onSettledLate(): void;
}

/** A result of so many bytes (as a shift) takes as long to read as a small job to settle. Larger: the loop's turns are late under a flood of large ones. */
const LARGE_RESULT_SHIFT = 12;
/** Entries in the lane's first ring: large enough that small bursts never link a second. */
const RING_CAPACITY = 1024;

export interface SubmitterOptions {
  readonly maxPayloadBytes: number;
  readonly maxResultBytes: number;
  readonly codec: Codec | undefined;
  readonly ports: HostPorts;
  readonly ringCapacity?: number | undefined;
  readonly firstSequence?: Sequence | undefined;
  readonly rotation?: number | undefined;
}

export class Submitter {
  readonly #region: Region;
  readonly #listener: SettledListener;
  readonly #packing: Packing;
  readonly #unreadMost: number;
  readonly #ports: HostPorts;
  readonly #later: Later;
  readonly #records: Records;
  readonly #scratch: Scratch = new Scratch();
  readonly #slot: number = slotAt(HOST);
  /** By record number. */
  readonly #jobs: Job[] = [];
  /** Settled records taken from the stack and not yet looked at: the oldest. */
  #taken: RecordNumber = NO_RECORD;
  #highestRecord = 0;
  readonly #firstSequence: Sequence;

  constructor(region: Region, options: SubmitterOptions, listener: SettledListener) {
    this.#region = region;
    this.#listener = listener;
    this.#packing = { most: Math.min(options.maxPayloadBytes, LARGEST_BYTES), codec: options.codec };
    this.#unreadMost = unreadMost(options.maxResultBytes);
    this.#ports = options.ports;
    this.#later = new Later(() => listener.onSettledLate());
    this.#records = new Records(region, options.rotation);
    this.#firstSequence = options.firstSequence ?? (0 as Sequence);
    openLane(region, this.#slot + SLOT_LANE, options.ringCapacity ?? RING_CAPACITY, this.#firstSequence);
    setBit(region.m, LANE_BITS, HOST);
  }

  /**
   * Writes a job and does not publish it yet. Reading the value runs its getters, and they may call any verb.
   * What `transfer` names is detached here, if nothing is refused.
   * @throws RailheadError `E_ARGUMENT_CLONE`, `E_TOO_LARGE`, or `E_QUEUE_FULL` when 2^24 jobs are unsettled or no memory is left.
   */
  prepare(defined: Defined, value: unknown, job: Job, transfer?: readonly Transferable[]): Entry {
    const scratch = this.#scratch;
    try {
      pack(value, scratch, this.#packing, transfer);
    } catch (thrown) {
      scratch.release();
      throw notSent(defined, thrown, this.#packing.most);
    }
    const region = this.#region;
    const record = this.#records.take();
    if (record === NO_RECORD) {
      scratch.dropPort();
      throw noRecord();
    }
    const at = recordAt(region, record);
    const flags = job === undefined || job === SUBMITTED ? 0 : WANTS_RESULT;
    if (!putArgument(region, HOST, at, scratch, flags)) {
      if (scratch.length <= LARGE_BYTES) {
        this.#records.give(record);
        throw noMemory(defined, scratch.length);
      }
      toPort(scratch);
      putArgument(region, HOST, at, scratch, flags);
    }
    if (scratch.port !== undefined) this.#ports.keep(record, scratch.takePort());
    scratch.release();
    poke(region.m, at + RECORD_HANDLER, defined.id);
    if (record > this.#highestRecord) this.#highestRecord = record;
    if (job !== undefined) this.#remember(record, job);
    return toQueued(region.m, at, record);
  }

  #remember(record: RecordNumber, job: Job): void {
    while (this.#jobs.length <= record) this.#jobs.push(undefined); // stays a dense array
    this.#jobs[record] = job;
  }

  /** Makes a prepared job visible. False: the region is at its limit; take the job back. */
  publish(entry: Entry): boolean {
    return publish(this.#region, this.#slot + SLOT_LANE, entry);
  }

  /** Makes prepared jobs visible, as one run: all or none. */
  publishRun(entries: readonly Entry[]): boolean {
    return publishRun(this.#region, this.#slot + SLOT_LANE, entries);
  }

  /** Publishes ahead of everything in the lane: what a dead worker had claimed and not started. */
  publishAhead(entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    const front = this.#slot + SLOT_FRONT;
    if (load(this.#region.m, front + LANE_RING) === NONE) openLane(this.#region, front, RING_CAPACITY, this.#firstSequence);
    if (!publishRun(this.#region, front, entries)) throw noRecord(); // 64 MiB of rings are in use: the host cannot go on
    markFront(this.#region.m, HOST);
  }

  /** Undoes `prepare` for a job that was never published. */
  takeBack(record: RecordNumber): void {
    this.#release(record, recordAt(this.#region, record), false);
  }

  /**
   * Settles what workers have handed back, oldest first, for at most `most` jobs; a large result counts as several. True: some are left.
   * Only promises are resolved here, and records freed: no user code runs.
   */
  drain(most: number): boolean {
    for (let k = 0; k < most; ) {
      if (this.#taken === NO_RECORD) {
        this.#taken = takeCompleted(this.#region, this.#slot);
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

  /** Settles one job whose record is SETTLED. */
  settle(record: RecordNumber, at: number = recordAt(this.#region, record)): void {
    const meta = peek(this.#region.m, at + RECORD_META);
    const handlerId = peek(this.#region.m, at + RECORD_HANDLER);
    const failed = (meta & FAILED) !== 0;
    const job = this.#jobs[record];
    let value: unknown;
    let unread: unknown;
    if (failed || (job !== undefined && job !== SUBMITTED)) {
      try {
        value = formAt(this.#region, at) === FORM_PORT ? this.#ports.result(record, portOwner(this.#region, at)) : getResult(this.#region, at);
        if (failed) value = fromWire(value as ErrorWire);
      } catch (thrown) {
        unread = notRead(thrown); // no memory for the value in this thread
      }
    }
    this.#release(record, at, true);
    if (unread !== undefined) this.#finish(job, true, unread, handlerId);
    else if (this.#packing.codec !== undefined && value instanceof Encoded) this.#finishLater(this.#packing.codec, job as Settle, value, handlerId);
    else this.#finish(job, failed, value, handlerId);
    if ((meta & CRASH_LOOP) !== 0) this.#listener.onCrashLoop(handlerId, value);
  }

  /** Fails a job that no worker will settle any more: it died with its thread, or is cut. */
  fail(record: RecordNumber, error: unknown): void {
    const at = recordAt(this.#region, record);
    const job = this.#jobs[record];
    const handlerId = peek(this.#region.m, at + RECORD_HANDLER);
    this.#release(record, at, false);
    this.#finish(job, true, error, handlerId);
  }

  /** The user's own code reads the result: we may be inside a verb, so it waits for the end of the tick. */
  #finishLater(codec: Codec, job: Settle, encoded: Encoded, handlerId: number): void {
    this.#later.add(() => {
      let value: unknown;
      try {
        value = deserializeWith(codec, encoded);
      } catch (thrown) {
        return this.#finish(job, true, notRead(thrown), handlerId);
      }
      this.#finish(job, false, value, handlerId);
    });
  }

  #finish(job: Job, failed: boolean, value: unknown, handlerId: number): void {
    if (job === undefined || job === SUBMITTED) {
      if (failed) this.#listener.onFailure(value, handlerId);
    } else if (failed) job.reject(value);
    else job.resolve(value);
    this.#listener.onSettled(job, failed);
  }

  /** Blocks and ports first, then the record: from here another job may use it. */
  #release(record: RecordNumber, at: number, settled: boolean): void {
    freeBlocks(this.#region, HOST, at, settled, this.#unreadMost);
    this.#ports.drop(record);
    if (record < this.#jobs.length) this.#jobs[record] = undefined;
    toFree(this.#region.m, at);
    this.#records.give(record);
  }

  /** Fails every job that has not started. Returns how many. Their entries in the rings are void and are passed over later. */
  failQueued(error: unknown): number {
    let failed = 0;
    for (const record of this.#unsettled()) {
      const at = recordAt(this.#region, record);
      if (!toStarted(this.#region.m, at, entryFor(record, load(this.#region.m, at + RECORD_STATE)))) continue;
      this.fail(record, error);
      failed++;
    }
    return failed;
  }

  /** Fails every job that is left, whatever its state: no worker will touch it any more. Returns how many. */
  failAll(error: unknown): number {
    let failed = 0;
    for (const record of this.#unsettled()) {
      this.fail(record, error);
      failed++;
    }
    return failed;
  }

  /** Handler ids that unsettled jobs name. */
  handlersInUse(): Set<number> {
    const ids = new Set<number>();
    for (const record of this.#unsettled()) ids.add(this.handlerOf(record));
    return ids;
  }

  handlerOf(record: RecordNumber): number {
    return peek(this.#region.m, recordAt(this.#region, record) + RECORD_HANDLER);
  }

  /** All unsettled jobs, by a scan of the records' states: for rare occasions. */
  *#unsettled(): Generator<RecordNumber> {
    for (let record = 1; record <= this.#highestRecord; record++) {
      const at = recordAt(this.#region, record as RecordNumber);
      if (stateOf(load(this.#region.m, at + RECORD_STATE)) !== FREE) yield record as RecordNumber;
    }
  }
}

function notSent(defined: Defined, thrown: unknown, most: number): RailheadError {
  if (thrown instanceof TooLarge) {
    return railheadError('E_TOO_LARGE', `The value for handler \`${defined.name}\` has ${thrown.bytes} bytes or more, and \`maxPayloadBytes\` allows ${most}`);
  }
  const message = `The value for handler \`${defined.name}\` cannot be sent: ${whyNotSent(thrown, 'value')}`;
  return railheadError('E_ARGUMENT_CLONE', message, { cause: causeOf(thrown) });
}

function notRead(thrown: unknown): RailheadError {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return railheadError('E_RESULT_CLONE', `The task ran, but its result could not be read: ${why}`, { cause: causeOf(thrown) });
}

const noRecord = (): RailheadError => railheadError('E_QUEUE_FULL', 'The queue is full: 16,777,215 tasks are unsettled, the most there can be');
const noMemory = (defined: Defined, length: number): RailheadError =>
  railheadError('E_QUEUE_FULL', `The queue is full: no shared memory is left for the ${length} bytes of the value for handler \`${defined.name}\``);
