/** A handler's second argument: its handle on the run. Worker thread; made only for handlers that can see it. */
import { load, peek } from '#atomics';
import { AbortController, type Entry } from '#base';
import { attemptOf, type Region, REGION_PHASE, recordAt, recordOf, RECORD_META } from '#memory';
import { ABANDONED, isIn } from '#ring';
import { RUNNING } from './life.ts';

/** One run of a task, as its handler sees it. After the task has settled it does nothing. */
export class TaskHandle {
  /** Number of the worker thread, from 1; no two threads of a queue ever have the same. */
  readonly workerId: number;
  /** Which run of this task it is, from 1: more than 1 only with `onCrash: { retry }`. */
  readonly attempt: number;
  readonly #region: Region;
  readonly #entry: Entry;
  #controller: AbortController | undefined;
  #aborted = false;
  /** Why, once the host has said so. */
  #reason: { readonly is: unknown } | undefined;
  #settled = false;

  /** @internal */
  constructor(region: Region, entry: Entry, workerId: number) {
    this.#region = region;
    this.#entry = entry;
    this.workerId = workerId;
    const at = recordAt(region, recordOf(entry));
    this.attempt = attemptOf(peek(region.m, at + RECORD_META)) + 1;
  }

  /**
   * Whether the caller has given up on this run: aborted, timed out, or the queue ends. True at once, also in code that never
   * yields: it reads shared memory.
   */
  get aborted(): boolean {
    if (!this.#aborted && !this.#settled) {
      const at = recordAt(this.#region, recordOf(this.#entry));
      this.#aborted = isIn(this.#region.m, at, this.#entry, ABANDONED) || load(this.#region.m, REGION_PHASE) !== RUNNING;
    }
    return this.#aborted;
  }

  /** The same as a real AbortSignal, made when it is first asked for. Its event fires at turns of the event loop. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason.is); // else it fires when the reason comes
    }
    return this.#controller.signal;
  }

  /** @internal */
  abort(reason: unknown): void {
    if (this.#settled) return;
    this.#aborted = true;
    this.#reason = { is: reason };
    this.#controller?.abort(reason);
  }

  /** @internal */
  settle(): void {
    this.#settled = true;
  }
}
