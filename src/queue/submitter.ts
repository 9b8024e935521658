/**
 * The submitter: turns a value into a published job, and a settled record into a result. Host thread.
 *
 * It alone takes and frees records, moves the lane's tail and empties the completion stack.
 */
import { load, peek, poke } from '#atomics';
import { type Entry, type ErrorWire, fromWire, type RailheadError, type RecordNumber, railheadError, type Sequence } from '#base';
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
  SLOT_FRONT,
  SLOT_LANE,
  setBit,
  slotAt,
  stateOf,
  WANTS_RESULT,
  withAttempt,
} from '#memory';
import { encode, foundNoRoom, freeBlocks, getResult, NotPlain, putArgument, Scratch } from '#payload';
import { markFront } from '#pool';
import { CANCELLED, FREE, nextCompleted, openLane, publish, publishRun, Records, TOO_LATE, takeCompleted, toEnded, toFree, toQueued, toRetried, toStarted } from '#ring';
import type { Defined } from './definitions.ts';
import { Job, SUBMITTED, type Watch } from './job.ts';

/** What the composer is told of jobs. */
export interface SubmitterListener {
  /** A job has its outcome: its promise is settled, once. */
  onOutcome(failed: boolean): void;
  /** A failure that no promise tells. */
  onFailure(error: unknown, handlerId: number): void;
  onCrashLoop(handlerId: number, error: unknown): void;
  /** Record and payload are free again; for an abandoned job that is later than its outcome. */
  onReleased(job: Job | undefined): void;
}

/** Entries in the lane's first ring: large enough that small bursts never link a second. */
const RING_CAPACITY = 1024;
/** Entries in its front lane's first ring: what a few dead workers had claimed. */
const FRONT_CAPACITY = 256;

export interface SubmitterOptions {
  readonly maxPayloadBytes: number;
  readonly ringCapacity?: number | undefined;
  readonly firstSequence?: Sequence | undefined;
  readonly rotation?: number | undefined;
}

export class Submitter {
  readonly #region: Region;
  readonly #listener: SubmitterListener;
  readonly #maxPayloadBytes: number;
  readonly #records: Records;
  readonly #scratch: Scratch = new Scratch();
  readonly #slot: number = slotAt(HOST);
  /** By record number. */
  readonly #jobs: (Job | undefined)[] = [];
  /** Settled records taken from the stack and not yet looked at: the oldest. */
  #taken: RecordNumber = NO_RECORD;
  #highestRecord = 0;
  /** Jobs that got their outcome without a start, and starts that were repeated. */
  neverStarted = 0;
  retried = 0;
  readonly #firstSequence: Sequence;

  constructor(region: Region, options: SubmitterOptions, listener: SubmitterListener) {
    this.#region = region;
    this.#listener = listener;
    this.#maxPayloadBytes = options.maxPayloadBytes;
    this.#records = new Records(region, options.rotation);
    this.#firstSequence = options.firstSequence ?? (0 as Sequence);
    openLane(region, this.#slot + SLOT_LANE, options.ringCapacity ?? RING_CAPACITY, this.#firstSequence);
    openLane(region, this.#slot + SLOT_FRONT, FRONT_CAPACITY, this.#firstSequence); // now: it is needed when memory may have run out
    setBit(region.m, LANE_BITS, HOST);
  }

  /**
   * Writes a job and does not publish it yet. Reading the value runs its getters, and they may call any verb.
   * @throws RailheadError `E_ARGUMENT_CLONE`, `E_TOO_LARGE`, or `E_QUEUE_FULL` when 2^24 jobs are unsettled or no memory is left.
   */
  prepare(defined: Defined, value: unknown, job: Job | undefined): Entry {
    const scratch = this.#scratch;
    try {
      encode(value, scratch);
    } catch (thrown) {
      throw notSent(defined, thrown);
    }
    if (scratch.length > this.#maxPayloadBytes) throw this.#tooLarge(defined, scratch.length);
    const region = this.#region;
    const record = this.#records.take();
    if (record === NO_RECORD) throw noRecord();
    const at = recordAt(region, record);
    const retries = job?.watch?.retriesLeft ?? 0;
    if (!putArgument(region, HOST, at, scratch, job?.resolve === undefined ? 0 : WANTS_RESULT, retries > 0)) {
      this.#records.give(record);
      throw noMemory(defined, scratch.length);
    }
    scratch.release();
    poke(region.m, at + RECORD_HANDLER, defined.id);
    if (record > this.#highestRecord) this.#highestRecord = record;
    if (job !== undefined) this.#remember(record, job);
    if (job?.watch !== undefined) this.#noteArgument(record, at, job, job.watch);
    return toQueued(region.m, at, record);
  }

  #remember(record: RecordNumber, job: Job): void {
    while (this.#jobs.length <= record) this.#jobs.push(undefined); // stays a dense array
    this.#jobs[record] = job;
  }

  /** A retry restores what a result may have overwritten. */
  #noteArgument(record: RecordNumber, at: number, job: Job, watch: Watch): void {
    const { m } = this.#region;
    job.record = record;
    watch.argument = { meta: peek(m, at + RECORD_META), length: peek(m, at + RECORD_LENGTH) };
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
    if (publishRun(this.#region, this.#slot + SLOT_FRONT, entries)) markFront(this.#region.m, HOST);
    else for (const entry of entries) this.#failUnpublished(entry); // the region is at its limit: better told than lost
  }

  #failUnpublished(entry: Entry): void {
    this.neverStarted++;
    this.fail(recordOf(entry), railheadError('E_QUEUE_FULL', 'The task could not be queued again: no shared memory is left'));
  }

  /** Undoes `prepare` for a job that was never published. */
  takeBack(record: RecordNumber): void {
    const at = recordAt(this.#region, record);
    freeBlocks(this.#region, HOST, at, false);
    if (record < this.#jobs.length) this.#jobs[record] = undefined;
    toFree(this.#region.m, at);
    this.#records.give(record);
  }

  /**
   * Settles what workers have handed back, oldest first, for at most `most` jobs. True: some are left.
   * Only promises are resolved here, and records freed: no user code runs.
   */
  drain(most: number): boolean {
    for (let k = 0; k < most; k++) {
      if (this.#taken === NO_RECORD) {
        this.#taken = takeCompleted(this.#region, this.#slot);
        if (this.#taken === NO_RECORD) return false;
      }
      const record = this.#taken;
      const at = recordAt(this.#region, record);
      this.#taken = nextCompleted(this.#region.m, at);
      this.settle(record, at);
    }
    return this.#taken !== NO_RECORD;
  }

  /** Settles one job whose record is SETTLED; of an abandoned one only the record comes back. */
  settle(record: RecordNumber, at: number = recordAt(this.#region, record)): void {
    const meta = peek(this.#region.m, at + RECORD_META);
    const handlerId = peek(this.#region.m, at + RECORD_HANDLER);
    const job = this.jobOf(record);
    if (job?.abandoned) return this.#release(record, at, true);
    let failed = (meta & FAILED) !== 0;
    let value: unknown;
    if (failed || job?.resolve !== undefined) {
      try {
        value = getResult(this.#region, at);
        if (failed) value = foundNoRoom(this.#region, at) ? noRoomForResult() : fromWire(value as ErrorWire);
      } catch (thrown) {
        failed = true;
        value = thrown; // no memory for the value in this thread
      }
    }
    this.#release(record, at, true);
    this.#finish(job, failed, value, handlerId);
    if ((meta & CRASH_LOOP) !== 0) this.#listener.onCrashLoop(handlerId, value);
  }

  /** Fails a job that no worker will settle any more: it died with its thread, or is cut. False: it had its outcome already. */
  fail(record: RecordNumber, error: unknown): boolean {
    const at = recordAt(this.#region, record);
    const job = this.jobOf(record);
    const handlerId = peek(this.#region.m, at + RECORD_HANDLER);
    this.#release(record, at, false);
    if (job?.abandoned) return false;
    this.#finish(job, true, error, handlerId);
    return true;
  }

  /** Ends a job now, wherever it is; one that runs keeps its record until its worker is done with it. What it was. */
  end(record: RecordNumber, error: unknown): ReturnType<typeof toEnded> {
    const at = recordAt(this.#region, record);
    const job = this.jobOf(record);
    if (job?.abandoned) return TOO_LATE;
    const handlerId = peek(this.#region.m, at + RECORD_HANDLER);
    const was = toEnded(this.#region.m, at);
    if (was === TOO_LATE) return was;
    if (was === CANCELLED) {
      this.neverStarted++;
      this.#release(record, at, false);
    } else {
      const abandoned = job === undefined || job === SUBMITTED ? new Job(job !== undefined) : job; // those have nothing of their own
      abandoned.abandoned = true;
      this.#remember(record, abandoned);
    }
    this.#finish(job, true, error, handlerId);
    return was;
  }

  /** Publishes again a job that died with its thread. */
  retry(record: RecordNumber, { argument, attempts }: Watch): void {
    const { m } = this.#region;
    const at = recordAt(this.#region, record);
    poke(m, at + RECORD_META, withAttempt(argument.meta, attempts));
    poke(m, at + RECORD_LENGTH, argument.length);
    this.retried++;
    this.publishAhead([toRetried(m, at, record)]);
  }

  #finish(job: Job | undefined, failed: boolean, value: unknown, handlerId: number): void {
    this.#listener.onOutcome(failed);
    if (job?.resolve === undefined) {
      if (failed) this.#listener.onFailure(value, handlerId);
    } else if (failed) job.reject?.(value);
    else job.resolve(value);
  }

  /** Blocks first, then the record: from here another job may use it. */
  #release(record: RecordNumber, at: number, settled: boolean): void {
    const job = this.jobOf(record);
    freeBlocks(this.#region, HOST, at, settled);
    if (job !== undefined) this.#jobs[record] = undefined;
    if (stateOf(load(this.#region.m, at + RECORD_STATE)) !== FREE) toFree(this.#region.m, at); // a cancelled one is already
    this.#records.give(record);
    this.#listener.onReleased(job);
  }

  jobOf(record: RecordNumber): Job | undefined {
    return record < this.#jobs.length ? this.#jobs[record] : undefined;
  }

  /** Fails every job, or every one of a handler, that has not started. Returns how many. Their entries in the rings are void. */
  failQueued(error: unknown, handlerId = 0): number {
    let failed = 0;
    for (const record of this.#unsettled()) {
      if (handlerId !== 0 && this.handlerOf(record) !== handlerId) continue;
      const at = recordAt(this.#region, record);
      if (!toStarted(this.#region.m, at, entryFor(record, load(this.#region.m, at + RECORD_STATE)))) continue;
      this.fail(record, error);
      failed++;
    }
    this.neverStarted += failed;
    return failed;
  }

  /** Fails every job that is left, whatever its state: no worker will touch it any more. Returns how many. */
  failAll(error: unknown): number {
    let failed = 0;
    for (const record of this.#unsettled()) if (this.fail(record, error)) failed++;
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

  #tooLarge(defined: Defined, length: number): RailheadError {
    this.#scratch.release();
    return railheadError('E_TOO_LARGE', `The value for handler \`${defined.name}\` has ${length} bytes, and \`maxPayloadBytes\` allows ${this.#maxPayloadBytes}`);
  }
}

function notSent(defined: Defined, thrown: unknown): RailheadError {
  const why = thrown instanceof NotPlain ? thrown.message : 'a getter of the value threw';
  return railheadError('E_ARGUMENT_CLONE', `The value for handler \`${defined.name}\` cannot be sent: ${why}`, { cause: thrown });
}

const noRecord = (): RailheadError => railheadError('E_QUEUE_FULL', 'The queue is full: 16,777,215 tasks are unsettled, the most there can be');
const noMemory = (defined: Defined, length: number): RailheadError =>
  railheadError('E_QUEUE_FULL', `The queue is full: no shared memory is left for the ${length} bytes of the value for handler \`${defined.name}\``);
const noRoomForResult = (): RailheadError => railheadError('E_TOO_LARGE', 'The task ran, but no shared memory was left for its result');
