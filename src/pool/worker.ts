/**
 * A worker's main loop: claim, start, settle; and what to do when there is nothing to claim. Worker thread.
 *
 *   claiming --nothing--> searching (one worker spins) --> one turn of the event loop --> parked --permit--> claiming
 *   claiming --1 ms or 500 jobs--> one turn of the event loop --> claiming
 *   claiming --as many async tasks as allowed--> waiting for one of them --> claiming
 *   claiming --more unread results than allowed--> waiting until the submitter has read some --> claiming
 *   claiming --unknown handler--> gives all back, loads it --> claiming
 *   any --maxIdleMs, maxJobs, recycle, stop--> leaving
 *
 * Turns of the event loop keep promises, timers and sockets of handlers alive: in a bare loop they would wait until the queue
 * runs dry. Nothing here allocates, reads the clock or sets a timer per job, unless the handler asks for it.
 */
import { getHeapStatistics } from 'node:v8';
import { load, notify, store, waitAsync } from '#atomics';
import { assert } from '#base';
import { HOST, type Region, REGION_RECYCLE, SLOT_GUARD, SLOT_PERMIT, slotAt } from '#memory';
import { type Codec, isCrowded, nextFall } from '#payload';
import { wake } from '#ring';
import type { WorkerChannel } from './channel.ts';
import { type Claimer, claim, claimer, giveBack, NO_ENTRY, takeNext } from './claim.ts';
import { enterLibrary, leaveLibrary } from './guard.ts';
import type { Handlers } from './handlers.ts';
import { publishIdle, START_ONE, wakeFor, withdrawIdle } from './idle.ts';
import { mayStart, toLeaving, toLive } from './life.ts';
import { Runner, UNKNOWN } from './runner.ts';
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
const LOADING = 4;
const LEAVE = 5;
const CROWDED = 6;

export class WorkerLoop {
  readonly #region: Region;
  readonly #settings: WorkerSettings;
  readonly #handlers: Handlers;
  readonly #claimer: Claimer;
  readonly #runner: Runner;
  readonly #search: Search;
  /** Ends the thread in good order. */
  readonly #exit: () => void;
  readonly #at: number;
  readonly #bornInRecycle: number;

  /** What the loop waits for: nothing, or one of the reasons above, or a permit. */
  #waitsFor: 0 | typeof TURN | typeof FULL | typeof LOADING | typeof LEAVE | typeof CROWDED | 'permit' = 0;
  /** A wait for the fall of unread results is pending: there is never a second one. */
  #fallAwaited = false;
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

  constructor(region: Region, settings: WorkerSettings, handlers: Handlers, links: { channel: WorkerChannel; codec: Codec | undefined }, exit: () => void) {
    this.#region = region;
    this.#settings = settings;
    this.#handlers = handlers;
    this.#exit = exit;
    this.#at = slotAt(settings.slot);
    this.#bornInRecycle = load(region.m, REGION_RECYCLE);
    this.#claimer = claimer(region, settings.slot, settings.maxBatchSize, settings.firstSequence);
    this.#runner = new Runner(region, settings, handlers, { ...links, onSettled: this.#onSettled, onArrived: this.#onArrived });
    this.#search = new Search(region, settings);
    setInterval(() => {}, LONGEST_TIMER_MS); // ref'd: waitAsync and pending promises do not keep a thread alive
    if (settings.maxIdleMs > 0) this.#idleTimer = setTimeout(this.#onIdleTimer, Math.min(settings.maxIdleMs, LONGEST_TIMER_MS)).unref();
  }

  /** Begins to claim; no word with the host is needed. */
  start(): void {
    toLive(this.#region.m, this.#settings.slot);
    this.#onTurn();
  }

  readonly #onTurn = (): void => {
    const { maxHeapMb } = this.#settings;
    if (maxHeapMb > 0) this.#tooLarge = getHeapStatistics().used_heap_size > maxHeapMb * 1024 * 1024;
    this.#sliceStart = this.#clockWas = performance.now();
    this.#sliceJobs = 0;
    this.#clockEvery = this.#clockIn = 1;
    this.#go();
  };

  /** An async task has settled, in a microtask of any turn. */
  readonly #onSettled = (): void => {
    if (this.#waitsFor === FULL || this.#waitsFor === LEAVE) this.#go();
    else if (this.#waitsFor === 'permit' && !this.#runner.busy) this.#windIdleClock();
  };

  /** A job that waited for its value can go on, or need not be waited for. Jobs run in the loop only, so a parked worker wakes itself. */
  readonly #onArrived = (): void => {
    if (this.#waitsFor === FULL || this.#waitsFor === LEAVE || this.#waitsFor === CROWDED) this.#go();
    else if (this.#waitsFor === 'permit' && this.#runner.hasNext && withdrawIdle(this.#region.m, this.#settings.slot)) {
      store(this.#region.m, this.#at + SLOT_PERMIT, 1);
      notify(this.#region.m, this.#at + SLOT_PERMIT, 1);
    }
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
          if (!this.#runner.busy) return this.#leave();
          this.#waitsFor = LEAVE;
          return;
        case CROWDED:
          if (this.#awaitFall()) return;
          continue;
        case NOTHING:
          if (this.#search.find()) continue;
          if (!this.#turned) {
            this.#turned = true;
            return this.#turn();
          }
          if (this.#park()) return;
          continue;
        default:
          this.#waitsFor = why as typeof FULL | typeof LOADING;
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
      if (this.#runner.hasNext) {
        if (this.#sliceIsOver()) return TURN;
        this.#runner.runNext();
        this.#sliceJobs++;
        this.#clockIn--;
        continue;
      }
      if (this.#runner.full) return FULL;
      if (this.#mustLeave()) return LEAVE;
      if (this.#sliceIsOver()) return TURN;
      if (isCrowded(region.m, HOST, this.#settings.unreadMost)) return CROWDED;
      let entry = takeNext(region.m, this.#at);
      if (entry === NO_ENTRY) {
        entry = claim(this.#claimer, this.#mostToClaim());
        if (entry === NO_ENTRY) return NOTHING;
        if (this.#search.succeeded()) this.#passWakeOn();
      }
      const unknown = this.#runner.run(entry);
      if (unknown === UNKNOWN) {
        assert(giveBack(this.#claimer, entry), 'no room for a front lane'); // the host publishes again what a dead thread had announced
        this.#load(this.#runner.unknownId);
        return LOADING;
      }
      this.#sliceJobs++;
      this.#clockIn--;
    }
  }

  #mostToClaim(): number {
    const { maxJobs, maxBatchSize } = this.#settings;
    if (this.#runner.busy) return 1; // what is claimed behind a task that awaits would wait for it
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
    if (anySource(this.#region) && wakeFor(m) === START_ONE) wake(m, slotAt(HOST)); // only the host can start threads
  }

  #load(id: number): void {
    this.#passWakeOn(); // an import may take long: others run what was given back
    void this.#handlers.load(id).then(this.#onTurn);
  }

  /** True: waiting until the submitter has read results. False: it has, or there is another reason to look again. */
  #awaitFall(): boolean {
    this.#waitsFor = CROWDED;
    if (this.#fallAwaited) return true;
    const { m } = this.#region;
    const fall = nextFall(m, HOST, () => isCrowded(m, HOST, this.#settings.unreadMost) && !this.#mustLeave());
    if (fall === undefined) return false;
    this.#fallAwaited = true;
    void fall.then(() => {
      this.#fallAwaited = false;
      if (this.#waitsFor === CROWDED) this.#onTurn();
    });
    return true;
  }

  /** True: parked, or gone. False: something came meanwhile, look again. */
  #park(): boolean {
    const { maxIdleMs, slot } = this.#settings;
    const { m } = this.#region;
    if (maxIdleMs === 0 && !this.#runner.busy) {
      this.#leave();
      return true;
    }
    publishIdle(m, slot);
    if (anySource(this.#region) || this.#mustLeave()) {
      withdrawIdle(m, slot); // or a waker did: then its permit ends our next wait early, and we look again
      return false;
    }
    const wait = waitAsync(m, this.#at + SLOT_PERMIT, 0);
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
    withdrawIdle(this.#region.m, this.#settings.slot); // still ours if this wake was a late one
    this.#search.woke(performance.now() - this.#parkedAt);
    this.#turned = false;
    this.#onTurn();
  };

  /** The idle clock runs only while nothing at all is done here: parking winds it up, and the end of the last async task. */
  #windIdleClock(): void {
    if (this.#runner.busy) return;
    this.#idleSince = performance.now();
    if (this.#settings.maxIdleMs === 0) this.#onIdleTimer();
    else this.#idleTimer?.refresh();
  }

  /** Times beyond a timer's reach are waited in pieces. */
  readonly #onIdleTimer = (): void => {
    if (this.#waitsFor !== 'permit' || this.#runner.busy) return;
    if (performance.now() - this.#idleSince + 1 < this.#settings.maxIdleMs) this.#idleTimer?.refresh();
    else if (withdrawIdle(this.#region.m, this.#settings.slot)) this.#leave(); // if not, a permit is on its way
  };

  /** Leaves for good: it no longer counts as running, so it finds somebody for what is still there. */
  #leave(): void {
    this.#waitsFor = LEAVE;
    const { m } = this.#region;
    enterLibrary(m, this.#at + SLOT_GUARD);
    giveBack(this.#claimer, NO_ENTRY); // at the region's limit it stays announced: the host publishes it after our exit
    toLeaving(m, this.#settings.slot);
    this.#passWakeOn();
    leaveLibrary(m, this.#at + SLOT_GUARD);
    this.#exit();
  }
}
