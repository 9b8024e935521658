/**
 * Back-pressure by results: how many bytes a submitter has not read yet. Raised by workers as they settle, lowered by the
 * submitter as it frees; above the most allowed workers start nothing more until it has fallen to half.
 *
 * Counted are results outside of their record only: the small ones take no memory of their own. No fall is missed (edge
 * unread-1): who waits reads SLOT_FALL, then the count, then waits on what SLOT_FALL was; the submitter lowers the count, then
 * moves SLOT_FALL.
 */
import { add, load, notify, store, waitAsync } from '#atomics';
import { Math, Number, type Slot } from '#base';
import { SLOT_FALL, SLOT_UNREAD, slotAt } from '#memory';

/** Bytes in one unit, as a shift. Smaller: the count overflows at less than 128 GiB. */
const UNIT_SHIFT = 6;
const unitsOf = (bytes: number): number => (bytes >>> UNIT_SHIFT) + 1;

/** `maxResultBytes` in units. */
export const unreadMost = (maxResultBytes: number): number => Math.min(2 ** 31 - 1, unitsOf(Math.min(maxResultBytes, 2 ** 32 - 1)));

/** @thread worker, before it settles a job. */
export function raiseUnread(m: Int32Array, submitter: Slot, bytes: number): void {
  add(m, slotAt(submitter) + SLOT_UNREAD, unitsOf(bytes));
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

/** @thread submitter with nothing unsettled: a worker may have died between raising the count and settling. */
export function resetUnread(m: Int32Array, submitter: Slot): void {
  store(m, slotAt(submitter) + SLOT_UNREAD, 0);
  tellFall(m, submitter);
}

/** @thread worker, before it starts a job. */
export const isCrowded = (m: Int32Array, submitter: Slot, most: number): boolean => load(m, slotAt(submitter) + SLOT_UNREAD) >= most;

/**
 * @thread worker, outside of the library. A promise for the next fall; undefined if `stillWaits` says no after the look at SLOT_FALL,
 * or it moved meanwhile.
 */
export function nextFall(m: Int32Array, submitter: Slot, stillWaits: () => boolean): Promise<unknown> | undefined {
  const fall = slotAt(submitter) + SLOT_FALL;
  const now = load(m, fall);
  if (!stillWaits()) return undefined;
  const wait = waitAsync(m, fall, now); // edge unread-1: wait side
  return wait.async ? wait.value : undefined;
}
