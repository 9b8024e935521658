/**
 * The host thread without its event loop: the parts of `src/queue` that touch shared words, in their order. Each function names
 * the one it mirrors. Threads of the model.
 */
import { load, notify, peek, poke, store, wait, waitAsync } from '#atomics';
import {
  entryFor,
  HOST,
  metaFor,
  RECORD_HANDLER,
  RECORD_INLINE,
  RECORD_META,
  RECORD_NEXT,
  RECORD_STATE,
  recordAt,
  recordOf,
  SLOT_FRONT,
  SLOT_LANE,
  SLOT_WAKE,
  slotAt,
  stateOf,
  withAttempt,
} from '#memory';
import {
  anySource,
  BUSY,
  discount,
  toDoomed,
  ENOUGH,
  MUST_END,
  markFront,
  passWakeOn,
  recoverSlot,
  START_ONE,
  takeBatch,
  toStarting,
  toVacant,
  wakeFor,
} from '#pool';
import {
  ARMED,
  arm,
  CANCELLED,
  disarm,
  FREE,
  hasCompleted,
  isIn,
  publish,
  publishRun,
  STARTED,
  TOO_LATE,
  takeCompleted,
  toEnded,
  toFree,
  toQueued,
  toRetried,
  toStarted,
} from '#ring';

const AT = slotAt(HOST);

/**
 * What the host knows. How promises ended, by record: `settled`, `died`, `cut`, `ended`. `abandoned`: ended, and their records are
 * still taken. `freed`: records on the free list. `retries`: how often a job may run again. `started`: threads it would have started.
 */
export function host(region, { retries = 0 } = {}) {
  const promises = { settled: [], died: [], cut: [], ended: [] };
  return { region, ...promises, abandoned: [], freed: [], retries, retried: 0, started: 0, wait: null };
}

/** `Admission.#admit` for a job that is prepared: publish, then `Staffing.staff`. */
export function submit(h, entry) {
  publish(h.region, AT + SLOT_LANE, entry);
  staff(h, 1);
}

/** `Staffing.staff`. */
export function staff(h, jobs) {
  for (let k = 0; k < jobs; k++) {
    const wake = wakeFor(h.region.m);
    if (wake === ENOUGH) return;
    if (wake === START_ONE) {
      h.started++;
      return; // the thread would count as running from here; the model has none to start
    }
  }
}

/** `Submitter.settleCompleted` and `settle`. True: there was something. */
export function drain(h) {
  let any = false;
  for (let record = takeCompleted(h.region, AT); record !== 0; any = true) {
    const at = recordAt(h.region, record);
    const next = peek(h.region.m, at + RECORD_NEXT);
    settle(h, record);
    record = next;
  }
  return any;
}

/** `Submitter.settle`. */
function settle(h, record) {
  peek(h.region.m, recordAt(h.region, record) + RECORD_META); // the result
  if (!forget(h, record)) h.settled.push(record);
  release(h, record);
}

/** `Submitter.fail`. */
function fail(h, record, list) {
  if (!forget(h, record)) list.push(record);
  release(h, record);
}

/** True: the job was given up, and its promise has had its end. */
function forget(h, record) {
  const was = h.abandoned.includes(record);
  h.abandoned = h.abandoned.filter((other) => other !== record);
  return was;
}

/** `Submitter.#release`: from here another job may use the record. */
function release(h, record) {
  const { m } = h.region;
  const at = recordAt(h.region, record);
  if (stateOf(load(m, at + RECORD_STATE)) !== FREE) toFree(m, at);
  h.freed.push(record);
}

/** `Submitter.end`. */
export function end(h, record) {
  if (h.abandoned.includes(record)) return TOO_LATE;
  const was = toEnded(h.region.m, recordAt(h.region, record));
  if (was === TOO_LATE) return was;
  h.ended.push(record);
  if (was === CANCELLED) release(h, record);
  else h.abandoned.push(record);
  return was;
}

/** `RunTimes.#look` at an entry that has been on a run list for too long. */
export function overrun(h, entry) {
  const record = recordOf(entry);
  if (!isIn(h.region.m, recordAt(h.region, record), entry, STARTED)) return 'spared';
  const was = end(h, record);
  return was === CANCELLED ? 'cancelled a job that had not started' : was === TOO_LATE ? 'spared' : 'timed out';
}

/** `Submitter.prepare` in a record that is free: a job whose argument is `argument`. */
export function prepare(h, record, argument) {
  const { m } = h.region;
  const at = recordAt(h.region, record);
  h.freed = h.freed.filter((other) => other !== record);
  poke(m, at + RECORD_META, metaFor(HOST, 0, 0));
  poke(m, at + RECORD_INLINE, 0);
  poke(m, at + RECORD_HANDLER, argument);
  return toQueued(m, at, record);
}

/** `Submitter.publishAhead`. */
export function publishAhead({ region }, entries) {
  if (entries.length === 0) return;
  publishRun(region, AT + SLOT_FRONT, entries);
  markFront(region.m, HOST);
}

/** `Threads.condemn`, but for the strike itself. */
export function endThread({ region }, slot) {
  discount(region.m, slot);
  passWakeOn(region);
}

/** `Cancellation.#endThread`, which ask at most `tries` times here. True: the thread is to be terminated now. */
export function condemn({ region }, slot, entry, tries = 2) {
  for (let k = 0; k < tries; k++) {
    const is = toDoomed(region, slot, entry);
    if (is === MUST_END) endThread({ region }, slot);
    if (is !== BUSY) return is === MUST_END;
  }
  return false;
}

/** `Cancellation.#giveBackBatch`, and the `Staffing.makeUp` that follows in `Core.jobsMoved`. */
export function rescue(h, slot, target = 1) {
  const entries = [];
  takeBatch(h.region.m, slot, entries);
  publishAhead(h, entries);
  beforeSleep(h, target);
  return entries.length;
}

/** `Threads.#onExit`, `Deaths.onExit`: after the `exit` of the thread of `slot`. `onMayStart` is the caller's. */
export function onExit(h, slot) {
  const { region } = h;
  toVacant(region.m, slot);
  drain(h);
  const remains = recoverSlot(region, slot);
  for (const record of remains.settled) settle(h, record);
  for (const record of remains.abandoned) fail(h, record, h.died);
  publishAhead(h, remains.requeued);
  for (const record of remains.died) die(h, record);
}

/** `Deaths.#die`, `Submitter.retry`. */
function die(h, record) {
  if (h.retried >= h.retries) return fail(h, record, h.died);
  const { m } = h.region;
  const at = recordAt(h.region, record);
  h.retried++;
  poke(m, at + RECORD_META, withAttempt(metaFor(HOST, 0, 0), h.retried));
  publishAhead(h, [toRetried(m, at, record)]);
}

/** `Threads.start`: `toStarting`, then `new Worker`, from which on the thread may run. `created` is a word that the thread waits for. */
export function startThread({ region: { m } }, slot, created) {
  toStarting(m, slot);
  store(m, created, 1);
  notify(m, created, 1);
}

/** `Staffing.makeUp`, which also follows an exit. */
export function beforeSleep(h, target = 1) {
  if (anySource(h.region)) staff(h, target);
}

/** `Submitter.failQueued`. */
export function failQueued(h, records) {
  for (const record of records) {
    const at = recordAt(h.region, record);
    if (toStarted(h.region.m, at, entryFor(record, load(h.region.m, at + RECORD_STATE)))) fail(h, record, h.cut);
  }
}

/** `Submitter.failAll`: what is neither settled nor failed yet. */
export function failAll(h, records) {
  for (const record of records) {
    if (!endsOf(h).includes(record)) fail(h, record, h.cut);
  }
}

/** `Inbox.#look` and `#sleep`, until `jobs` have settled. There is never a second waiter: one that was left is awaited instead. */
export async function settleAll(h, jobs) {
  const { m } = h.region;
  let armed = false;
  while (h.settled.length < jobs) {
    if (armed) disarm(m, AT);
    armed = false;
    if (hasCompleted(m, AT) && drain(h)) continue;
    arm(m, AT);
    armed = true;
    beforeSleep(h);
    if (hasCompleted(m, AT)) continue;
    if (h.wait === null) {
      const wait = waitAsync(m, AT + SLOT_WAKE, ARMED);
      if (!wait.async) continue;
      h.wait = wait.value;
    }
    await h.wait;
    h.wait = null;
  }
  return h.settled;
}

/**
 * The host's event loop, which runs one thing at a time: an `exit` that comes in the midst of a verb is told when that is over.
 * @thread host: `endTurn` at the end of what it does, `nextTurn` before what follows. `turn` is a word.
 */
export function endTurn({ region: { m } }, turn) {
  store(m, turn, 1);
  notify(m, turn, 2); // as many as ever wait
}
export function nextTurn({ region: { m } }, turn) {
  while (load(m, turn) === 0) wait(m, turn, 0);
}

/** How every job ended, as text that must name each of them once. */
export const endsOf = (h) => [...h.settled, ...h.died, ...h.cut, ...h.ended];
