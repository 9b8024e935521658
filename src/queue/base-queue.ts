/** What `TaskQueue` and `Task` have in common: options, gauges, waiting and stopping. Host thread. */
import { EventEmitter } from 'node:events';
import {
  got,
  Number,
  outOfRange,
  Promise,
  type QueueOptions,
  readQueueOptions,
  readStopOptions,
  readWarmOptions,
  type StopOptions,
  type WarmOptions,
  wrongType,
} from '#base';
import { Core, type Internals } from './core.ts';
import type { Admission } from './admission.ts';
import type { QueueEmitter } from './reports.ts';
import { readStats, type Stats } from './gauges.ts';
import { Stopping, type StopReport } from './stopping.ts';
import { warm } from './warming.ts';

/** Key of an option that only tests use. */
export const INTERNALS: unique symbol = Symbol.for('railhead.internals') as never;

/** The same class, with the types of our events. */
const Emitter: new () => QueueEmitter = EventEmitter;

export abstract class BaseQueue extends Emitter implements AsyncDisposable {
  readonly #core: Core;
  #stopping: Stopping | undefined;

  /** @internal */
  protected constructor(options: number | QueueOptions | undefined) {
    super();
    const internals = typeof options === 'object' && options !== null ? (options as { [INTERNALS]?: Internals })[INTERNALS] : undefined;
    this.#core = new Core(this, readQueueOptions(options), internals);
  }

  /** @internal */
  protected get verbs(): Admission {
    return this.#core.admission;
  }

  /** Tasks admitted and not started, those claimed in a batch included. */
  get size(): number {
    return this.#core.counters.size;
  }

  /** Tasks admitted and not settled. */
  get pending(): number {
    return this.#core.counters.pending;
  }

  /** True while more than `backlogMax` tasks wait. It falls, and `drain` fires, at half of it. */
  get needsDrain(): boolean {
    return this.#core.counters.needsDrain;
  }

  /** A moment's picture of the queue. Costs a few µs. */
  stats(): Stats {
    return readStats(this.#core);
  }

  /**
   * Resolves when the queue has room: `needsDrain` is false and `maxPending` not reached; at once if that holds now.
   * @throws RailheadError `E_QUEUE_STOPPED` once the queue is stopped.
   */
  ready(): Promise<void> {
    return this.#core.counters.until(() => this.#core.counters.isReady());
  }

  /** Resolves when all admitted work has settled; at once if it has. */
  idle(): Promise<void> {
    return this.#core.counters.until(() => this.#core.counters.pending === 0);
  }

  /**
   * Starts threads until `workers` of them are ready, with the handlers known so far loaded; resolves when they are.
   * @throws RangeError (`ERR_OUT_OF_RANGE`) for more than `concurrency`.
   * @throws RailheadError `E_QUEUE_STOPPED` if the queue is stopped meanwhile, `E_TASK_TIMEOUT` after `timeoutMs`, or `ABORT_ERR` when `signal` is aborted.
   * @example
   * await queue.warm(2, { timeoutMs: 5_000 });
   */
  async warm(workers: number, options?: WarmOptions): Promise<void> {
    const { concurrency } = this.#core.options;
    const rule = `Expected \`workers\` to be an integer from 0 to ${concurrency}`;
    if (typeof workers !== 'number') throw wrongType(`${rule}, ${got(workers)}`);
    if (!Number.isInteger(workers) || workers < 0 || workers > concurrency) throw outOfRange(`${rule}, ${got(workers)}`);
    await warm(this.#core, workers, readWarmOptions(options));
  }

  /** Every worker retires after its present task; new ones are started as work needs them. */
  recycle(): void {
    this.#core.recycle();
  }

  /**
   * Admits no more work, lets what was admitted settle, and ends all threads.
   *
   * What has not settled after `timeoutMs` (or when `signal` is aborted) is cut: its promises reject with `E_QUEUE_STOPPED` and
   * its threads are ended. Returns within `timeoutMs` plus 250 ms and 2 ms a worker, whatever handlers do. Every call returns
   * the same promise; a later call may bring a signal too.
   * @throws TypeError or RangeError for wrong options; the queue goes on then.
   * @example
   * const { completed, cut } = await queue.stop({ timeoutMs: 5_000 });
   */
  stop(options?: StopOptions): Promise<StopReport> {
    try {
      const read = readStopOptions(options);
      if (this.#stopping === undefined) this.#stopping = new Stopping(this.#core, read);
      else this.#stopping.heed(read.signal);
      return this.#stopping.report;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** `stop()` with the options of the queue, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
