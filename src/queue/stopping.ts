/**
 * Stopping a queue, whatever its workers do. Host thread.
 *
 *   accepting -> draining --all settled--> closing -> stopped
 *                draining --deadline, or abort--> cutting -> stopped
 *
 * Cutting: nothing starts any more, what has not started is failed at once, threads are ended, and what ran on them is failed
 * after their `exit`. A thread inside an uninterruptible native call cannot be ended: it is named, and what it may write later
 * nobody reads.
 */
import { load } from '#atomics';
import type { Entry, ResolvedStopOptions } from '#base';
import { RUN_MAX, recordOf, SLOT_RUN, slotAt } from '#memory';
import { stopStarting } from '#pool';
import { type Core, stopped } from './core.ts';
import type { Thread } from './threads.ts';

/** What `stop` found and did. */
export interface StopReport {
  /** Tasks that returned, since the queue was made. */
  readonly completed: number;
  /** Tasks that failed, those cut not counted. */
  readonly failed: number;
  /** Admitted tasks that were cut: `run` rejected with `E_QUEUE_STOPPED`. */
  readonly cut: number;
  /** Threads that could not be ended, the handler each was in, and since when at least, in ms. */
  readonly stuck: readonly { readonly workerId: number; readonly handler: string; readonly sinceMs: number }[];
}

/** How long threads that are ended may take, and what each adds: 250 ms and 2 ms a worker are promised (P5), less the rest of it. */
const END_MS = 200;
const END_MS_EACH = 2;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Stopping {
  readonly report: Promise<StopReport>;
  readonly #core: Core;
  readonly #from = performance.now();
  readonly #timeoutMs: number;
  /** Called by the first reason to cut. */
  #cutNow: () => void = () => {};
  #cutAsked = false;

  constructor(core: Core, options: ResolvedStopOptions) {
    this.#core = core;
    this.#timeoutMs = options.timeoutMs ?? core.options.stopTimeoutMs;
    core.accepting = false;
    core.afterDrain(); // whoever waits for `ready()` is told
    this.report = this.#run();
    this.heed(options.signal);
  }

  /** A later call of `stop` may bring a signal too: whichever is aborted first cuts. */
  heed(signal: AbortSignal | undefined): void {
    if (signal === undefined) return;
    const cut = (): void => {
      this.#cutAsked = true;
      this.#cutNow();
    };
    if (signal.aborted) cut();
    else {
      signal.addEventListener('abort', cut, { once: true });
      const forget = (): void => signal.removeEventListener('abort', cut);
      this.report.then(forget, forget);
    }
  }

  async #run(): Promise<StopReport> {
    const core = this.#core;
    const hold = setInterval(() => {}, LONGEST_TIMER_MS); // threads do not keep the process alive, and their ends are awaited
    const drained = await this.#within(core.when(() => core.pending === 0), this.#leftMs());
    core.cutting = !drained;
    stopStarting(core.region.m);
    core.threads.close();
    if (drained) await this.#close();
    else await this.#cut();
    const stuck = [...core.threads].map((thread) => this.#describe(thread));
    core.closeInbox();
    clearInterval(hold);
    return { completed: core.completed, failed: core.failed - core.cut, cut: core.cut, stuck };
  }

  /** All is settled: workers leave by themselves, those that never got to claim are ended. */
  async #close(): Promise<void> {
    const core = this.#core;
    for (const thread of core.threads) if (!thread.ready) end(thread);
    core.wakeAll();
    await this.#within(this.#gone(), Math.min(this.#leftMs(), core.options.graceMs));
    await this.#endAll();
  }

  async #cut(): Promise<void> {
    const core = this.#core;
    core.drain(Number.POSITIVE_INFINITY);
    const error = stopped();
    core.cutQueued(error);
    await this.#endAll();
    core.cutRest(error); // what stuck threads run, if any: their promises settle now
  }

  async #endAll(): Promise<void> {
    const { threads } = this.#core;
    for (const thread of threads) end(thread);
    await this.#within(this.#gone(), END_MS + END_MS_EACH * threads.count, false);
  }

  #gone(): Promise<void> {
    return this.#core.when(() => this.#core.threads.count === 0);
  }

  #leftMs(): number {
    return Math.max(0, this.#timeoutMs - (performance.now() - this.#from));
  }

  /** Whether it came to pass in time, and before anybody asked to cut. Times beyond a timer's reach are waited in pieces. */
  async #within(event: Promise<void>, ms: number, unlessCut = true): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const given = performance.now();
    const late = new Promise<boolean>((resolve) => {
      const wait = (): void => {
        const left = ms - (performance.now() - given);
        if (left <= 0) resolve(false);
        else timer = setTimeout(wait, Math.min(Math.ceil(left), LONGEST_TIMER_MS));
      };
      if (unlessCut) this.#cutNow = () => resolve(false);
      if (unlessCut && this.#cutAsked) resolve(false);
      wait();
    });
    const came = await Promise.race([event.then(() => true), late]);
    clearTimeout(timer);
    return came;
  }

  #describe({ workerId, slot }: Thread): StopReport['stuck'][number] {
    let handler = 'unknown';
    for (let k = 0; k < RUN_MAX; k++) {
      const entry = load(this.#core.region.m, slotAt(slot) + SLOT_RUN + k) as Entry;
      if (entry !== 0) handler = this.#core.handlerNameOf(recordOf(entry));
    }
    return { workerId, handler, sinceMs: Math.round(performance.now() - this.#from) };
  }
}

function end(thread: Thread): void {
  thread.condemned = true;
  void thread.worker.terminate();
}
