/**
 * A worker without its event loop: the functions of `src/pool` that its loop is made of, in the loop's order. Each function here
 * names the one it mirrors; when that one changes, this must. Threads of the model.
 *
 * Left out: the clock and slices (`#sliceIsOver`), handlers that load (`UNKNOWN`), async tasks, the heap's limit. A `TURN` of the
 * event loop is one point more where others can run, and every operation is one already.
 */
import { load, peek, poke, store, waitAsync } from '#atomics';
import {
  HOST,
  metaFor,
  RECORD_META,
  REGION_RECYCLE,
  recordAt,
  recordOf,
  SLOT_GUARD,
  SLOT_PERMIT,
  SLOT_RUN,
  slotAt,
  submitterOf,
} from '#memory';
import * as pool from '#pool';
import { complete, isIn, QUEUED, toSettled, toStarted, wake } from '#ring';
import { noteStart } from './shared.js';

const { NO_ENTRY } = pool;

/** What the loop keeps for itself. `maxBatch` jobs are claimed together if it is not 1. */
export function worker(region, slot, { maxBatch = 1, maxJobs = 0, guarded = false } = {}) {
  const claimer = pool.claimer(region, slot, maxBatch, 0);
  claimer.size = maxBatch;
  return { region, slot, at: slotAt(slot), claimer, maxBatch, maxJobs, guarded, recycle: 0, started: 0, ran: [], found: false };
}

/** `Runner.run`, one task at a time: its place in the run list is the first. */
export function run(w, entry) {
  const { m } = w.region;
  const record = recordOf(entry);
  const at = recordAt(w.region, record);
  if (!isIn(m, at, entry, QUEUED)) return;
  store(m, w.at + SLOT_RUN, entry);
  if (!toStarted(m, at, entry)) {
    store(m, w.at + SLOT_RUN, 0);
    return;
  }
  w.started++;
  noteStart(w.region, at);
  if (w.guarded) pool.leaveLibrary(m, w.at + SLOT_GUARD);
  w.ran.push(record); // the handler
  if (w.guarded) pool.enterLibrary(m, w.at + SLOT_GUARD);
  handOver(w, record, at);
}

/** `Runner.#handOver`; the result is the word META. */
function handOver(w, record, at) {
  const { m } = w.region;
  const submitter = submitterOf(peek(m, at + RECORD_META));
  poke(m, at + RECORD_META, metaFor(submitter, 0, 1));
  if (toSettled(m, at)) complete(w.region, slotAt(submitter), record, at);
  store(m, w.at + SLOT_RUN, 0);
}

/** `WorkerLoop.#mustLeave`. */
export function mustLeave(w) {
  if (w.maxJobs !== 0 && w.started >= w.maxJobs) return true;
  return !pool.mayStart(w.region.m) || load(w.region.m, REGION_RECYCLE) !== w.recycle;
}

export const LEAVE = 'leave';
export const NOTHING = 'nothing';
export const TURN = 'turn';

/** `WorkerLoop.#claimAndRun`, for at most `most` jobs. */
export function claimAndRun(w, most = Number.POSITIVE_INFINITY) {
  for (let k = 0; k < most; k++) {
    if (mustLeave(w)) return LEAVE;
    let entry = pool.takeNext(w.region.m, w.at);
    if (entry === NO_ENTRY) {
      entry = pool.claim(w.claimer, w.maxJobs === 0 ? w.maxBatch : Math.min(w.maxBatch, w.maxJobs - w.started));
      if (entry === NO_ENTRY) return NOTHING;
      if (w.found) passWakeOn(w.region);
      w.found = false;
    }
    run(w, entry);
  }
  return TURN;
}

/** `WorkerLoop.#passWakeOn`. */
export function passWakeOn(region) {
  if (pool.anySource(region) && pool.wakeFor(region.m) === pool.START_ONE) wake(region.m, slotAt(HOST));
}

/** `Search.find` with `looks` looks. */
export function find(w, looks) {
  if (!pool.startSearch(w.region.m, w.slot)) return false;
  w.found = false;
  for (let k = 0; k < looks && !w.found; k++) w.found = pool.anySource(w.region);
  pool.endSearch(w.region.m);
  return w.found;
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

/** `WorkerLoop.#leave`. */
export function leave(w) {
  pool.giveBack(w.claimer, NO_ENTRY);
  pool.toLeaving(w.region.m, w.slot);
  passWakeOn(w.region);
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
