/** How long a worker claims before its event loop gets a turn. Worker thread. */
import { Math, performance } from '#base';

/** A turn of the event loop comes at least this often. Longer: handlers' timers are late; shorter: turns cost more than jobs. */
const SLICE_MS = 1;
const SLICE_JOBS = 500;
/** While no more than so many ms pass between two readings of the clock, it is read half as often. */
const CLOCK_MS = 0.1;
const CLOCK_JOBS_MAX = 64;

export class Slice {
  /** In this slice. */
  jobs = 0;
  #start = 0;
  /** Jobs between two readings of the clock, jobs until the next, and when the last was. */
  #every = 1;
  #in = 1;
  #was = 0;

  begin(): void {
    this.#start = this.#was = performance.now();
    this.jobs = 0;
    this.#every = this.#in = 1;
  }

  count(): void {
    this.jobs++;
    this.#in--;
  }

  /** Reads the clock every so many jobs: rarely while they are tiny, at each while they are not. */
  isOver(): boolean {
    if (this.jobs >= SLICE_JOBS) return true;
    if (this.#in > 0) return false;
    const now = performance.now();
    this.#every = now - this.#was < CLOCK_MS ? Math.min(this.#every * 2, CLOCK_JOBS_MAX) : 1;
    this.#in = this.#every;
    this.#was = now;
    return now - this.#start >= SLICE_MS;
  }
}
