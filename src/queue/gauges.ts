/** What can be seen of a queue from outside: everything is derived from shared words when it is asked for. Host thread. */
import { load } from '#atomics';
import { hasBit, IDLE_BITS, REGION_TARGET, type Region } from '#memory';
import { runningEntries } from '#pool';
import type { Counters } from './counters.ts';
import type { Threads } from './threads.ts';

/** What the gauges are read from: the parts of one queue. */
export interface Gauged {
  readonly region: Region;
  readonly threads: Threads;
  readonly counters: Counters;
}

/** A moment's picture of a queue. Counts are since the queue was made. */
export interface Stats {
  /** Admitted and not started. */
  readonly queued: number;
  /** Admitted and not settled. */
  readonly pending: number;
  /** Started and not settled. */
  readonly running: number;
  readonly completed: number;
  readonly failed: number;
  /** Of the failed ones, those ended by a signal. */
  readonly aborted: number;
  readonly workers: {
    /** Threads that may claim, those being started or leaving included: never more than `concurrency`. */
    readonly live: number;
    /** Threads that are being ended. */
    readonly condemned: number;
    /** Threads that have not said yet that they are ready. */
    readonly starting: number;
    /** Workers with a running task. */
    readonly busy: number;
    /** Workers that wait for work. */
    readonly parked: number;
    /** How many should run. */
    readonly target: number;
    /** Threads started so far. */
    readonly started: number;
  };
}

export function readStats({ region, threads, counters }: Gauged): Stats {
  let [starting, busy, parked, running] = [0, 0, 0, 0];
  for (const { slot, ready, condemned } of threads) {
    const runs = runningEntries(region, slot).length;
    if (!ready) starting++;
    if (runs > 0) busy++;
    if (!condemned && hasBit(region.m, IDLE_BITS, slot)) parked++;
    running += runs;
  }
  const workers = {
    live: threads.live,
    condemned: threads.condemned,
    starting,
    busy,
    parked,
    target: load(region.m, REGION_TARGET),
    started: threads.started,
  };
  return {
    queued: counters.size,
    pending: counters.pending,
    running,
    completed: counters.completed,
    failed: counters.failed,
    aborted: counters.aborted,
    workers,
  };
}
