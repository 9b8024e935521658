/** A queue whose verbs take the handler. Host thread. */
import { Array, got, type QueueOptions, type RunOptions, wrongType } from '#base';
import { BaseQueue } from './base-queue.ts';
import type { Defined } from './definitions.ts';
import type { Handler } from './handler.ts';

/**
 * Runs work on worker threads. Workers pull jobs from a FIFO in shared memory and are reused; they run on about as many threads
 * as there are processors, and `concurrency` is the most there ever are. An idle queue does not keep the process alive.
 *
 * Each task settles exactly once. It runs once, or up to `retry` times more if its worker dies and `onCrash` asks for that.
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) or RangeError (`ERR_OUT_OF_RANGE`) for a wrong or unknown option.
 * @example
 * const queue = new TaskQueue(8);
 * const n = await queue.run((n) => n + 1, 41);
 * await queue.stop();
 */
export class TaskQueue extends BaseQueue {
  constructor(options?: number | QueueOptions) {
    super(options);
  }

  /**
   * Runs a task and resolves to its result. Never throws: every failure rejects.
   *
   * `handler` is a self-contained function, a file URL or absolute path of a module (its default export), or `handler(url, name)`.
   * A handler's own error passes through with class name, message, stack, code, cause and own properties.
   * Rejects with `ABORT_ERR`, `E_TASK_TIMEOUT`, `E_TASK_DEADLINE`, `E_WORKER_TERMINATED`, `E_QUEUE_FULL`, `E_QUEUE_STOPPED`, `E_ARGUMENT_CLONE`, `E_RESULT_CLONE`, `E_TOO_LARGE`, `E_HANDLER_LOAD`,
   * `E_HANDLER_EXPORT`, `E_CAPTURED`, `E_WORKER_DIED`, or a TypeError for a wrong handler or option.
   */
  run<In, Out>(handler: Handler<In, Out>, value: In, options?: RunOptions): Promise<Awaited<Out>>;
  run<Out>(handler: Handler<undefined, Out>): Promise<Awaited<Out>>;
  run(handler: unknown, value?: unknown, options?: RunOptions): Promise<unknown> {
    return this.verbs.run(handler, value, options);
  }

  /**
   * Queues a task and forgets it: not bounded by `maxPending`, no result. False when the queue is stopped or the value cannot
   * be sent. A task that fails is told to `onError` and the `error` event; with neither it is raised as an uncaught exception.
   * @throws TypeError for a wrong handler.
   */
  push<In>(handler: Handler<In, unknown>, value: In): boolean;
  push(handler: Handler<undefined, unknown>): boolean;
  push(handler: unknown, value?: unknown): boolean {
    return this.verbs.push(handler, value);
  }

  /**
   * `push` for many values of one handler, or for pairs of handler and value; they are one run in the queue. Returns how many
   * were taken: what cannot be sent is skipped and told to `onError`.
   * @throws TypeError for a wrong handler; nothing was taken then.
   * @example
   * queue.pushBatch(fib, [30, 31, 32]);
   */
  pushBatch<In>(handler: Handler<In, unknown>, values: readonly In[]): number;
  pushBatch<Ins extends readonly unknown[]>(
    pairs: {
      readonly [K in keyof Ins]: readonly [handler: Handler<Ins[K], unknown>, value: Ins[K]]; // each pair has a type of its own
    },
  ): number;
  pushBatch(handlerOrPairs: unknown, values?: readonly unknown[]): number {
    if (values !== undefined || !Array.isArray(handlerOrPairs))
      return this.verbs.pushBatch(this.verbs.define(handlerOrPairs), checkArray('values', values));
    const defined: Defined[] = [];
    const its: unknown[] = [];
    for (const pair of handlerOrPairs as unknown[]) {
      if (!Array.isArray(pair)) throw wrongType(`Expected each pair to be \`[handler, value]\`, ${got(pair)}`);
      defined.push(this.verbs.define(pair[0]));
      its.push(pair[1]);
    }
    return this.verbs.pushBatch(defined, its);
  }

  /**
   * `push` within `maxPending`: false when that many are unsettled.
   * @throws TypeError for a wrong handler.
   */
  submit<In>(handler: Handler<In, unknown>, value: In): boolean;
  submit(handler: Handler<undefined, unknown>): boolean;
  submit(handler: unknown, value?: unknown): boolean {
    return this.verbs.submit(handler, value);
  }

  /**
   * `submit` for many: returns n, and exactly `values.slice(0, n)` were admitted, as one run. It stops where `maxPending` is
   * reached, and before a value that cannot be sent, which is told to `onError`.
   * @throws TypeError for a wrong handler.
   */
  submitBatch<In>(handler: Handler<In, unknown>, values: readonly In[]): number {
    return this.verbs.submitBatch(this.verbs.define(handler), checkArray('values', values));
  }

  /**
   * All of the values or, with false, none of them.
   * @throws TypeError for a wrong handler.
   */
  trySubmitBatch<In>(handler: Handler<In, unknown>, values: readonly In[]): boolean {
    return this.verbs.trySubmitBatch(this.verbs.define(handler), checkArray('values', values));
  }
}

/** Its values, read now: code of the array's own (an accessor, an iterator) may throw, and nothing is taken yet. */
export function checkArray(name: string, values: unknown): readonly unknown[] {
  if (!Array.isArray(values)) throw wrongType(`Expected \`${name}\` to be an array, ${got(values)}`);
  return [...(values as unknown[])];
}
