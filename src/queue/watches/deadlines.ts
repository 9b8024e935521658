/**
 * Deadlines of unsettled jobs: one timer and a hashed wheel (Varghese and Lauck, 1987), so that adding and removing cost the
 * same whatever waits. Host thread.
 *
 * A job lies in the place its due time hashes to; each tick checks the places that have come up, and leaves there what is due
 * in a later round. A deadline fires at most one tick late, and never early.
 */
import { Array, Map, Math, Set, clearInterval, performance, setInterval } from '#base';
import type { Job } from '../registry.ts';

/** Smaller: more ticks for nothing; larger: deadlines fire later. */
const TICK_MS = 8;
/** Places: a round takes two seconds. Fewer: more jobs are checked before their time. */
const PLACES = 256;

export class Deadlines {
  readonly #onDue: (job: Job) => void;
  readonly #places: Set<Job>[] = Array.from({ length: PLACES }, () => new Set());
  readonly #placeOf = new Map<Job, Set<Job>>();
  #timer: NodeJS.Timeout | undefined;
  /** The last tick whose place was checked. */
  #tick = 0;

  constructor(onDue: (job: Job) => void) {
    this.#onDue = onDue;
  }

  add(dueAt: number, job: Job): void {
    if (this.#placeOf.size === 0) {
      this.#tick = Math.floor(performance.now() / TICK_MS) - 1;
      this.#timer = setInterval(this.#onTick, TICK_MS).unref();
    }
    const tick = Math.max(Math.ceil(dueAt / TICK_MS), this.#tick + 1); // due already, if reading the value took so long
    const place = this.#places[tick % PLACES] as Set<Job>;
    place.add(job);
    this.#placeOf.set(job, place);
  }

  remove(job: Job): void {
    this.#placeOf.get(job)?.delete(job);
    if (this.#placeOf.delete(job) && this.#placeOf.size === 0) clearInterval(this.#timer);
  }

  readonly #onTick = (): void => {
    const now = performance.now();
    const last = Math.floor(now / TICK_MS);
    const from = Math.max(this.#tick + 1, last - PLACES + 1); // after a long block of the loop: each place once
    this.#tick = last;
    for (let tick = from; tick <= last; tick++) {
      for (const job of this.#places[tick % PLACES] as Set<Job>) if (job.watch !== undefined && job.watch.dueAt <= now) this.#onDue(job);
    }
  };
}
