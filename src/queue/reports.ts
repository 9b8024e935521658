/**
 * What users are told outside their promises: failures of pushed tasks, and events. Host thread.
 *
 * Each is told in a microtask of its own, never inside a verb; what a listener throws surfaces as an uncaught exception there and
 * stops nothing here.
 */
import { AsyncResource } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import { type FailedJob, queueMicrotask } from '#base';
import type { QueueEvents } from './events.ts';

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
