/**
 * A worker without its event loop: the functions of `src/pool` that its loop is made of, in the loop's order. Each function here
 * names the one it mirrors; when that one changes, this must. Threads of the model.
 *
 * Left out: the clock and slices (`#sliceIsOver`), imports (an async task, as far as the others can tell), the heap's limit. A
 * `TURN` of the event loop is one point more where others can run, and every operation is one already.
 */
import { load, peek, poke, store, waitAsync } from '#atomics';
import {
  batchLeft,
  metaFor,
  RECORD_HANDLER,
  RECORD_META,
  REGION_RECYCLE,
  recordAt,
  recordOf,
  SLOT_BATCH,
  SLOT_GUARD,
  SLOT_PERMIT,
  SLOT_RUN,
  slotAt,
  submitterOf,
} from '#memory';
import * as pool from '#pool';
import { ABANDONED, complete, isIn, QUEUED, toSettled, toStarted } from '#ring';
import { noteStart } from './shared.js';

const { NO_ENTRY } = pool;

/**
 * What the loop keeps for itself. `maxBatch` jobs are claimed together if it is not 1. The tasks of the records in `awaits` are async;
 * the module of the task in `fails` fails to load.
 */
export function worker(region, slot, { maxBatch = 1, maxJobs = 0, guarded = false, awaits = [], tasksPerWorker = 2, fails = 0 } = {}) {
  const claimer = pool.claimer(region, slot, maxBatch, 0);
  claimer.size = maxBatch;
  const counts = { recycle: 0, started: 0, ran: [], read: [], metas: [], relied: false, inFlight: [] };
  return { region, slot, at: slotAt(slot), claimer, maxBatch, maxJobs, guarded, awaits, tasksPerWorker, fails, ...counts };
}

/** `Runner.run` up to the handler; `place` of the run list. False: the entry is void. */
export function begin(w, entry, place = 0) {
  const { m } = w.region;
  const at = recordAt(w.region, recordOf(entry));
  if (!isIn(m, at, entry, QUEUED)) return false;
  store(m, w.at + SLOT_RUN + place, entry);
  if (!toStarted(m, at, entry)) {
    store(m, w.at + SLOT_RUN + place, 0);
    return false;
  }
  w.started++;
  noteStart(w.region, at);
  w.read.push(peek(m, at + RECORD_HANDLER)); // what the submitter wrote: the argument, for the model
  w.metas.push(peek(m, at + RECORD_META));
  return true;
}

/** `Runner.run`: one task from start to hand-over, or the begin of an async one. */
export function run(w, entry) {
  const record = recordOf(entry);
  const place = w.inFlight.length; // the model's tasks settle in the opposite order
  if (!begin(w, entry, place)) return;
  if (w.guarded) pool.leaveLibrary(w.region.m, w.at + SLOT_GUARD);
  if (!w.awaits.includes(record)) w.ran.push(record); // the handler
  if (w.guarded) pool.enterLibrary(w.region.m, w.at + SLOT_GUARD);
  if (w.awaits.includes(record)) w.inFlight.push(entry);
  else handOver(w, entry, place);
}

/** `Runner.#handOver`; the result is the word META. */
export function handOver(w, entry, place = 0) {
  const { m } = w.region;
  const at = recordAt(w.region, recordOf(entry));
  const submitter = submitterOf(peek(m, at + RECORD_META));
  poke(m, at + RECORD_META, metaFor(submitter, 0, 1));
  if (toSettled(m, at)) complete(w.region, slotAt(submitter), recordOf(entry), at);
  store(m, w.at + SLOT_RUN + place, 0);
}

/** `Runner.#await`: the youngest of the async tasks is done. */
export function settleOne(w) {
  const entry = w.inFlight.pop();
  w.ran.push(recordOf(entry));
  if (w.guarded) pool.enterLibrary(w.region.m, w.at + SLOT_GUARD);
  handOver(w, entry, w.inFlight.length);
  if (w.guarded) pool.leaveLibrary(w.region.m, w.at + SLOT_GUARD);
}

/** `Runner.hasAbandoned`. */
function hasAbandoned(w) {
  for (const entry of w.inFlight) if (isIn(w.region.m, recordAt(w.region, recordOf(entry)), entry, ABANDONED)) return true;
  return false;
}

/** `WorkerLoop.#mustLeave`. */
export function mustLeave(w) {
  if (w.maxJobs !== 0 && w.started >= w.maxJobs) return true;
  if (w.fails !== 0 && w.ran.includes(w.fails)) return true;
  return !pool.mayStart(w.region.m) || load(w.region.m, REGION_RECYCLE) !== w.recycle;
}

export const LEAVE = 'leave';
export const NOTHING = 'nothing';
export const TURN = 'turn';
export const FULL = 'full';

/** `WorkerLoop.#claimAndRun`, for at most `most` jobs. */
export function claimAndRun(w, most = Number.POSITIVE_INFINITY) {
  for (let k = 0; k < most; k++) {
    if (w.inFlight.length > 0 && w.inFlight.length >= w.tasksPerWorker) return FULL;
    if (w.inFlight.length > 0 && hasAbandoned(w)) {
      pool.passWakeOn(w.region);
      return FULL;
    }
    if (mustLeave(w)) return LEAVE;
    let entry = pool.takeNext(w.region.m, w.at);
    if (entry === NO_ENTRY) {
      entry = pool.claim(w.claimer, mostToClaim(w));
      if (entry === NO_ENTRY) return NOTHING;
      if (w.relied) pool.passWakeOn(w.region);
      w.relied = false;
    }
    run(w, entry);
    if (w.inFlight.length > 0) giveBackRest(w);
  }
  return TURN;
}

/** `WorkerLoop.#mostToClaim`. */
function mostToClaim(w) {
  if (w.inFlight.length > 0) return 1;
  return w.maxJobs === 0 ? w.maxBatch : Math.min(w.maxBatch, w.maxJobs - w.started);
}

/** `WorkerLoop.#giveBackRest`. */
export function giveBackRest(w) {
  if (batchLeft(load(w.region.m, w.at + SLOT_BATCH)) === 0) return;
  w.claimer.size = 1;
  pool.giveBack(w.claimer);
  pool.passWakeOn(w.region);
}

/** `WorkerLoop.#go` after `#claimAndRun`, which claimed nothing: its slice is over, or it may take nothing more. */
export function turnAway(w) {
  if (w.relied) pool.passWakeOn(w.region);
  w.relied = false;
}

/** `Search.find` with `looks` looks. */
export function find(w, looks) {
  if (!pool.startSearch(w.region.m, w.slot)) return false;
  let found = false;
  for (let k = 0; k < looks && !found; k++) found = pool.anySource(w.region);
  pool.endSearch(w.region.m);
  w.relied = found || pool.anySource(w.region);
  return w.relied;
}

/** Nobody has claimed the wake-up of the sleeper that gave up. */
export const RETIRED = 'retired';
/** There was something: look again. */
export const AWAKE = 'awake';

/** `WorkerLoop.#park` and `#onPermit`; a time-out of the wait stands for `#onIdleTimer`. */
export async function park(w) {
  const { m } = w.region;
  pool.publishIdle(m, w.slot);
  if (pool.anySource(w.region) || mustLeave(w)) {
    pool.withdrawIdle(m, w.slot);
    return AWAKE;
  }
  return sleep(w);
}

/** The part of `#park` from its wait on: the worker is published as idle, and has looked again. */
export async function sleep(w) {
  const { m } = w.region;
  for (;;) {
    const wait = waitAsync(m, w.at + SLOT_PERMIT, 0);
    const how = wait.async ? await wait.value : wait.value;
    if (how !== 'timed-out') {
      pool.withdrawIdle(m, w.slot);
      return AWAKE;
    }
    if (pool.withdrawIdle(m, w.slot)) return RETIRED;
  }
}

/** `WorkerLoop.#leave`, the first time. Its async tasks settle afterwards, and then it exits. */
export function leave(w) {
  pool.giveBack(w.claimer);
  pool.toLeaving(w.region.m, w.slot);
  pool.passWakeOn(w.region);
}

/** `WorkerLoop.#go`: until it leaves. Returns the records it ran. With `looks` it searches before it parks. */
export async function workUntilLeaving(w, looks = 0) {
  for (;;) {
    const why = claimAndRun(w);
    if (why === LEAVE) break;
    if (looks > 0 && find(w, looks)) continue;
    if ((await park(w)) === RETIRED) break;
  }
  leave(w);
  return w.ran;
}
