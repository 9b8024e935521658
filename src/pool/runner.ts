/**
 * Running one job: start, argument, handler, outcome. Worker thread.
 *
 *   start -> its module is imported -> its value comes by port -> handler -> settled
 *
 * Both in the middle are rare, and a job given up meanwhile goes back without a call of its handler.
 *
 * The guard is LIBRARY when `run` or `runNext` is called and when it returns, and OPEN while user code runs: handler, getters of
 * its result, a codec.
 */
import { peek, poke } from '#atomics';
import { type Entry, Error, messageOf, Promise, railheadError, type SlotAt } from '#base';
import {
  CRASH_LOOP,
  RECORD_HANDLER,
  type Region,
  recordAt,
  recordOf,
  SLOT_GUARD,
  SLOT_STARTED,
  SLOT_STARTED_BEFORE,
  SLOT_STARTING,
  slotAt,
} from '#memory';
import { type Codec, causeOf, deserializeWith, Encoded, FORM_PORT, formAt, getArgument, readPort } from '#payload';
import { isIn, QUEUED, toStarted } from '#ring';
import type { Receivers, ToWorker, WorkerChannel } from './channel.ts';
import { enterLibrary, leaveLibrary } from './guard.ts';
import { explain, type Handlers, isLoaded, type Loaded, type NotLoaded } from './handlers.ts';
import { Outcomes } from './outcomes.ts';
import { RunList } from './run-list.ts';
import type { WorkerSettings } from './settings.ts';
import { TaskHandle } from './task-handle.ts';
import { type Waiting, Waits } from './waits.ts';

/** What a worker's runner is given besides shared memory. */
export interface RunnerLinks {
  readonly channel: WorkerChannel;
  readonly codec: Codec | undefined;
  /** A job that was under way has settled. Called OPEN, in a microtask or in the turn of a message, never inside `run` or `runNext`. */
  onSettled(): void;
  /** `hasNext` or `full` may have changed: a value has come, or is waited for no longer. Called OPEN, in a turn of a message or a timer. */
  onArrived(): void;
  /** The library's own code threw. It ends the thread. */
  broken(error: unknown): void;
}

export class Runner {
  readonly #region: Region;
  readonly #settings: WorkerSettings;
  readonly #handlers: Handlers;
  readonly #links: RunnerLinks;
  readonly #runs: RunList;
  readonly #outcomes: Outcomes;
  readonly #waits: Waits;
  readonly #at: SlotAt;
  readonly #guard: number;
  readonly #startedBefore: number;

  /** Jobs started by this thread. */
  started = 0;
  /** Imports and async tasks under way. */
  inFlight = 0;
  /** A module failed to load in this thread, or an error was thrown outside any task: it begins nothing new, and is replaced. */
  mustEnd = false;

  constructor(region: Region, settings: WorkerSettings, handlers: Handlers, links: RunnerLinks) {
    this.#region = region;
    this.#settings = settings;
    this.#handlers = handlers;
    this.#links = links;
    this.#at = slotAt(settings.slot);
    this.#guard = this.#at + SLOT_GUARD;
    this.#runs = new RunList(region, this.#at);
    this.#outcomes = new Outcomes(region, settings, this.#runs, links.channel, links.codec);
    this.#waits = new Waits(links.channel, () => links.onArrived());
    this.#startedBefore = peek(region.m, this.#at + SLOT_STARTED); // counts go on over the slot's threads
  }

  /** What the host says about jobs. */
  receivers(): Pick<Receivers<ToWorker>, 'argument' | 'late'> {
    return {
      argument: ({ entry, port }) => this.#waits.answered(entry, port),
      late: ({ entry }) => this.#waits.late(entry),
    };
  }

  /** Jobs are under way, or wait for their values. */
  get busy(): boolean {
    return this.inFlight > 0 || this.#waits.size > 0;
  }

  /** As many as allowed are under way. */
  get full(): boolean {
    return this.inFlight + this.#waits.counted >= this.#settings.tasksPerWorker || this.#runs.isFull;
  }

  /** A job's value has come, or it may be asked for again, and there is room for it: `runNext`. */
  get hasNext(): boolean {
    return this.#waits.anyNext && this.inFlight + this.#waits.counted < this.#settings.tasksPerWorker;
  }

  /** A job under way was given up: its thread may have to be ended, so nothing new should be on it. */
  hasAbandoned(): boolean {
    return this.#runs.hasAbandoned();
  }

  /** Runs the job, or begins it: async, with its module to import first, or with its value still to come. Not while full. */
  run(entry: Entry): void {
    const region = this.#region;
    const at = recordAt(region, recordOf(entry));
    const { m } = region;
    if (!isIn(m, at, entry, QUEUED)) return; // void: somebody else has it, or it is gone
    const place = this.#runs.add(entry);
    const before = this.#startedBefore + this.started;
    poke(m, this.#at + SLOT_STARTING, entry);
    poke(m, this.#at + SLOT_STARTED_BEFORE, before); // after the entry: with the older one this count would be wrong
    if (!toStarted(m, at, entry)) return this.#runs.remove(place);
    this.started++;
    poke(m, this.#at + SLOT_STARTED, before + 1);
    const handlerId = peek(m, at + RECORD_HANDLER);
    const handler = this.#handlers.findOrCompile(handlerId);
    if (handler === undefined) void this.#load(handlerId, entry, at, place);
    else if (isLoaded(handler)) this.#call(handler, entry, at, place);
    else this.#refuse(handler, entry, at, place);
  }

  /** The import is part of the run: it can be aborted and timed out like the handler itself. */
  async #load(handlerId: number, entry: Entry, at: number, place: number): Promise<void> {
    this.inFlight++;
    await undefined; // `load` crosses the guard by itself
    try {
      const handler = await this.#handlers.load(handlerId);
      enterLibrary(this.#region.m, this.#guard);
      this.inFlight--;
      if (!isLoaded(handler)) this.#refuse(handler, entry, at, place);
      else if (this.#runs.isAbandoned(entry)) this.#outcomes.skip(entry, at, place);
      else this.#call(handler, entry, at, place);
      leaveLibrary(this.#region.m, this.#guard);
      this.#links.onSettled();
    } catch (error) {
      this.#links.broken(error);
    }
  }

  #refuse(handler: NotLoaded, entry: Entry, at: number, place: number): void {
    if (handler.why === 'threw') this.mustEnd = true;
    this.#outcomes.fail(handler.error, handler.crashLoop ? CRASH_LOOP : 0, entry, at, place);
  }

  #call(handler: Loaded, entry: Entry, at: number, place: number): void {
    if (formAt(this.#region, at) === FORM_PORT) return this.#ask(handler, entry, at, place);
    let value: unknown;
    try {
      value = getArgument(this.#region, at);
    } catch (thrown) {
      return this.#outcomes.fail(notRead(handler, thrown), 0, entry, at, place); // no memory for the value in this thread
    }
    leaveLibrary(this.#region.m, this.#guard);
    this.#invoke(handler, value, entry, at, place);
  }

  /** Comes OPEN, goes LIBRARY. */
  #invoke(handler: Loaded, value: unknown, entry: Entry, at: number, place: number): void {
    let ok = true;
    let result: unknown;
    const { run } = handler; // called as a function: `this` is no business of a handler's
    try {
      const given = this.#links.codec !== undefined && value instanceof Encoded ? decoded(handler, this.#links.codec, value) : value;
      result = run(given, handler.wantsTask ? this.#handleFor(entry, place) : undefined);
      if (isThenable(result)) {
        void this.#await(handler, result, entry, at, place);
        enterLibrary(this.#region.m, this.#guard);
        return;
      }
    } catch (thrown) {
      ok = false;
      result = explain(thrown, handler);
    }
    this.#outcomes.settle(handler, ok, result, entry, at, place);
  }

  #handleFor(entry: Entry, place: number): TaskHandle {
    const handle = new TaskHandle(this.#region, entry, this.#settings.workerId);
    this.#runs.keepHandle(place, handle);
    return handle;
  }

  /** By `await`, which calls no method of a promise of the engine's own, and takes one outcome of any other, whatever it does. */
  async #await(handler: Loaded, result: PromiseLike<unknown>, entry: Entry, at: number, place: number): Promise<void> {
    this.inFlight++;
    let ok = true;
    let value: unknown;
    try {
      value = await result;
    } catch (thrown) {
      ok = false;
      value = explain(thrown, handler);
    }
    try {
      this.inFlight--;
      this.#outcomes.settle(handler, ok, value, entry, at, place);
      leaveLibrary(this.#region.m, this.#guard);
      this.#links.onSettled();
    } catch (error) {
      this.#links.broken(error);
    }
  }

  /** The value lies in a port, which the host gives to whoever has started the job. */
  #ask(handler: Loaded, entry: Entry, at: number, place: number): void {
    leaveLibrary(this.#region.m, this.#guard); // async hooks are user code
    this.#waits.ask({ entry, handler, at, place });
    enterLibrary(this.#region.m, this.#guard);
  }

  /** Runs the oldest job whose value has come; where there is none, asks again for the value of one that was told `late`. Only while `hasNext`. */
  runNext(): void {
    leaveLibrary(this.#region.m, this.#guard);
    const waiting = this.#waits.takeArrived();
    if (waiting === undefined) {
      this.#waits.askAgain();
      return enterLibrary(this.#region.m, this.#guard);
    }
    const { handler, entry, at, place, port } = waiting;
    if (this.#runs.isAbandoned(entry)) return this.#skip(waiting);
    let value: unknown;
    try {
      if (port === undefined) throw new Error('The host has it no more');
      value = readPort(port);
    } catch (thrown) {
      return this.#outcomes.settle(handler, false, notRead(handler, thrown), entry, at, place);
    }
    this.#invoke(handler, value, entry, at, place);
  }

  /** Comes OPEN, goes LIBRARY. */
  #skip({ entry, at, place, port }: Waiting): void {
    port?.close();
    enterLibrary(this.#region.m, this.#guard);
    this.#outcomes.skip(entry, at, place);
  }

  /** The submitter has given up on a job here, or the queue ends. One that still waits for its value is not run then. OPEN. */
  abort(entry: Entry, reason: unknown): void {
    this.#runs.abort(entry, reason);
    const waiting = this.#runs.isAbandoned(entry) ? this.#waits.remove(entry) : undefined;
    if (waiting === undefined) return;
    this.#skip(waiting);
    leaveLibrary(this.#region.m, this.#guard);
    this.#links.onSettled();
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  value instanceof Promise || (typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function');

function decoded(handler: Loaded, codec: Codec, encoded: Encoded): unknown {
  try {
    return deserializeWith(codec, encoded);
  } catch (thrown) {
    throw notRead(handler, thrown);
  }
}

function notRead(handler: Loaded, thrown: unknown): unknown {
  const why = messageOf(thrown);
  return railheadError('E_ARGUMENT_CLONE', `The value for handler \`${handler.name}\` could not be read in the worker: ${why}`, {
    cause: causeOf(thrown),
  });
}
