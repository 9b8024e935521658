/**
 * The life of a slot's thread. The host starts threads and sees them exit; the thread itself says that it is ready or leaves.
 *
 *   VACANT -host-> STARTING -thread-> LIVE -thread-> LEAVING -host, on exit-> VACANT
 *                    └───────────────── exit (crash) ───────────────────────┘
 *
 * A thread that leaves, exits or is being ended no longer counts as running, and nobody wakes it, parked or not (edge life-1): it
 * is taken out of the live ones first, and then whoever did that looks at the sources, since a waker may have chosen it just before.
 */
import { load, store } from '#atomics';
import type { Slot } from '#base';
import { clearBit, LIVE_BITS, REGION_PHASE, SLOT_EXITED, SLOT_LIFE, SLOT_LOADING, setBit, slotAt } from '#memory';

export const VACANT = 0;
export const STARTING = 1;
export const LIVE = 2;
export const LEAVING = 3;

/** Phases of the region: jobs may start; they may, but should come to an end; none may start any more. */
export const RUNNING = 0;
export const ENDING = 1;
export const STOPPED = 2;

/** @thread host, before it starts the thread: from here it counts as running. */
export function toStarting(m: Int32Array, slot: Slot): void {
  store(m, slotAt(slot) + SLOT_EXITED, 0);
  store(m, slotAt(slot) + SLOT_LOADING, 0);
  store(m, slotAt(slot) + SLOT_LIFE, STARTING);
  setBit(m, LIVE_BITS, slot);
}

/** @thread worker, just before its first claim. */
export function toLive(m: Int32Array, slot: Slot): void {
  store(m, slotAt(slot) + SLOT_LIFE, LIVE);
}

/** @thread worker that claims nothing more, before it passes the wake on. */
export function toLeaving(m: Int32Array, slot: Slot): void {
  store(m, slotAt(slot) + SLOT_LIFE, LEAVING);
  discount(m, slot);
}

/** @thread the worker itself, before it passes the wake on, or the host that ends its thread. */
export function discount(m: Int32Array, slot: Slot): void {
  clearBit(m, LIVE_BITS, slot); // edge life-1: before the last look
}

/** @thread worker. It claims: neither still booting nor on its way out. */
export const isLive = (m: Int32Array, slot: Slot): boolean => load(m, slotAt(slot) + SLOT_LIFE) === LIVE;

/** @thread worker, as it ends by `process.exit`, its own or a handler's. */
export function noteExit(m: Int32Array, slot: Slot): void {
  store(m, slotAt(slot) + SLOT_EXITED, 1);
}

/** @thread host, after the thread's `exit`. */
export const exitedByItself = (m: Int32Array, slot: Slot): boolean => load(m, slotAt(slot) + SLOT_EXITED) === 1;

/** @thread host, after the thread's `exit`. The handler whose module it was importing then, or 0. */
export const wasLoading = (m: Int32Array, slot: Slot): number => load(m, slotAt(slot) + SLOT_LOADING);

/** @thread host, after the thread's `exit`. Returns what it was. */
export function toVacant(m: Int32Array, slot: Slot): number {
  const was = load(m, slotAt(slot) + SLOT_LIFE);
  store(m, slotAt(slot) + SLOT_LIFE, VACANT);
  clearBit(m, LIVE_BITS, slot);
  return was;
}

/** @thread host. From here `task.aborted` is true for all. */
export function announceEnd(m: Int32Array): void {
  store(m, REGION_PHASE, ENDING);
}

/** @thread host. From here no job starts; jobs that run go on. */
export function stopStarting(m: Int32Array): void {
  store(m, REGION_PHASE, STOPPED); // edge stop-1: stop -> claim
}

export const mayStart = (m: Int32Array): boolean => load(m, REGION_PHASE) !== STOPPED; // edge stop-1: claim side
