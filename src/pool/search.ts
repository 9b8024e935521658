/**
 * Searching: a worker that ran dry looks for work a little longer before it parks, since waking it takes longer than most
 * round trips. Worker thread.
 *
 * One worker at a time, and only while fewer run than there are processors; a spinning thread would otherwise take time from
 * one that works. It adapts: what pays off is done for longer, what does not is soon given up.
 */
import { performance } from '#base';
import type { Region } from '#memory';
import { endSearch, runningWorkers, startSearch } from './idle.ts';
import { mayStart } from './life.ts';
import type { WorkerSettings } from './settings.ts';
import { anySource } from './sources.ts';

/** Longest search, unless `spinUs` says otherwise. Longer: more CPU for nothing; shorter than a submitter's turn-round: useless. */
const LONGEST_US = 50;
/** Below this a search is given up: it would miss a job that comes at once. */
const SHORTEST_US = 5;
/**
 * A wake within so many longest searches turns searching on again. Less: two sides that sleep between messages of 60 µs never
 * find out that neither would have to; more: it is tried in vain more often.
 */
const SOON = 2;
/** Looks between two readings of the clock. */
const LOOKS = 16;

export class Search {
  readonly #region: Region;
  readonly #settings: WorkerSettings;
  readonly #longestUs: number;
  #us: number;
  #relied = false;

  constructor(region: Region, settings: WorkerSettings) {
    this.#region = region;
    this.#settings = settings;
    this.#longestUs = settings.spinUs ?? LONGEST_US;
    this.#us = this.#longestUs;
  }

  /** Spins for a while if it may. True: there was something a moment ago, also if it came as the search ended. */
  find(): boolean {
    const { m } = this.#region;
    if (this.#us < SHORTEST_US || runningWorkers(m) >= this.#settings.parallelism) return false;
    if (!startSearch(m, this.#settings.slot)) return false;
    const found = this.#look();
    endSearch(m);
    this.#us = found ? this.#longestUs : this.#us / 2;
    this.#relied = found || anySource(this.#region); // edge search-1: until its very end publishers relied on us
    return this.#relied;
  }

  #look(): boolean {
    const until = performance.now() + this.#us / 1000;
    do {
      for (let k = 0; k < LOOKS; k++) if (anySource(this.#region)) return true;
    } while (mayStart(this.#region.m) && performance.now() < until);
    return false;
  }

  /**
   * True once after a search that saw something: publishers relied on us, so nobody was woken for it. Whoever asks has claimed a
   * job, which may not be the only one, or is about to do something else first: either way it passes the wake on.
   */
  reliedOn(): boolean {
    const relied = this.#relied;
    this.#relied = false;
    return relied;
  }

  /** The worker was woken after so long, of which the wake itself took a good part: searching may pay off again. */
  woke(parkedMs: number): void {
    if (parkedMs * 1000 < this.#longestUs * SOON) this.#us = this.#longestUs;
  }
}
