/**
 * The completion stack: how settled jobs go back to their submitter, and how it is woken. Pushed by any thread, taken whole by
 * the submitter.
 *
 *   wake word:  AWAKE -arm-> ARMED -wake (one winner)-> AWAKE
 *
 * Intrusive: a record is the node, so there is no capacity and nothing grows while the submitter is blocked. Nodes leave all at
 * once, so the compare-exchange of a push cannot be fooled by a top that went and came back.
 */
import { cas, exchange, load, notify, peek, poke, store } from '#atomics';
import type { RecordNumber, SlotAt } from '#base';
import { NO_RECORD, RECORD_NEXT, type Region, recordAt, SLOT_STACK, SLOT_WAKE } from '#memory';

export const AWAKE = 0;
export const ARMED = 1;

/** @thread worker. Hands a settled record to the submitter whose slot begins at `slot`, and wakes it if it sleeps. */
export function complete(region: Region, slot: SlotAt, record: RecordNumber, at: number): void {
  const m = region.m;
  let top = load(m, slot + SLOT_STACK);
  for (;;) {
    poke(m, at + RECORD_NEXT, top); // plain: carried by edge stack-1
    const seen = cas(m, slot + SLOT_STACK, top, record); // edge stack-1: push -> take all
    if (seen === top) break; // the submitter owns the record from here
    top = seen;
  }
  wake(m, slot);
}

/** Wakes the submitter if it is armed; one of all wakers pays for the notify. After the push, or the sleeper would miss it. */
export function wake(m: Int32Array, slot: SlotAt): void {
  // edge stack-2: the push comes before this look
  if (load(m, slot + SLOT_WAKE) === ARMED && cas(m, slot + SLOT_WAKE, ARMED, AWAKE) === ARMED) notify(m, slot + SLOT_WAKE, 1);
}

/** @thread submitter. Takes all settled records: the oldest, linked to the next by `nextCompleted`; 0 for none. */
export function takeCompleted(region: Region, slot: SlotAt): RecordNumber {
  const m = region.m;
  if (load(m, slot + SLOT_STACK) === 0) return NO_RECORD;
  let link = exchange(m, slot + SLOT_STACK, 0); // edge stack-1: take-all side
  let oldest: number = NO_RECORD;
  while (link !== NO_RECORD) {
    const at = recordAt(region, link as RecordNumber);
    const below = peek(m, at + RECORD_NEXT);
    poke(m, at + RECORD_NEXT, oldest);
    oldest = link;
    link = below;
  }
  return oldest as RecordNumber;
}

/** @thread submitter, before it frees the record. */
export const nextCompleted = (m: Int32Array, at: number): RecordNumber => peek(m, at + RECORD_NEXT) as RecordNumber;

/** Whether something lies on the stack. */
export const hasCompleted = (m: Int32Array, slot: SlotAt): boolean => load(m, slot + SLOT_STACK) !== 0;

/** @thread submitter. From here a push wakes it. It must look at every reason to be awake once more before it sleeps. */
export function arm(m: Int32Array, slot: SlotAt): void {
  store(m, slot + SLOT_WAKE, ARMED); // edge stack-2: armed before the last look at the stack
}

/** @thread submitter, which found something to do after arming. False: somebody has taken the wake, and notifies. */
export function disarm(m: Int32Array, slot: SlotAt): boolean {
  return cas(m, slot + SLOT_WAKE, ARMED, AWAKE) === ARMED;
}
