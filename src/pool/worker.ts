/**
 * A worker's main loop: claim, start, settle; and what to do when there is nothing to claim. Worker thread.
 *
 *   claiming --nothing--> searching (one worker spins) --> one turn of the event loop --> parked --permit--> claiming
 *   claiming --1 ms or 500 jobs--> one turn of the event loop --> claiming
 *   claiming --as many async tasks as allowed--> waiting for one of them --> claiming
 *   claiming --back-pressure: more unread results than allowed--> waiting until the submitter has read some --> claiming
 *   any --maxIdleMs, maxJobs, recycle, stop--> leaving
 *
 * Turns of the event loop keep promises, timers and sockets of handlers alive: in a bare loop they would wait until the queue
 * runs dry. Nothing here allocates, reads the clock or sets a timer per job, unless the handler asks for it.
 */
import { getHeapStatistics } from 'node:v8';
import { load, notify, store, waitAsync } from '#atomics';
import { fromWire, Math, performance, setImmediate, setInterval, setTimeout, type SlotAt, whenDone } from '#base';
import { batchLeft, HOST, type Region, REGION_RECYCLE, SLOT_BATCH, SLOT_GUARD, SLOT_PERMIT, slotAt } from '#memory';
import { type Codec, isUnreadFull, nextFall } from '#payload';
import type { Receivers, ToWorker, WorkerChannel } from './channel.ts';
import { type Claimer, claim, claimer, giveBack, NO_ENTRY, takeNext } from './claim.ts';
import { enterLibrary, LIBRARY, leaveLibrary } from './guard.ts';
import type { Handlers } from './handlers.ts';
import { passWakeOn, publishIdle, withdrawIdle } from './idle.ts';
import { isLive, mayStart, toLeaving, toLive } from './life.ts';
import { Runner } from './runner.ts';
import { Search } from './search.ts';
import type { WorkerSettings } from './settings.ts';
import { Slice } from './slice.ts';
import { anySource } from './sources.ts';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Why claiming ended. */
const TURN = 1;
const NOTHING = 2;
const FULL = 3;
const LEAVE = 4;
const BACK_PRESSURE = 5;

/** What a worker is given besides shared memory. */
export interface WorkerLinks {
  readonly channel: WorkerChannel;
  readonly codec: Codec | undefined;
  /** Ends the thread in good order; or now. */
  exit(): void;
  exitNow(code: number): void;
  /** Ends it after an error of the library's own: what is held here is as if the thread had died. */
  broken(error: unknown): void;
}

export class WorkerLoop {
  readonly #region: Region;
  readonly #settings: WorkerSettings;
  readonly #claimer: Claimer;
  readonly #runner: Runner;
  readonly #search: Search;
  readonly #links: WorkerLinks;
  readonly #at: SlotAt;
  readonly #bornInRecycle: number;

  /** What the loop waits for: nothing, or one of the reasons above, or a permit. */
  #waitsFor: 0 | typeof TURN | typeof FULL | typeof LEAVE | typeof BACK_PRESSURE | 'permit' = 0;
  /** A wait for the fall of unread results is pending: there is never a second one. */
  #fallAwaited = false;
  #hasLeft = false;
  #turned = false;
  readonly #slice = new Slice();
  #parkedAt = 0;
  #idleSince = 0;
  #tooLarge = false;
  readonly #idleTimer: NodeJS.Timeout | undefined;

  constructor(region: Region, settings: WorkerSettings, handlers: Handlers, links: WorkerLinks) {
    this.#region = region;
    this.#settings = settings;
    this.#links = links;
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

  /** What the host says about jobs. */
  receivers(): Pick<Receivers<ToWorker>, 'argument' | 'late' | 'abort'> {
    return { ...this.#runner.receivers(), abort: ({ entry, reason }) => this.#runner.abort(entry, fromWire(reason)) };
  }

  /** Nothing new begins here: the thread is to be replaced. */
  get mustEnd(): boolean {
    return this.#runner.mustEnd;
  }

  /** An error was thrown outside any handler's own promise: what runs may finish within `graceMs`, nothing new begins. */
  endAfterError(): void {
    this.#runner.mustEnd = true;
    setTimeout(() => this.#links.exitNow(1), Math.min(this.#settings.graceMs, LONGEST_TIMER_MS));
    if (this.#waitsFor === BACK_PRESSURE) this.#go();
    else this.#onPermit(); // if it is parked; else it will see by itself
  }

  /** What the event loop calls: library code, so an error in it is the thread's end. */
  #ours(work: () => void): () => void {
    return () => {
      try {
        work();
      } catch (error) {
        this.#links.broken(error);
      }
    };
  }

  /** A turn of the event loop has come, or what parked or waited may go on: a new slice of claiming begins. */
  readonly #onTurn: () => void = this.#ours(() => {
    const { maxHeapMb } = this.#settings;
    if (maxHeapMb > 0 && this.#runner.started > 0) this.#tooLarge = getHeapStatistics().used_heap_size > maxHeapMb * 1024 * 1024;
    this.#slice.begin();
    this.#go();
  });

  /**
   * A job that was under way has settled, in a microtask of any turn. Claims if that is what the loop waits for; if the worker is parked
   * and now wholly idle, only its idle clock starts anew.
   */
  readonly #onSettled: () => void = this.#ours(() => {
    if (this.#waitsFor === FULL || this.#waitsFor === LEAVE) this.#go();
    else if (this.#waitsFor === 'permit' && !this.#runner.busy) this.#windIdleClock();
  });

  /**
   * A value that a job waits for has come, or is waited for no longer. Goes on if the loop waits; but a parked worker only gives itself
   * the permit, so that it wakes as after any other wake, unless a waker was first.
   */
  readonly #onArrived: () => void = this.#ours(() => {
    if (this.#waitsFor === FULL || this.#waitsFor === LEAVE || this.#waitsFor === BACK_PRESSURE) this.#go();
    else if (this.#waitsFor === 'permit' && this.#runner.hasNext && withdrawIdle(this.#region.m, this.#settings.slot)) {
      store(this.#region.m, this.#at + SLOT_PERMIT, 1);
      notify(this.#region.m, this.#at + SLOT_PERMIT, 1);
    }
  });

  /** The loop. Comes and goes OPEN; ends by setting what it waits for, and from then on one of the callbacks above continues it. */
  #go(): void {
    this.#waitsFor = 0;
    for (;;) {
      enterLibrary(this.#region.m, this.#at + SLOT_GUARD);
      const why = this.#claimAndRun();
      if (this.#search.reliedOn()) passWakeOn(this.#region); // edge search-1: what the search has seen we do not claim now
      leaveLibrary(this.#region.m, this.#at + SLOT_GUARD);
      if (this.#slice.jobs > 0) this.#turned = false;
      switch (why) {
        case TURN:
          return this.#turn();
        case LEAVE:
          return this.#leave();
        case BACK_PRESSURE:
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
          this.#waitsFor = FULL;
          return;
      }
    }
  }

  #turn(): void {
    this.#waitsFor = TURN;
    setImmediate(this.#onTurn);
  }

  /** LIBRARY throughout, but while a job runs. Runs jobs until there is a reason to do something else, and returns which. */
  #claimAndRun(): number {
    const region = this.#region;
    const runner = this.#runner;
    for (;;) {
      if (runner.busy) {
        const { hasNext } = runner;
        if (!hasNext && runner.full) return FULL;
        if (runner.hasAbandoned()) {
          passWakeOn(region); // others may have relied on us, and we take nothing new
          return FULL;
        }
        if (hasNext) {
          if (this.#slice.isOver()) return TURN;
          runner.runNext();
          this.#slice.count();
          continue;
        }
      }
      if (this.#hasLeft || this.#mustLeave()) return LEAVE;
      if (this.#slice.isOver()) return TURN;
      if (isUnreadFull(region.m, HOST, this.#settings.unreadMost)) return BACK_PRESSURE;
      let entry = takeNext(region.m, this.#at);
      if (entry === NO_ENTRY) {
        entry = claim(this.#claimer, this.#mostToClaim());
        if (entry === NO_ENTRY) return NOTHING;
        if (this.#search.reliedOn()) passWakeOn(region);
      }
      runner.run(entry);
      if (runner.busy) this.#giveBackRest();
      this.#slice.count();
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
    return (
      this.#runner.mustEnd || this.#tooLarge || !mayStart(this.#region.m) || load(this.#region.m, REGION_RECYCLE) !== this.#bornInRecycle
    );
  }

  /** What was claimed behind a task that awaits, or waits for its module or its value, must not wait for it. */
  #giveBackRest(): void {
    if (batchLeft(load(this.#region.m, this.#at + SLOT_BATCH)) === 0) return;
    this.#claimer.size = 1; // batches grow again where workers collide
    giveBack(this.#claimer); // at the region's limit the batch is kept, and runs here later
    passWakeOn(this.#region);
  }

  /** True: waiting until the submitter has read results. False: it has, or there is another reason to look again. */
  #awaitFall(): boolean {
    this.#waitsFor = BACK_PRESSURE;
    if (this.#fallAwaited) return true;
    const { m } = this.#region;
    const fall = nextFall(m, HOST, () => isUnreadFull(m, HOST, this.#settings.unreadMost) && !this.#mustLeave());
    if (fall === undefined) return false;
    this.#fallAwaited = true;
    void whenDone(fall, () => {
      this.#fallAwaited = false;
      if (this.#waitsFor === BACK_PRESSURE) this.#onTurn();
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
    void whenDone(wait.value, this.#onPermit);
    return true;
  }

  /** The wait for the permit has ended: woken, or by the worker itself. Does nothing unless the loop is parked. */
  readonly #onPermit: () => void = this.#ours(() => {
    if (this.#waitsFor !== 'permit') return; // it has left, or goes on already
    withdrawIdle(this.#region.m, this.#settings.slot); // still ours if this wake was a late one
    this.#search.woke(performance.now() - this.#parkedAt);
    this.#turned = false;
    this.#onTurn();
  });

  /** The idle clock runs only while nothing at all is done here: parking winds it up, and the end of the last async task. */
  #windIdleClock(): void {
    if (this.#runner.busy) return;
    this.#idleSince = performance.now();
    if (this.#settings.maxIdleMs === 0) this.#onIdleTimer();
    else this.#idleTimer?.refresh();
  }

  /** `maxIdleMs` may be over: leaves if it is. Times beyond a timer's reach are waited in pieces. */
  readonly #onIdleTimer: () => void = this.#ours(() => {
    if (this.#waitsFor !== 'permit' || this.#runner.busy) return;
    if (performance.now() - this.#idleSince + 1 < this.#settings.maxIdleMs) this.#idleTimer?.refresh();
    else if (withdrawIdle(this.#region.m, this.#settings.slot)) this.#leave(); // if not, a permit is on its way
  });

  /** Leaves for good, as soon as what is under way has settled. */
  #leave(): void {
    this.#waitsFor = LEAVE;
    this.#retire();
    if (!this.#runner.busy) this.#links.exit();
  }

  /** From here it no longer counts as running, nobody wakes it, and it has found somebody for what is still there. */
  #retire(): void {
    const { m } = this.#region;
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    enterLibrary(m, this.#at + SLOT_GUARD);
    giveBack(this.#claimer); // at the region's limit it stays announced: the host publishes it after our exit
    toLeaving(m, this.#settings.slot);
    passWakeOn(this.#region);
    leaveLibrary(m, this.#at + SLOT_GUARD);
  }

  /**
   * The thread is in its `exit` event, perhaps by a `process.exit` of a handler or of a timer while it was parked. The host mends
   * all the rest; but it may be busy for long, and jobs must not wait for that.
   */
  onExit(): void {
    const { m } = this.#region;
    if (!isLive(m, this.#settings.slot) || load(m, this.#at + SLOT_GUARD) === LIBRARY) return; // not claiming yet; or it ends in the midst of a change
    this.#retire();
  }
}
