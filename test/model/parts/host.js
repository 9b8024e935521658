/**
 * The host thread without its event loop: the parts of `src/queue` that touch shared words, in their order. Each function names
 * the one it mirrors. Threads of the model.
 */
import { load, peek, waitAsync } from '#atomics';
import { entryFor, HOST, RECORD_META, RECORD_NEXT, RECORD_STATE, recordAt, SLOT_FRONT, SLOT_LANE, SLOT_WAKE, slotAt } from '#memory';
import { anySource, ENOUGH, markFront, recoverSlot, START_ONE, toVacant, wakeFor } from '#pool';
import { ARMED, arm, disarm, hasCompleted, publish, publishRun, takeCompleted, toFree, toStarted } from '#ring';

const AT = slotAt(HOST);

/** What the host knows. `started` counts threads it would have started. */
export const host = (region) => ({ region, settled: [], died: [], cut: [], started: 0, wait: null });

/** `Core.#tryAdmit` for a job that is prepared: publish, then `#staff`. */
export function submit(h, entry) {
  publish(h.region, AT + SLOT_LANE, entry);
  staff(h, 1);
}

/** `Core.#staff`. */
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

/** `Submitter.drain` and `settle`. True: there was something. */
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

function settle(h, record) {
  const at = recordAt(h.region, record);
  peek(h.region.m, at + RECORD_META); // the result
  h.settled.push(record);
  toFree(h.region.m, at);
}

/** `Submitter.fail`. */
function fail(h, record, list) {
  list.push(record);
  toFree(h.region.m, recordAt(h.region, record));
}

/** `Threads.#onExit`, `Core.onExit` and `onMayStart`: after the `exit` of the thread of `slot`. */
export function onExit(h, slot) {
  const { region } = h;
  toVacant(region.m, slot);
  drain(h);
  const remains = recoverSlot(region, slot);
  for (const record of remains.settled) settle(h, record);
  for (const record of remains.died) fail(h, record, h.died);
  if (remains.requeued.length > 0) {
    publishRun(region, AT + SLOT_FRONT, remains.requeued);
    markFront(region.m, HOST);
  }
}

/** `Core.beforeSleep`, which also follows an exit. */
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
    if (![...h.settled, ...h.died, ...h.cut].includes(record)) fail(h, record, h.cut);
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

/** How every job ended, as text that must name each of them once. */
export const endsOf = (h) => [...h.settled, ...h.died, ...h.cut];

