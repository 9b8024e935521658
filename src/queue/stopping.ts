/**
 * Stopping a queue, whatever its workers do. Host thread.
 *
 *   accepting -> settling --all settled--> closing -> stopped
 *                settling --deadline, or abort--> cutting -> stopped
 *
 * Cutting: nothing starts any more, what has not started is failed at once, threads are ended, and what ran on them is failed
 * after their `exit`. A thread inside an uninterruptible native call cannot be ended: it is named, and what it may write later
 * nobody reads.
 */
import { Math, Number, performance, Promise, type ResolvedStopOptions } from '#base';
import { recordOf } from '#memory';
import { runningEntries, stopStarting } from '#pool';
import type { Core } from './core.ts';
import { cutShort } from './counters.ts';
import type { Thread } from './threads.ts';
import { holdProcess, waitLong } from './timers.ts';

/** What `stop` found and did. */
export interface StopReport {
  /** Tasks that returned, since the queue was made. */
  readonly completed: number;
  /** Tasks that failed, those cut not counted. */
  readonly failed: number;
  /** Admitted tasks that were cut: `run` rejected with `E_QUEUE_STOPPED`. */
  readonly cut: number;
  /** Threads that could not be ended, the handler each was in, and for how long at least, in ms, counted from the call of `stop`. */
  readonly stuck: readonly { readonly workerId: number; readonly handler: string; readonly sinceMs: number }[];
}

/** How long threads that are ended may take, and what each adds: 250 ms and 2 ms a worker are promised (P5), less the rest of it. */
const END_MS = 200;
const END_MS_EACH = 2;

export class Stopping {
  readonly report: Promise<StopReport>;
  readonly #core: Core;
  readonly #from = performance.now();
  readonly #timeoutMs: number;
  /** Called by the first reason to cut. */
  #cutNow: () => void = () => {};
  #cutAsked = false;
  #stuck: StopReport['stuck'] = [];

  constructor(core: Core, options: ResolvedStopOptions) {
    this.#core = core;
    this.#timeoutMs = options.timeoutMs ?? core.options.stopTimeoutMs;
    core.counters.accepting = false;
    core.counters.changed(); // whoever waits for `ready()` is told
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
    const letGo = holdProcess(); // threads do not keep it alive, and their ends are awaited
    const forgetSignals = waitLong(this.#timeoutMs - Math.min(core.options.graceMs, this.#timeoutMs / 2), () =>
      core.cancellation.signalAll(cutShort()),
    );
    const allSettled = await this.#within(
      core.counters.until(() => core.counters.pending === 0),
      this.#leftMs(),
    );
    core.counters.cutting = !allSettled;
    stopStarting(core.region.m);
    core.threads.close();
    if (allSettled) await this.#close();
    else await this.#cut();
    core.close();
    forgetSignals();
    letGo();
    const { completed, failed, cut } = core.counters;
    return { completed, failed: failed - cut, cut, stuck: this.#stuck };
  }

  /** All is settled: workers leave by themselves, those that never got to claim are ended. */
  async #close(): Promise<void> {
    const core = this.#core;
    for (const thread of core.threads) if (!thread.ready) core.threads.condemn(thread);
    core.wakeAll();
    await this.#within(this.#gone(), Math.min(this.#leftMs(), core.options.graceMs));
    await this.#endAll();
  }

  async #cut(): Promise<void> {
    const core = this.#core;
    core.submitter.settleCompleted(Number.POSITIVE_INFINITY);
    const error = cutShort();
    core.cutQueued(error);
    await this.#endAll();
    core.cutRest(error); // what stuck threads run, if any: their promises settle now
  }

  async #endAll(): Promise<void> {
    const { threads } = this.#core;
    for (const thread of threads) threads.condemn(thread);
    await this.#within(this.#gone(), END_MS + END_MS_EACH * threads.count, false);
    this.#stuck = [...threads].map((thread) => this.#describe(thread));
  }

  #gone(): Promise<void> {
    return this.#core.counters.until(() => this.#core.threads.count === 0);
  }

  #leftMs(): number {
    return Math.max(0, this.#timeoutMs - (performance.now() - this.#from));
  }

  /** Whether it came to pass in time, and before anybody asked to cut. */
  async #within(event: Promise<void>, ms: number, unlessCut = true): Promise<boolean> {
    let forget = (): void => {};
    const late = new Promise<boolean>((resolve) => {
      if (unlessCut) this.#cutNow = () => resolve(false);
      if (unlessCut && this.#cutAsked) resolve(false);
      forget = waitLong(ms, () => resolve(false));
    });
    const came = await Promise.race([event.then(() => true), late]);
    forget();
    return came;
  }

  #describe({ workerId, slot }: Thread): StopReport['stuck'][number] {
    const entry = runningEntries(this.#core.region, slot)[0];
    const handler = entry === undefined ? 'unknown' : this.#core.handlerNameOf(recordOf(entry));
    return { workerId, handler, sinceMs: Math.round(performance.now() - this.#from) };
  }
}
