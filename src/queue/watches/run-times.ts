/**
 * Run time limits: one timer that polls what runs on each worker. Host thread.
 *
 * No clock is read and no timer is set per job: a job is timed from the poll that first saw it run, so a limit is kept to within
 * one poll, and never early. Polls come eight times as often as the shortest limit asks, within bounds.
 */
import { load } from '#atomics';
import { clearInterval, type Entry, Map, Math, performance, type RecordNumber, setInterval } from '#base';
import { type Region, RUN_MAX, recordAt, recordOf, SLOT_RUN, slotAt } from '#memory';
import { isIn, STARTED } from '#ring';
import type { Job, Registry } from '../registry.ts';
import type { Thread } from '../threads.ts';

const SHORTEST_POLL_MS = 1;
const LONGEST_POLL_MS = 50;
const POLLS_A_LIMIT = 8;

interface Seen {
  entry: Entry;
  since: number;
}

export class RunTimes {
  readonly #region: Region;
  readonly #timeoutMs: number;
  readonly #registry: Registry;
  readonly #threads: Iterable<Pick<Thread, 'slot'>>;
  readonly #onOverrun: (record: RecordNumber, limitMs: number) => void;
  /** By slot and place of its run list. */
  readonly #seen = new Map<number, Seen>();
  #timer: NodeJS.Timeout | undefined;
  #pollMs = LONGEST_POLL_MS;
  /** Unsettled jobs with a limit. */
  #jobs = 0;

  /** `timeoutMs`: of jobs that do not say otherwise; 0 for no limit. */
  constructor(
    region: Region,
    timeoutMs: number,
    registry: Registry,
    threads: Iterable<Pick<Thread, 'slot'>>,
    onOverrun: (record: RecordNumber, limitMs: number) => void,
  ) {
    this.#region = region;
    this.#timeoutMs = timeoutMs;
    this.#registry = registry;
    this.#threads = threads;
    this.#onOverrun = onOverrun;
  }

  #limitOf(job: Job | undefined): number {
    return job?.watch === undefined ? this.#timeoutMs : job.watch.timeoutMs;
  }

  /** So many jobs with the options of this one were admitted. */
  add(job: Job | undefined, jobs: number): void {
    const limitMs = this.#limitOf(job);
    if (limitMs === 0) return;
    this.#jobs += jobs;
    const pollMs = Math.min(LONGEST_POLL_MS, Math.max(SHORTEST_POLL_MS, limitMs / POLLS_A_LIMIT));
    if (this.#timer !== undefined && pollMs >= this.#pollMs) return;
    this.#pollMs = Math.min(this.#pollMs, pollMs);
    clearInterval(this.#timer);
    this.#timer = setInterval(this.#poll, this.#pollMs).unref();
  }

  /** The job is released. */
  remove(job: Job | undefined): void {
    if (this.#limitOf(job) > 0 && --this.#jobs === 0) this.close();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#pollMs = LONGEST_POLL_MS;
    this.#seen.clear();
  }

  readonly #poll = (): void => {
    const now = performance.now();
    for (const { slot } of this.#threads) {
      for (let place = 0; place < RUN_MAX; place++) {
        const entry = load(this.#region.m, slotAt(slot) + SLOT_RUN + place) as Entry;
        if (entry !== 0) this.#time(slot * RUN_MAX + place, entry, now);
      }
    }
  };

  #time(key: number, entry: Entry, now: number): void {
    const seen = this.#seen.get(key);
    if (seen === undefined || seen.entry !== entry) {
      this.#seen.set(key, { entry, since: now });
      return;
    }
    const at = recordAt(this.#region, recordOf(entry));
    if (!isIn(this.#region.m, at, entry, STARTED)) return; // handed over, and not yet off the list; or given up
    const job = this.#registry.jobOf(recordOf(entry));
    const limitMs = this.#limitOf(job);
    if (limitMs > 0 && now - seen.since >= limitMs) {
      seen.since = now; // once
      if (!job?.abandoned) this.#onOverrun(recordOf(entry), limitMs);
    }
  }
}
