/**
 * What users are told outside their promises: failures of pushed tasks, and events with their types. Host thread.
 *
 * Each is told in a microtask of its own, never inside a verb; what a listener throws surfaces as an uncaught exception there and
 * stops nothing here.
 */
import { AsyncResource } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import { type FailedJob, queueMicrotask } from '#base';

/** What each event passes to its listeners. Each is told in a microtask of its own, never inside a verb. */
export interface QueueEvents {
  /** A pushed or submitted task failed, or an error was thrown outside any task: what was thrown, and where. */
  error: [error: unknown, job: FailedJob];
  /** There is room again: the backlog has fallen to half of `backlogMax`, or `maxPending` is no longer reached. */
  drain: [];
  /** More than `backlogMax` tasks wait. */
  needsDrain: [];
  /** A worker is ready. Numbers count from 1 in each queue. */
  workerStart: [{ readonly workerId: number }];
  /** A worker's thread has ended. */
  workerExit: [{ readonly workerId: number; readonly exitCode: number }];
  /** Nothing is started for a while, since it failed five times in a row: the module of this handler, or (undefined) every worker. */
  crashLoop: [{ readonly handler: string | undefined; readonly error: unknown }];
}

/** With the two that every EventEmitter has. */
interface AllEvents extends QueueEvents {
  newListener: [name: string | symbol, listener: (...args: unknown[]) => void];
  removeListener: [name: string | symbol, listener: (...args: unknown[]) => void];
}

type Name = keyof AllEvents;
type Listener<N extends Name> = (...args: AllEvents[N]) => void;

/** An EventEmitter of these events and no others: a misspelt name does not compile. */
export interface QueueEmitter extends EventEmitter {
  on<N extends Name>(name: N, listener: Listener<N>): this;
  once<N extends Name>(name: N, listener: Listener<N>): this;
  off<N extends Name>(name: N, listener: Listener<N>): this;
  addListener<N extends Name>(name: N, listener: Listener<N>): this;
  removeListener<N extends Name>(name: N, listener: Listener<N>): this;
  prependListener<N extends Name>(name: N, listener: Listener<N>): this;
  prependOnceListener<N extends Name>(name: N, listener: Listener<N>): this;
  emit<N extends Name>(name: N, ...args: AllEvents[N]): boolean;
}

export class Reports {
  readonly #emitter: EventEmitter;
  readonly #resource = new AsyncResource('RAILHEAD_QUEUE');
  readonly #onError: ((error: unknown, job: FailedJob) => void) | undefined;

  constructor(emitter: EventEmitter, onError: ((error: unknown, job: FailedJob) => void) | undefined) {
    this.#emitter = emitter;
    this.#onError = onError;
  }

  event<N extends keyof QueueEvents>(name: N, ...args: QueueEvents[N]): void {
    if (this.#emitter.listenerCount(name) > 0) this.#later(() => this.#emitter.emit(name, ...args));
  }

  /** A failure that no promise tells. With nobody to hear it, it is raised as Node raises an unhandled rejection. */
  failure(error: unknown, job: FailedJob): void {
    this.#later(() => {
      if (!this.#tell(error, job)) throw error;
    });
  }

  /** The same for what is told elsewhere too (by a promise, or by the report of `stop`): nothing is raised if nobody listens. */
  notice(error: unknown, job: FailedJob): void {
    this.#tell(error, job);
  }

  /** Each hears it in a microtask of its own, so that what one throws takes nothing from the other. */
  #tell(error: unknown, job: FailedJob): boolean {
    const onError = this.#onError;
    const listens = this.#emitter.listenerCount('error') > 0;
    if (onError !== undefined) this.#later(() => onError(error, job));
    if (listens) this.#later(() => this.#emitter.emit('error', error, job));
    return listens || onError !== undefined;
  }

  /** In the queue's own async context, not in that of whoever happened to call a verb. */
  #later(call: () => void): void {
    queueMicrotask(() => this.#resource.runInAsyncScope(call));
  }
}
