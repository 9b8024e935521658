/**
 * A worker's main loop: claim, start, settle; and what to do when there is nothing to claim. Worker thread.
 *
 *   claiming --nothing--> searching (one worker spins) --> one turn of the event loop --> parked --permit--> claiming
 *   claiming --1 ms or 500 jobs--> one turn of the event loop --> claiming
 *   claiming --as many async tasks as allowed--> waiting for one of them --> claiming
 *   any --maxIdleMs, maxJobs, recycle, stop--> leaving
 *
 * Turns of the event loop keep promises, timers and sockets of handlers alive: in a bare loop they would wait until the queue
 * runs dry. Nothing here allocates, reads the clock or sets a timer per job, unless the handler asks for it.
 */
import { getHeapStatistics } from 'node:v8';
import { load, waitAsync } from '#atomics';
import type { Entry } from '#base';
import { batchLeft, HOST, type Region, REGION_RECYCLE, SLOT_BATCH, SLOT_GUARD, SLOT_PERMIT, slotAt } from '#memory';
import { wake } from '#ring';
import { type Claimer, claim, claimer, giveBack, NO_ENTRY, takeNext } from './claim.ts';
import { enterLibrary, leaveLibrary } from './guard.ts';
import type { Handlers } from './handlers.ts';
import { publishIdle, START_ONE, wakeFor, withdrawIdle } from './idle.ts';
import { mayStart, toLeaving, toLive } from './life.ts';
import { Runner } from './runner.ts';
import { Search } from './search.ts';
import type { WorkerSettings } from './settings.ts';
import { anySource } from './sources.ts';

/** A turn of the event loop comes at least this often. Longer: handlers' timers are late; shorter: turns cost more than jobs. */
const SLICE_MS = 1;
const SLICE_JOBS = 500;
/** While so many ms pass between two looks at the clock, it is looked at half as often. */
const CLOCK_MS = 0.1;
const CLOCK_JOBS_MAX = 64;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Why claiming ended. */
const TURN = 1;
const NOTHING = 2;
const FULL = 3;
const LEAVE = 4;

export class WorkerLoop {
  readonly #region: Region;
  readonly #settings: WorkerSettings;
  readonly #claimer: Claimer;
  readonly #runner: Runner;
  readonly #search: Search;
  /** Ends the thread in good order; or now. */
  readonly #exit: () => void;
  readonly #exitNow: (code: number) => void;
  readonly #at: number;
  readonly #bornInRecycle: number;

  /** What the loop waits for: nothing, or one of the reasons above, or a permit. */
  #waitsFor: 0 | typeof TURN | typeof FULL | typeof LEAVE | 'permit' = 0;
  #hasLeft = false;
  #turned = false;
  #sliceStart = 0;
  #sliceJobs = 0;
  /** Jobs between two looks at the clock, jobs until the next, and when the last was. */
  #clockEvery = 1;
  #clockIn = 1;
  #clockWas = 0;
  #parkedAt = 0;
  #idleSince = 0;
  #tooLarge = false;
  readonly #idleTimer: NodeJS.Timeout | undefined;

  constructor(region: Region, settings: WorkerSettings, handlers: Handlers, exit: () => void, exitNow: (code: number) => void) {
    this.#region = region;
    this.#settings = settings;
    this.#exit = exit;
    this.#exitNow = exitNow;
    this.#at = slotAt(settings.slot);
    this.#bornInRecycle = load(region.m, REGION_RECYCLE);
    this.#claimer = claimer(region, settings.slot, settings.maxBatchSize, settings.firstSequence);
    this.#runner = new Runner(region, settings, handlers, this.#onSettled);
    this.#search = new Search(region, settings);
    setInterval(() => {}, LONGEST_TIMER_MS); // ref'd: waitAsync and pending promises do not keep a thread alive
    if (settings.maxIdleMs > 0) this.#idleTimer = setTimeout(this.#onIdleTimer, Math.min(settings.maxIdleMs, LONGEST_TIMER_MS)).unref();
  }

  /** Begins to claim; no word with the host is needed. */
  start(): void {
    toLive(this.#region.m, this.#settings.slot);
    this.#onTurn();
  }

  /** @see ToWorker */
  abort(entry: Entry, reason: unknown): void {
    this.#runner.abort(entry, reason);
  }

  /** An error was thrown outside any handler's own promise: what runs may finish within `graceMs`, nothing new begins. */
  spoil(): void {
    this.#runner.spoiled = true;
    setTimeout(() => this.#exitNow(1), Math.min(this.#settings.graceMs, LONGEST_TIMER_MS));
    this.#onPermit(); // if it is parked; else it will see by itself
  }

  readonly #onTurn = (): void => {
    const { maxHeapMb } = this.#settings;
    if (maxHeapMb > 0 && this.#runner.started > 0) this.#tooLarge = getHeapStatistics().used_heap_size > maxHeapMb * 1024 * 1024;
    this.#sliceStart = this.#clockWas = performance.now();
    this.#sliceJobs = 0;
    this.#clockEvery = this.#clockIn = 1;
    this.#go();
  };

  /** An async task has settled, in a microtask of any turn. */
  readonly #onSettled = (): void => {
    if (this.#waitsFor === LEAVE) this.#leave();
    else if (this.#waitsFor === FULL) this.#go();
    else if (this.#waitsFor === 'permit' && this.#runner.inFlight === 0) this.#windIdleClock();
  };

  #go(): void {
    this.#waitsFor = 0;
    for (;;) {
      enterLibrary(this.#region.m, this.#at + SLOT_GUARD);
      const why = this.#claimAndRun();
      leaveLibrary(this.#region.m, this.#at + SLOT_GUARD);
      if (this.#sliceJobs > 0) this.#turned = false;
      switch (why) {
        case TURN:
          return this.#turn();
        case LEAVE:
          return this.#leave();
        case NOTHING:
          if (this.#search.find()) continue;
          if (!this.#turned) {
            this.#turned = true;
            return this.#turn();
          }
          if (this.#park()) return;
          continue;
        default:
          this.#waitsFor = FULL;
          return;
      }
    }
  }

  #turn(): void {
    this.#waitsFor = TURN;
    setImmediate(this.#onTurn);
  }

  /** Runs jobs until there is a reason to do something else. */
  #claimAndRun(): number {
    const region = this.#region;
    for (;;) {
      if (this.#runner.inFlight > 0 && (this.#runner.inFlight >= this.#settings.tasksPerWorker || this.#runner.isHeld())) return FULL;
      if (this.#mustLeave()) return LEAVE;
      if (this.#sliceIsOver()) return TURN;
      let entry = takeNext(region.m, this.#at);
      if (entry === NO_ENTRY) {
        entry = claim(this.#claimer, this.#mostToClaim());
        if (entry === NO_ENTRY) return NOTHING;
        if (this.#search.reliedOn()) this.#passWakeOn();
      }
      this.#runner.run(entry);
      if (this.#runner.inFlight > 0) this.#giveBackRest();
      this.#sliceJobs++;
      this.#clockIn--;
    }
  }

  #mostToClaim(): number {
    const { maxJobs, maxBatchSize } = this.#settings;
    if (this.#runner.inFlight > 0) return 1; // what is claimed behind a task that awaits would wait for it
    return maxJobs === 0 ? maxBatchSize : Math.min(maxBatchSize, maxJobs - this.#runner.started);
  }

  #mustLeave(): boolean {
    const { maxJobs } = this.#settings;
    if (maxJobs !== 0 && this.#runner.started >= maxJobs) return true;
    return this.#runner.spoiled || this.#tooLarge || !mayStart(this.#region.m) || load(this.#region.m, REGION_RECYCLE) !== this.#bornInRecycle;
  }

  /** Reads the clock every so many jobs: rarely while they are tiny, at each while they are not. */
  #sliceIsOver(): boolean {
    if (this.#sliceJobs >= SLICE_JOBS) return true;
    if (this.#clockIn > 0) return false;
    const now = performance.now();
    this.#clockEvery = now - this.#clockWas < CLOCK_MS ? Math.min(this.#clockEvery * 2, CLOCK_JOBS_MAX) : 1;
    this.#clockIn = this.#clockEvery;
    this.#clockWas = now;
    return now - this.#sliceStart >= SLICE_MS;
  }

  /** Publishers relied on us while we searched: what is left besides our job is ours to find somebody for. */
  #passWakeOn(): void {
    const { m } = this.#region;
    // edges search-1 and life-1: the look that others relied on
    if (anySource(this.#region) && wakeFor(m) === START_ONE) wake(m, slotAt(HOST)); // only the host can start threads
  }

  /** What was claimed behind a task that awaits, or whose module is being imported, must not wait for it. */
  #giveBackRest(): void {
    if (batchLeft(load(this.#region.m, this.#at + SLOT_BATCH)) === 0) return;
    this.#claimer.size = 1; // batches grow again where workers collide
    giveBack(this.#claimer); // at the region's limit the batch is kept, and runs here later
    this.#passWakeOn();
  }

  /** True: parked, or gone. False: something came meanwhile, look again. */
  #park(): boolean {
    const { maxIdleMs, slot } = this.#settings;
    const { m } = this.#region;
    if (maxIdleMs === 0 && this.#runner.inFlight === 0) {
      this.#leave();
      return true;
    }
    publishIdle(m, slot);
    // edges park-1 and stop-1: the last look
    if (anySource(this.#region) || this.#mustLeave()) {
      withdrawIdle(m, slot); // or a waker did: then its permit ends our next wait early, and we look again
      return false;
    }
    const wait = waitAsync(m, this.#at + SLOT_PERMIT, 0); // edge park-2: waiting side
    if (!wait.async) {
      withdrawIdle(m, slot);
      return false;
    }
    this.#waitsFor = 'permit';
    this.#parkedAt = performance.now();
    this.#windIdleClock();
    void wait.value.then(this.#onPermit);
    return true;
  }

  readonly #onPermit = (): void => {
    if (this.#waitsFor !== 'permit') return; // it has left, or goes on already
    withdrawIdle(this.#region.m, this.#settings.slot); // still ours if this wake was a late one
    this.#search.woke(performance.now() - this.#parkedAt);
    this.#turned = false;
    this.#onTurn();
  };

  /** The idle clock runs only while nothing at all is done here: parking winds it up, and the end of the last async task. */
  #windIdleClock(): void {
    if (this.#runner.inFlight > 0) return;
    this.#idleSince = performance.now();
    if (this.#settings.maxIdleMs === 0) this.#onIdleTimer();
    else this.#idleTimer?.refresh();
  }

  /** Times beyond a timer's reach are waited in pieces. */
  readonly #onIdleTimer = (): void => {
    if (this.#waitsFor !== 'permit' || this.#runner.inFlight > 0) return;
    if (performance.now() - this.#idleSince + 1 < this.#settings.maxIdleMs) this.#idleTimer?.refresh();
    else if (withdrawIdle(this.#region.m, this.#settings.slot)) this.#leave(); // if not, a permit is on its way
  };

  /**
   * Leaves for good, as soon as what is under way has settled. From the first call on it no longer counts as running, and finds
   * somebody for what is still there.
   */
  #leave(): void {
    this.#waitsFor = LEAVE;
    const { m } = this.#region;
    if (this.#hasLeft) {
      if (this.#runner.inFlight === 0) this.#exit();
      return;
    }
    this.#hasLeft = true;
    enterLibrary(m, this.#at + SLOT_GUARD);
    giveBack(this.#claimer); // at the region's limit it stays announced: the host publishes it after our exit
    toLeaving(m, this.#settings.slot);
    this.#passWakeOn();
    leaveLibrary(m, this.#at + SLOT_GUARD);
    if (this.#runner.inFlight === 0) this.#exit();
  }
}
