/** A queue bound to one handler. Host thread. */
import { type QueueOptions, type RunOptions, URL } from '#base';
import { BaseQueue } from './base-queue.ts';
import type { Handler, InOf, OutOf } from './handler.ts';
import { checkArray } from './task-queue.ts';

/**
 * A queue for one handler: workers, options and members of its own, and verbs that take only the value.
 *
 * A function types it by itself; of a module, say `Task<In, Out>`, `Task<typeof import('./x.js')>` or `Task<typeof fn>`.
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for a wrong handler or option, RangeError (`ERR_OUT_OF_RANGE`) for a value out of range.
 * @example
 * const resize = new Task(new URL('./resize.js', import.meta.url), { concurrency: 4 });
 * const small = await resize.run(image);
 */
// biome-ignore lint/suspicious/noExplicitAny: an untyped handler takes anything.
export class Task<A = any, B = unknown> extends BaseQueue {
  readonly #handler: unknown;

  constructor(handler: Handler<A, B> | Handler<InOf<A>, OutOf<A, B>>, options?: number | QueueOptions) {
    super(options);
    this.#handler = handler instanceof URL ? handler.href : handler;
    this.verbs.define(this.#handler); // now, so that a wrong one is refused here and workers load it as they boot
  }

  /** See `TaskQueue.run`. */
  run(value: InOf<A>, options?: RunOptions): Promise<OutOf<A, B>> {
    return this.verbs.run(this.#handler, value, options) as Promise<OutOf<A, B>>;
  }

  /** See `TaskQueue.push`. */
  push(value: InOf<A>): boolean {
    return this.verbs.push(this.#handler, value);
  }

  /** See `TaskQueue.pushBatch`. */
  pushBatch(values: readonly InOf<A>[]): number {
    return this.verbs.pushBatch(this.verbs.define(this.#handler), checkArray('values', values));
  }

  /** See `TaskQueue.submit`. */
  submit(value: InOf<A>): boolean {
    return this.verbs.submit(this.#handler, value);
  }

  /** See `TaskQueue.submitBatch`. */
  submitBatch(values: readonly InOf<A>[]): number {
    return this.verbs.submitBatch(this.verbs.define(this.#handler), checkArray('values', values));
  }

  /** See `TaskQueue.trySubmitBatch`. */
  trySubmitBatch(values: readonly InOf<A>[]): boolean {
    return this.verbs.trySubmitBatch(this.verbs.define(this.#handler), checkArray('values', values));
  }
}
