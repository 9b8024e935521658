/**
 * Choosing a thread to be terminated because of one job, and never because of another; and what a thread runs. Host thread; the
 * worker's side is `guard.ts`. Doomed is what a thread is called while its guard word says that it was chosen.
 *
 *   OPEN -toDoomed-> DOOMED -(the job still runs there)-> terminate
 *                    DOOMED -(it does not)-> OPEN, and the worker goes on
 */
import { cas, load, notify, store } from '#atomics';
import type { Entry, Slot } from '#base';
import { type Region, RUN_MAX, recordAt, recordOf, SLOT_GUARD, SLOT_RUN, slotAt } from '#memory';
import { ABANDONED, isIn, STARTED } from '#ring';
import { DOOMED, OPEN } from './guard.ts';

export const MUST_END = 1;
/** The job is not there any more: the thread goes on. */
export const GOES_ON = 0;
/** The thread is changing shared structures: ask again, it takes microseconds. */
export const BUSY = -1;

/** From MUST_END on the thread crosses no guard: it can be terminated, and changes nothing shared. */
export function toDoomed(region: Region, slot: Slot, entry: Entry): typeof MUST_END | typeof GOES_ON | typeof BUSY {
  const { m } = region;
  const guard = slotAt(slot) + SLOT_GUARD;
  if (cas(m, guard, OPEN, DOOMED) !== OPEN) return BUSY;
  if (runsThere(region, slot, entry)) return MUST_END; // the second look: without it the thread may be ended because of its next job
  store(m, guard, OPEN);
  notify(m, guard, 1); // the worker may be waiting at the guard
  return GOES_ON;
}

function runsThere(region: Region, slot: Slot, entry: Entry): boolean {
  const at = recordAt(region, recordOf(entry));
  if (!isIn(region.m, at, entry, ABANDONED)) return false;
  return placeOf(region.m, slot, entry) !== -1;
}

/** Whether a worker runs any job now. */
export function runsAny(m: Int32Array, slot: Slot): boolean {
  for (let place = 0; place < RUN_MAX; place++) if (load(m, slotAt(slot) + SLOT_RUN + place) !== 0) return true;
  return false;
}

/** What a worker runs now: started and not handed over. */
export function runningEntries(region: Region, slot: Slot): Entry[] {
  const { m } = region;
  const entries: Entry[] = [];
  for (let place = 0; place < RUN_MAX; place++) {
    const entry = load(m, slotAt(slot) + SLOT_RUN + place) as Entry;
    if (entry === 0) continue;
    const at = recordAt(region, recordOf(entry));
    if (isIn(region.m, at, entry, STARTED) || isIn(region.m, at, entry, ABANDONED)) entries.push(entry);
  }
  return entries;
}

/** Where in a worker's run list the entry is, or -1. */
export function placeOf(m: Int32Array, slot: Slot, entry: Entry): number {
  for (let place = 0; place < RUN_MAX; place++) if (load(m, slotAt(slot) + SLOT_RUN + place) === entry) return place;
  return -1;
}
