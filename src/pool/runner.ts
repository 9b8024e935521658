/**
 * Running one job: start, argument, handler, result, settle. Worker thread.
 *
 * The guard is LIBRARY when `run` is called and when it returns, and OPEN while user code runs: handler, getters of its result.
 */
import { peek, poke, store } from '#atomics';
import { type Entry, type RecordNumber, railheadError, toWire } from '#base';
import {
  CRASH_LOOP,
  FAILED,
  RECORD_HANDLER,
  RECORD_META,
  type Region,
  recordAt,
  recordOf,
  SLOT_GUARD,
  SLOT_RUN,
  SLOT_STARTED,
  slotAt,
  submitterOf,
  WANTS_RESULT,
} from '#memory';
import { encode, getArgument, NotPlain, putResult, Scratch } from '#payload';
import { ABANDONED, complete, isIn, QUEUED, toSettled, toStarted } from '#ring';
import { enterLibrary, leaveLibrary } from './guard.ts';
import { explain, type Handlers, isLoaded, type Loaded, type NotLoaded } from './handlers.ts';
import type { WorkerSettings } from './settings.ts';
import { TaskHandle } from './task-handle.ts';

export class Runner {
  readonly #region: Region;
  readonly #settings: WorkerSettings;
  readonly #handlers: Handlers;
  readonly #onSettled: () => void;
  readonly #at: number;
  readonly #scratch: Scratch = new Scratch();
  /** Free places of the run list, as a stack. */
  readonly #places: number[];
  readonly #startedBefore: number;
  /** Handles of jobs under way, by place; only where the handler wanted one. */
  readonly #handles: (TaskHandle | undefined)[];

  /** Jobs started by this thread. */
  started = 0;
  /** Async tasks under way. */
  inFlight = 0;
  /** A module failed to load in this thread: it must be replaced. */
  spoiled = false;

  constructor(region: Region, settings: WorkerSettings, handlers: Handlers, onSettled: () => void) {
    this.#region = region;
    this.#settings = settings;
    this.#handlers = handlers;
    this.#onSettled = onSettled;
    this.#at = slotAt(settings.slot);
    this.#places = Array.from({ length: settings.tasksPerWorker }, (_, k) => settings.tasksPerWorker - 1 - k);
    this.#handles = new Array<TaskHandle | undefined>(settings.tasksPerWorker).fill(undefined);
    this.#startedBefore = peek(region.m, this.#at + SLOT_STARTED); // counts go on over the slot's threads
  }

  /** Runs the job, or begins it: an async one, and one whose module must be imported first, count as in flight from here. */
  run(entry: Entry): void {
    const region = this.#region;
    const record = recordOf(entry);
    const at = recordAt(region, record);
    const { m } = region;
    if (!isIn(m, at, entry, QUEUED)) return; // void: somebody else has it, or it is gone
    const place = this.#places.pop() as number;
    store(m, this.#at + SLOT_RUN + place, entry); // before the start: the host finds it here if the thread dies
    if (!toStarted(m, at, entry)) {
      this.#clear(place);
      return;
    }
    this.started++;
    poke(m, this.#at + SLOT_STARTED, this.#startedBefore + this.started);
    const handlerId = peek(m, at + RECORD_HANDLER);
    const handler = this.#handlers.findOrCompile(handlerId);
    if (handler === undefined) this.#load(handlerId, entry, record, at, place);
    else this.#begin(handler, entry, record, at, place);
  }

  /** The import is part of the run: it can be aborted and timed out like the handler itself. */
  #load(handlerId: number, entry: Entry, record: RecordNumber, at: number, place: number): void {
    this.inFlight++;
    const loading = Promise.resolve().then(() => this.#handlers.load(handlerId)); // in a microtask: it crosses the guard by itself
    void loading.then((handler) => {
      enterLibrary(this.#region.m, this.#at + SLOT_GUARD);
      this.inFlight--;
      if (isIn(this.#region.m, at, entry, ABANDONED)) this.#drop(record, at, place);
      else this.#begin(handler, entry, record, at, place);
      leaveLibrary(this.#region.m, this.#at + SLOT_GUARD);
      this.#onSettled();
    });
  }

  /** Given up before its handler was called: only the record goes back. */
  #drop(record: RecordNumber, at: number, place: number): void {
    encode(undefined, this.#scratch);
    this.#handOver(0, record, at, place);
  }

  #begin(handler: Loaded | NotLoaded, entry: Entry, record: RecordNumber, at: number, place: number): void {
    if (isLoaded(handler)) this.#call(handler, entry, record, at, place);
    else this.#refuse(handler, record, at, place);
  }

  #call(handler: Loaded, entry: Entry, record: RecordNumber, at: number, place: number): void {
    let ok = true;
    let result: unknown;
    try {
      result = getArgument(this.#region, at);
    } catch (thrown) {
      return this.#fail(thrown, record, at, place, 0); // no memory for the value in this thread
    }
    const handle = handler.wantsTask ? new TaskHandle(this.#region, entry, this.#settings.workerId) : undefined;
    if (handle !== undefined) this.#handles[place] = handle;
    leaveLibrary(this.#region.m, this.#at + SLOT_GUARD);
    try {
      result = handler.run(result, handle);
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

  #await(handler: Loaded, result: Promise<unknown>, record: RecordNumber, at: number, place: number): void {
    this.inFlight++;
    const settled = (ok: boolean, value: unknown): void => {
      this.inFlight--;
      this.#settle(handler, ok, value, record, at, place);
      leaveLibrary(this.#region.m, this.#at + SLOT_GUARD);
      this.#onSettled();
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
      if (failed) encode(toWire(result), scratch);
      else if ((peek(this.#region.m, at + RECORD_META) & WANTS_RESULT) === 0) encode(undefined, scratch);
      else encode(result, scratch);
    } catch (thrown) {
      failed = true;
      encode(toWire(notSent(handler, thrown)), scratch);
    }
    if (scratch.length > this.#settings.maxPayloadBytes) {
      failed = true;
      encode(toWire(tooLarge(handler, scratch.length, this.#settings.maxPayloadBytes)), scratch);
    }
    enterLibrary(this.#region.m, this.#at + SLOT_GUARD);
    this.#handOver(failed ? FAILED : 0, record, at, place);
  }

  /** LIBRARY throughout: what is thrown here is ours. */
  #fail(error: unknown, record: RecordNumber, at: number, place: number, flags: number): void {
    encode(toWire(error), this.#scratch);
    this.#handOver(FAILED | flags, record, at, place);
  }

  #refuse(handler: NotLoaded, record: RecordNumber, at: number, place: number): void {
    if (handler.why === 'spoiled') this.spoiled = true;
    this.#fail(handler.error, record, at, place, handler.crashLoop ? CRASH_LOOP : 0);
  }

  #handOver(flags: number, record: RecordNumber, at: number, place: number): void {
    const region = this.#region;
    putResult(region, this.#settings.slot, at, this.#scratch, flags);
    this.#scratch.release();
    const submitter = submitterOf(peek(region.m, at + RECORD_META));
    if (toSettled(region.m, at)) complete(region, slotAt(submitter), record, at); // from here the record is the submitter's
    this.#clear(place); // after the hand-over: until then the host would have to make up for it
  }

  /** The submitter has given up on a running job. */
  abort(entry: Entry, reason: unknown): void {
    for (let place = 0; place < this.#handles.length; place++) {
      if (peek(this.#region.m, this.#at + SLOT_RUN + place) === entry) this.#handles[place]?.abort(reason);
    }
  }

  /** Whether a job under way was given up: then its thread may be ended, and nothing new should be on it. */
  isHeld(): boolean {
    const { m } = this.#region;
    for (let place = 0; place < this.#handles.length; place++) {
      const entry = peek(m, this.#at + SLOT_RUN + place) as Entry;
      if (entry !== 0 && isIn(m, recordAt(this.#region, recordOf(entry)), entry, ABANDONED)) return true;
    }
    return false;
  }

  #clear(place: number): void {
    const handle = this.#handles[place];
    if (handle !== undefined) {
      handle.settle();
      this.#handles[place] = undefined;
    }
    store(this.#region.m, this.#at + SLOT_RUN + place, 0);
    this.#places.push(place);
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

function notSent(handler: Loaded, thrown: unknown): unknown {
  const why = thrown instanceof NotPlain ? thrown.message.replace('value', 'result') : 'a getter of the result threw';
  return railheadError('E_RESULT_CLONE', `The result of handler \`${handler.name}\` cannot be sent: ${why}`, { cause: thrown });
}

function tooLarge(handler: Loaded, length: number, most: number): unknown {
  return railheadError('E_TOO_LARGE', `The result of handler \`${handler.name}\` has ${length} bytes, and \`maxPayloadBytes\` allows ${most}`);
}
