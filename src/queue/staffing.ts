/** How many workers are awake: wakes parked ones and starts threads as jobs need them, up to the running target. Host thread. */
import type { Region } from '#memory';
import { anySource, ENOUGH, runningWorkers, runsAny, START_ONE, wakeFor } from '#pool';
import type { Counters } from './counters.ts';
import type { Threads } from './threads.ts';

export class Staffing {
  readonly #region: Region;
  readonly #target: number;
  readonly #threads: Threads;
  readonly #counters: Counters;

  constructor(region: Region, target: number, threads: Threads, counters: Counters) {
    this.#region = region;
    this.#target = target;
    this.#threads = threads;
    this.#counters = counters;
  }

  /** Wakes or starts as many workers as so many jobs need: all of a cold burst's at once. */
  staff(jobs: number): void {
    for (let k = 0; k < jobs; k++) {
      const wake = wakeFor(this.#region.m);
      if (wake === ENOUGH || (wake === START_ONE && this.#threads.start() === undefined)) return;
    }
  }

  /** Makes up for workers that left, or that a searcher could not start: jobs wait and fewer run than should. */
  makeUp(): void {
    if (!anySource(this.#region)) return;
    const running = runningWorkers(this.#region.m);
    if (running >= this.#target) return;
    let busy = 0;
    for (const { slot } of this.#threads) if (runsAny(this.#region.m, slot)) busy++;
    this.staff(this.#counters.size - (running - busy)); // those that run and have no job yet will find one by themselves
  }
}
