/**
 * Parking and waking: who is idle, who may run. Any thread wakes; a worker parks itself.
 *
 *   running -publishIdle-> idle -(a waker clears the bit, gives the permit)-> running
 *                          idle -(the worker clears its own bit)-----------> running, or leaving
 *
 * The idle bit is the arbiter: whoever clears it owns the wake-up, so no permit is given twice. How many run is not kept
 * anywhere: it is the live bits that are not idle (one word less to repair when a thread dies).
 *
 * No wake-up is lost (edge park-1): a worker publishes that it is idle and then looks at every source again; a submitter
 * publishes the job and then looks who is idle. All operations are sequentially consistent, so one of them sees the other.
 */
import { add, cas, load, notify, store } from '#atomics';
import { Math, type Slot } from '#base';
import {
  bitmapWords,
  clearBit,
  hasBit,
  HOST,
  IDLE_BITS,
  LIVE_BITS,
  nextBit,
  popCount,
  type Region,
  REGION_SEARCHER,
  REGION_TARGET,
  REGION_TICKET,
  SLOT_PERMIT,
  SLOT_TICKET,
  setBit,
  slotAt,
  slotCount,
} from '#memory';
import { wake } from '#ring';
import { anySource } from './sources.ts';

export const NO_SLOT: Slot = 0 as Slot; // slot 0 is the host's: it never parks

/** Workers that are neither parked nor gone; those being started count. */
export function runningWorkers(m: Int32Array): number {
  const words = bitmapWords(slotCount(m));
  let running = 0;
  for (let w = 0; w < words; w++) running += popCount(load(m, LIVE_BITS + w) & ~load(m, IDLE_BITS + w));
  return running;
}

/** @thread worker. From here others may wake it: it must look at every source once more before it waits. */
export function publishIdle(m: Int32Array, slot: Slot): void {
  const at = slotAt(slot);
  store(m, at + SLOT_PERMIT, 0); // before the bit: a permit given after it must not be wiped out
  store(m, at + SLOT_TICKET, add(m, REGION_TICKET, 1));
  setBit(m, IDLE_BITS, slot); // edge park-1: idle before the last look
}

/**
 * @thread worker, awake again for any reason. True: it took itself out of the idle ones. False: a waker has; its permit may
 * still be on the way, and then ends the next wait early, which is harmless: every wait is followed by a look.
 */
export function withdrawIdle(m: Int32Array, slot: Slot): boolean {
  return clearBit(m, IDLE_BITS, slot);
}

/** Gives the permit to the worker that parked last, whose stack and caches are warmest. False: nobody is parked. */
export function unparkHottest(m: Int32Array): boolean {
  for (;;) {
    const slot = hottestIdle(m);
    if (slot === NO_SLOT) return false;
    if (!clearBit(m, IDLE_BITS, slot)) continue; // another waker, or the worker itself, was first
    givePermit(m, slot);
    return true;
  }
}

/**
 * @thread host, after the `exit` of a thread, which may have taken a wake-up and died before it gave the permit: then a worker
 * sleeps that nobody sees. Whoever is live and not idle gets one; where it was not needed it ends a wait early, which is harmless.
 */
export function renewPermits(m: Int32Array): void {
  const words = bitmapWords(slotCount(m));
  for (let slot = nextBit(m, LIVE_BITS, words, 0); slot !== -1; slot = nextBit(m, LIVE_BITS, words, slot + 1)) {
    if (!hasBit(m, IDLE_BITS, slot)) givePermit(m, slot);
  }
}

function givePermit(m: Int32Array, slot: Slot): void {
  const permit = slotAt(slot) + SLOT_PERMIT;
  store(m, permit, 1); // edge park-2: the permit before the notify
  notify(m, permit, 1);
}

function hottestIdle(m: Int32Array): Slot {
  const words = bitmapWords(slotCount(m));
  let hottest = NO_SLOT;
  let ticket = 0;
  for (let w = 0; w < words; w++) {
    // Live ones only: a thread that is being ended may still park, and would sleep on with the permit.
    for (let bits = load(m, IDLE_BITS + w) & load(m, LIVE_BITS + w); bits !== 0; bits &= bits - 1) {
      const slot = (w * 32 + 31 - Math.clz32(bits & -bits)) as Slot;
      const its = load(m, slotAt(slot) + SLOT_TICKET); // a hint: a stale one costs warmth, nothing else
      if (hottest === NO_SLOT || ((its - ticket) | 0) > 0) {
        hottest = slot;
        ticket = its;
      }
    }
  }
  return hottest;
}

/** What a publisher learns from `wakeFor`. */
export const ENOUGH = 0;
export const WOKE_ONE = 1;
/** Fewer run than should and nobody is parked: a thread must be started, which only the host can do. */
export const START_ONE = 2;

/** Any publisher, after publishing: if fewer run than should, and nobody is looking already, wakes the hottest parked worker. */
export function wakeFor(m: Int32Array): typeof ENOUGH | typeof WOKE_ONE | typeof START_ONE {
  if (load(m, REGION_SEARCHER) !== 0) return ENOUGH; // it will find the job, and pass the wake on (edge search-1)
  if (runningWorkers(m) >= load(m, REGION_TARGET)) return ENOUGH; // edges park-1 and life-1: this look comes after the publish
  return unparkHottest(m) ? WOKE_ONE : START_ONE;
}

/**
 * Whoever others relied on and who takes nothing more: a searcher with its job, a worker that leaves or is held, the host that
 * ends a thread. What is left is theirs to find somebody for. Only the host can start threads, so it is woken for that.
 */
export function passWakeOn(region: Region): void {
  if (anySource(region) && wakeFor(region.m) === START_ONE) wake(region.m, slotAt(HOST)); // edges search-1 and life-1: the look that others relied on
}

/** @thread worker that found nothing. True: it is the one that spins. */
export function startSearch(m: Int32Array, slot: Slot): boolean {
  return load(m, REGION_SEARCHER) === 0 && cas(m, REGION_SEARCHER, 0, slot) === 0;
}

/**
 * @thread the searcher. It must then look at the sources once more: publishers relied on it (edge search-1). If there is anything
 * it claims a job and passes the wake on for what is left, or passes it on before it does anything else.
 */
export function endSearch(m: Int32Array): void {
  store(m, REGION_SEARCHER, 0); // edge search-1: before the searcher's next look
}
