/**
 * Back-pressure by results: how many bytes a submitter has not read yet. Raised by workers as they settle, lowered by the
 * submitter as it frees; above the most allowed workers start nothing more until it has fallen to half.
 *
 * Counted are results outside of their record only: the small ones take no memory of their own. No fall is missed (edge
 * unread-1): who waits reads SLOT_FALL, then the count, then waits on what SLOT_FALL was; the submitter lowers the count, then
 * moves SLOT_FALL.
 */
import { add, load, notify, peek, poke, waitAsync } from '#atomics';
import { Math, Number, type Slot } from '#base';
import { SLOT_FALL, SLOT_RAISED, SLOT_UNREAD, slotAt } from '#memory';

/** Bytes in one unit, as a shift. Smaller: the count overflows at less than 128 GiB. */
const UNIT_SHIFT = 6;
const unitsOf = (bytes: number): number => (bytes >>> UNIT_SHIFT) + 1;

/** `maxResultBytes` in units. */
export const unreadMost = (maxResultBytes: number): number => Math.min(2 ** 31 - 1, unitsOf(Math.min(maxResultBytes, 2 ** 32 - 1)));

/** @thread worker in `self`, before it settles a job. What it raises it writes down first: if it dies before the job is settled, nobody lowers it. */
export function raiseUnread(m: Int32Array, self: Slot, submitter: Slot, bytes: number): void {
  const units = unitsOf(bytes);
  poke(m, slotAt(self) + SLOT_RAISED, units);
  add(m, slotAt(submitter) + SLOT_UNREAD, units);
}

/** @thread worker that has settled its job: from here the submitter lowers what was raised. */
export function forgetRaised(m: Int32Array, self: Slot): void {
  poke(m, slotAt(self) + SLOT_RAISED, 0);
}

/**
 * @thread submitter, after the `exit` of the thread in `dead`, of whose jobs none is settled and not yet freed. Takes back what
 * it raised for a job that it did not settle. If the thread died between the two steps of `raiseUnread`, this takes back what was not raised:
 * then a little more may be unread than allowed, where in the other order workers would wait for ever.
 */
export function takeBackRaised(m: Int32Array, submitter: Slot, dead: Slot): void {
  const units = peek(m, slotAt(dead) + SLOT_RAISED); // plain: carried by edge exit-1
  if (units === 0) return;
  poke(m, slotAt(dead) + SLOT_RAISED, 0);
  add(m, slotAt(submitter) + SLOT_UNREAD, -units);
  tellFall(m, submitter);
}

/** @thread submitter, which frees a result. */
export function lowerUnread(m: Int32Array, submitter: Slot, bytes: number, most: number): void {
  const units = unitsOf(bytes);
  const before = add(m, slotAt(submitter) + SLOT_UNREAD, -units);
  if (before > most / 2 && before - units <= most / 2) tellFall(m, submitter);
}

/** @thread submitter. Wakes all who wait for a fall, also for another reason: they look at every one. */
export function tellFall(m: Int32Array, submitter: Slot): void {
  const fall = slotAt(submitter) + SLOT_FALL;
  add(m, fall, 1); // edge unread-1: fall -> wait
  notify(m, fall, Number.POSITIVE_INFINITY);
}

/** @thread worker, before it starts a job. As many results are unread as may be: nothing is started then. */
export const isUnreadFull = (m: Int32Array, submitter: Slot, most: number): boolean => load(m, slotAt(submitter) + SLOT_UNREAD) >= most;

/**
 * @thread worker, outside of the library. A promise for the next fall; undefined if `stillWaits` says no after SLOT_FALL was read,
 * or it moved meanwhile.
 */
export function nextFall(m: Int32Array, submitter: Slot, stillWaits: () => boolean): Promise<unknown> | undefined {
  const fall = slotAt(submitter) + SLOT_FALL;
  const now = load(m, fall);
  if (!stillWaits()) return undefined;
  const wait = waitAsync(m, fall, now); // edge unread-1: wait side
  return wait.async ? wait.value : undefined;
}
