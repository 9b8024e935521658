/**
 * When the host looks at its completion stack. Host thread.
 *
 *   a job is published -> look in a microtask, for a few µs -> results: settle, look again in a microtask
 *                                                              nothing: arm, and sleep until a worker wakes us
 *
 * A warm round trip is won by the look and needs no wake at all. Looks that win follow each other in microtasks, so after
 * `SLICE_MS` of them the loop gets a turn. While work is outstanding a ref'd handle keeps the process alive: the wait on a
 * shared word does not.
 */
import { waitAsync } from '#atomics';
import { clearInterval, performance, queueMicrotask, setImmediate, setInterval, type SlotAt } from '#base';
import { HOST, type Region, SLOT_WAKE, slotAt } from '#memory';
import { ARMED, arm, disarm, hasCompleted } from '#ring';
import type { Counters } from './counters.ts';
import type { Staffing } from './staffing.ts';
import type { Submitter } from './submitter.ts';

/** The event loop gets a turn after so long. Longer: timers and I/O are late; shorter: turns cost more than results. */
const SLICE_MS = 1;
/** Results settled between two readings of the clock. */
const SETTLE_JOBS = 64;
/** Longest look. Longer: the host spins for nothing; shorter than a worker's turn-round (1 to 7 µs): round trips need wakes. */
const LONGEST_LOOK_US = 10;
const SHORTEST_LOOK_US = 1;
/** A wake that comes so soon after arming would have been saved by looking a little longer. */
const SOON_MS = 0.1;
const LOOKS = 32;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Inbox {
  readonly #region: Region;
  readonly #submitter: Submitter;
  readonly #counters: Counters;
  readonly #staffing: Staffing;
  readonly #at: SlotAt = slotAt(HOST);
  /** While it is ref'd, the process stays alive. */
  readonly #keepAlive: NodeJS.Timeout = setInterval(() => {}, LONGEST_TIMER_MS).unref();
  #keepsAlive = false;
  #closed = false;
  /** A look is queued as a microtask, or as an immediate. */
  #lookQueued = false;
  /** This turn of the loop is marked: its end resets the slice. */
  #turnMarked = false;
  #lookAfterTurn = false;
  #sliceStart = 0;
  #armed = false;
  #armedAt = 0;
  /** A wait on the wake word is pending: there is never a second one. */
  #waiting = false;
  #lookUs = LONGEST_LOOK_US;

  constructor(region: Region, submitter: Submitter, counters: Counters, staffing: Staffing) {
    this.#region = region;
    this.#submitter = submitter;
    this.#counters = counters;
    this.#staffing = staffing;
  }

  /** A job was published, and its result is on the way; or there is another reason to look. */
  expect(): void {
    if (this.#lookQueued || this.#closed) return;
    this.#lookQueued = true;
    if (!this.#keepsAlive) {
      this.#keepsAlive = true;
      this.#keepAlive.ref();
    }
    queueMicrotask(this.#look);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#keepAlive);
  }

  /** Runs in a microtask or an immediate, never inside a verb. Settles what has come, and sleeps when nothing is left to do. */
  readonly #look = (): void => {
    this.#lookQueued = false;
    if (this.#closed) return;
    if (this.#armed) this.#disarm();
    this.#markTurn();
    const some = this.#settleSlice() || this.#spin();
    this.#counters.changed(); // also if a verb has settled the results before us
    if (this.#counters.pending === 0) return;
    if (some) this.#lookAgain();
    else this.#sleep();
  };

  /** Settles results for the rest of the slice. True: there were any. */
  #settleSlice(): boolean {
    if (!hasCompleted(this.#region.m, this.#at) && !this.#submitter.settleCompleted(0)) return false;
    while (this.#submitter.settleCompleted(SETTLE_JOBS) && !this.#sliceIsOver());
    return true;
  }

  #sliceIsOver(): boolean {
    return performance.now() - this.#sliceStart >= SLICE_MS;
  }

  /** Waits a few µs for a result of a worker that is at it now. What does not pay off is soon given up. */
  #spin(): boolean {
    if (this.#lookUs < SHORTEST_LOOK_US || this.#counters.pending === 0) return false;
    const until = performance.now() + this.#lookUs / 1000;
    do {
      for (let k = 0; k < LOOKS; k++) {
        if (!hasCompleted(this.#region.m, this.#at)) continue;
        this.#lookUs = LONGEST_LOOK_US;
        return this.#settleSlice();
      }
    } while (performance.now() < until);
    this.#lookUs /= 2;
    return false;
  }

  #lookAgain(): void {
    if (this.#lookQueued) return;
    this.#lookQueued = true;
    if (this.#sliceIsOver())
      this.#lookAfterTurn = true; // the immediate that marks the turn looks
    else queueMicrotask(this.#look);
  }

  #markTurn(): void {
    if (this.#turnMarked) return;
    this.#turnMarked = true;
    this.#sliceStart = performance.now();
    setImmediate(this.#onTurn);
  }

  /** The turn of the loop in which we looked has ended: looks again if that was put off, and lets the process go if nothing is left. */
  readonly #onTurn = (): void => {
    this.#turnMarked = false;
    if (this.#lookAfterTurn) {
      this.#lookAfterTurn = false;
      this.#look();
    } else if (this.#counters.pending === 0 && this.#keepsAlive) {
      this.#keepsAlive = false;
      this.#keepAlive.unref();
    }
  };

  /** Arms, checks every reason to stay awake once more, and lets a worker wake us. */
  #sleep(): void {
    const { m } = this.#region;
    arm(m, this.#at);
    this.#armed = true;
    this.#staffing.makeUp(); // a worker that leaves or hands over asks for threads by waking us
    if (hasCompleted(m, this.#at)) return this.#lookAgain();
    this.#armedAt = performance.now();
    if (this.#waiting) return; // the wait of an earlier sleep is still there, and serves this one
    const wait = waitAsync(m, this.#at + SLOT_WAKE, ARMED);
    if (!wait.async) return this.#lookAgain();
    this.#waiting = true;
    void wait.value.then(this.#onWake);
  }

  #disarm(): void {
    this.#armed = false;
    disarm(this.#region.m, this.#at); // if a worker was first, its notify comes too, and finds nothing to do
  }

  /** A worker has settled a job while we slept, or wants a thread started. */
  readonly #onWake = (): void => {
    this.#waiting = false;
    if (this.#armed && performance.now() - this.#armedAt < SOON_MS) this.#lookUs = LONGEST_LOOK_US;
    if (!this.#lookQueued) this.#look();
  };
}
