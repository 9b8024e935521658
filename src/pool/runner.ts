/**
 * Running one job: start, argument, handler, result, settle. Worker thread.
 *
 * The guard is LIBRARY when `run` or `runNext` is called and when it returns, and OPEN while user code runs: handler, getters of
 * its result, a codec.
 */
import { glance, peek, poke, store } from '#atomics';
import { type Entry, type RecordNumber, railheadError, toWire } from '#base';
import {
  CRASH_LOOP,
  FAILED,
  RECORD_HANDLER,
  RECORD_META,
  type Region,
  RUN_MAX,
  recordAt,
  recordOf,
  SLOT_GUARD,
  SLOT_RUN,
  SLOT_STARTED,
  slotAt,
  submitterOf,
  WANTS_RESULT,
} from '#memory';
import {
  type Codec,
  causeOf,
  deserializeWith,
  Encoded,
  FORM_PORT,
  formAt,
  getArgument,
  LARGEST_BYTES,
  type Packing,
  pack,
  packWire,
  putResult,
  readPort,
  Scratch,
  TooLarge,
  toPort,
  whyNotSent,
} from '#payload';
import { complete, isIn, QUEUED, toSettled, toStarted } from '#ring';
import type { WorkerChannel } from './channel.ts';
import { enterLibrary, leaveLibrary } from './guard.ts';
import { explain, type Handlers, isLoaded, type Loaded, type NotLoaded } from './handlers.ts';
import type { WorkerSettings } from './settings.ts';
import { TaskHandle } from './task-handle.ts';
import { Waits } from './waits.ts';

/** The job was not started: this thread does not know its handler yet, `unknownId`. */
export const UNKNOWN = 1;
/** It was run, or is under way, or the entry was void. */
export const DONE = 0;

/** What a worker's runner is given besides shared memory. */
export interface RunnerLinks {
  readonly channel: WorkerChannel;
  readonly codec: Codec | undefined;
  /** An async task has settled. */
  onSettled(): void;
  /** A job that waited for its value can go on, or need not be waited for. */
  onArrived(): void;
}

export class Runner {
  readonly #region: Region;
  readonly #settings: WorkerSettings;
  readonly #handlers: Handlers;
  readonly #links: RunnerLinks;
  readonly #packing: Packing;
  readonly #waits: Waits;
  readonly #at: number;
  readonly #scratch: Scratch = new Scratch();
  /** Free places of the run list, as a stack. */
  readonly #places: number[];
  readonly #startedBefore: number;

  /** Jobs started by this thread. */
  started = 0;
  /** Async tasks under way. */
  inFlight = 0;
  /** A module failed to load in this thread: it must be replaced. */
  spoiled = false;
  unknownId = 0;

  constructor(region: Region, settings: WorkerSettings, handlers: Handlers, links: RunnerLinks) {
    this.#region = region;
    this.#settings = settings;
    this.#handlers = handlers;
    this.#links = links;
    this.#packing = { most: Math.min(settings.maxPayloadBytes, LARGEST_BYTES), codec: links.codec };
    this.#waits = new Waits(links.channel, () => links.onArrived());
    links.channel.open({
      argument: ({ entry, port }) => this.#waits.answered(entry, port),
      late: ({ entry }) => this.#waits.late(entry),
    });
    this.#at = slotAt(settings.slot);
    this.#places = Array.from({ length: RUN_MAX }, (_, k) => RUN_MAX - 1 - k);
    this.#startedBefore = peek(region.m, this.#at + SLOT_STARTED); // counts go on over the slot's threads
  }

  /** As many as allowed are under way. */
  get full(): boolean {
    return this.inFlight + this.#waits.counted >= this.#settings.tasksPerWorker || this.#places.length === 0;
  }

  /** Jobs are under way, or wait for their values. */
  get busy(): boolean {
    return this.inFlight > 0 || this.#waits.size > 0;
  }

  /** A job has waited for its value, and there is room for it. */
  get hasNext(): boolean {
    return this.#waits.anyNext && this.inFlight + this.#waits.counted < this.#settings.tasksPerWorker;
  }

  run(entry: Entry): typeof DONE | typeof UNKNOWN {
    const region = this.#region;
    const record = recordOf(entry);
    const at = recordAt(region, record);
    const { m } = region;
    if (!isIn(m, at, entry, QUEUED)) return DONE;
    const handler = this.#handlers.find(glance(m, at + RECORD_HANDLER));
    if (handler === undefined) {
      this.unknownId = glance(m, at + RECORD_HANDLER);
      return UNKNOWN;
    }
    const place = this.#places.pop() as number;
    store(m, this.#at + SLOT_RUN + place, entry); // before the start: the host finds it here if the thread dies
    if (!toStarted(m, at, entry)) {
      this.#clear(place);
      return DONE;
    }
    this.started++;
    poke(m, this.#at + SLOT_STARTED, this.#startedBefore + this.started);
    if (isLoaded(handler)) this.#call(handler, record, at, place);
    else this.#refuse(handler, record, at, place);
    return DONE;
  }

  #call(handler: Loaded, record: RecordNumber, at: number, place: number): void {
    if (formAt(this.#region, at) === FORM_PORT) return this.#ask(handler, record, at, place);
    let value: unknown;
    try {
      value = getArgument(this.#region, at);
    } catch (thrown) {
      return this.#fail(notRead(handler, thrown), record, at, place, 0); // no memory for the value in this thread
    }
    leaveLibrary(this.#region.m, this.#at + SLOT_GUARD);
    this.#invoke(handler, value, record, at, place);
  }

  /** Comes OPEN, goes LIBRARY. */
  #invoke(handler: Loaded, value: unknown, record: RecordNumber, at: number, place: number): void {
    let ok = true;
    let result: unknown;
    try {
      const given = this.#links.codec !== undefined && value instanceof Encoded ? this.#decoded(handler, this.#links.codec, value) : value;
      result = handler.run(given, handler.wantsTask ? new TaskHandle(this.#settings.workerId) : undefined);
      if (isThenable(result)) {
        this.#await(handler, Promise.resolve(result), record, at, place);
        enterLibrary(this.#region.m, this.#at + SLOT_GUARD);
        return;
      }
    } catch (thrown) {
      ok = false;
      result = explain(thrown, handler);
    }
    this.#settle(handler, ok, result, record, at, place);
  }

  #decoded(handler: Loaded, codec: Codec, encoded: Encoded): unknown {
    try {
      return deserializeWith(codec, encoded);
    } catch (thrown) {
      throw notRead(handler, thrown);
    }
  }

  /** The value lies in a port, which the host gives to whoever has started the job. */
  #ask(handler: Loaded, record: RecordNumber, at: number, place: number): void {
    const entry = peek(this.#region.m, this.#at + SLOT_RUN + place) as Entry;
    leaveLibrary(this.#region.m, this.#at + SLOT_GUARD); // async hooks are user code
    this.#waits.ask({ entry, handler, record, at, place });
    enterLibrary(this.#region.m, this.#at + SLOT_GUARD);
  }

  /** Runs a job that has waited for its value, or asks for it again. Only while `hasNext`. */
  runNext(): void {
    leaveLibrary(this.#region.m, this.#at + SLOT_GUARD);
    const waiting = this.#waits.next();
    if (waiting === undefined) return enterLibrary(this.#region.m, this.#at + SLOT_GUARD);
    const { handler, record, at, place, port } = waiting;
    let value: unknown;
    try {
      if (port === undefined) throw new Error('The host has it no more');
      value = readPort(port);
    } catch (thrown) {
      return this.#settle(handler, false, notRead(handler, thrown), record, at, place);
    }
    this.#invoke(handler, value, record, at, place);
  }

  #await(handler: Loaded, result: Promise<unknown>, record: RecordNumber, at: number, place: number): void {
    this.inFlight++;
    const settled = (ok: boolean, value: unknown): void => {
      this.inFlight--;
      this.#settle(handler, ok, value, record, at, place);
      leaveLibrary(this.#region.m, this.#at + SLOT_GUARD);
      this.#links.onSettled();
    };
    result.then(
      (value) => settled(true, value),
      (thrown) => settled(false, explain(thrown, handler)),
    );
  }

  /** Comes OPEN, goes LIBRARY. */
  #settle(handler: Loaded, ok: boolean, result: unknown, record: RecordNumber, at: number, place: number): void {
    const scratch = this.#scratch;
    let failed = !ok;
    try {
      if (failed) packWire(toWire(result), scratch);
      else if ((peek(this.#region.m, at + RECORD_META) & WANTS_RESULT) === 0) packWire(undefined, scratch);
      else pack(result, scratch, this.#packing);
    } catch (thrown) {
      failed = true;
      packWire(toWire(notSent(handler, thrown, this.#packing.most)), scratch);
    }
    this.#sendPort(scratch, place);
    enterLibrary(this.#region.m, this.#at + SLOT_GUARD);
    this.#handOver(failed ? FAILED : 0, record, at, place);
  }

  /** OPEN. A result in a port is sent before the job settles, so that the host has it by then. */
  #sendPort(scratch: Scratch, place: number): void {
    if (scratch.port === undefined) return;
    const port = scratch.takePort();
    this.#links.channel.send({ type: 'result', entry: peek(this.#region.m, this.#at + SLOT_RUN + place) as Entry, port }, [port]);
  }

  /** LIBRARY throughout: what is thrown here is ours. */
  #fail(error: unknown, record: RecordNumber, at: number, place: number, flags: number): void {
    packWire(toWire(error), this.#scratch);
    this.#handOver(FAILED | flags, record, at, place);
  }

  #refuse(handler: NotLoaded, record: RecordNumber, at: number, place: number): void {
    if (handler.why === 'spoiled') this.spoiled = true;
    if (handler.why === 'backing-off') this.#handlers.forget(handler.id);
    this.#fail(handler.error, record, at, place, handler.crashLoop ? CRASH_LOOP : 0);
  }

  #handOver(flags: number, record: RecordNumber, at: number, place: number): void {
    const region = this.#region;
    if (!putResult(region, this.#settings.slot, at, this.#scratch, flags)) {
      leaveLibrary(region.m, this.#at + SLOT_GUARD); // no room in shared memory: by port
      toPort(this.#scratch);
      this.#sendPort(this.#scratch, place);
      enterLibrary(region.m, this.#at + SLOT_GUARD);
      putResult(region, this.#settings.slot, at, this.#scratch, flags);
    }
    this.#scratch.release();
    const submitter = submitterOf(peek(region.m, at + RECORD_META));
    if (toSettled(region.m, at)) complete(region, slotAt(submitter), record, at); // from here the record is the submitter's
    this.#clear(place); // after the hand-over: until then the host would have to make up for it
  }

  #clear(place: number): void {
    store(this.#region.m, this.#at + SLOT_RUN + place, 0);
    this.#places.push(place);
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

function notRead(handler: Loaded, thrown: unknown): unknown {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return railheadError('E_ARGUMENT_CLONE', `The value for handler \`${handler.name}\` could not be read in the worker: ${why}`, { cause: causeOf(thrown) });
}

function notSent(handler: Loaded, thrown: unknown, most: number): unknown {
  if (thrown instanceof TooLarge) {
    return railheadError('E_TOO_LARGE', `The result of handler \`${handler.name}\` has ${thrown.bytes} bytes or more, and \`maxPayloadBytes\` allows ${most}`);
  }
  const message = `The result of handler \`${handler.name}\` cannot be sent: ${whyNotSent(thrown, 'result')}`;
  return railheadError('E_RESULT_CLONE', message, { cause: causeOf(thrown) });
}
