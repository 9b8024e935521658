/**
 * Sources: everything a worker claims from, in the order it looks. Front lanes come first: what was given back is older than
 * anything in a lane. Any thread looks; workers claim.
 *
 * Every place that asks "is there anything?" asks `anySource`: a source forgotten before a sleep is a lost wake-up.
 */
import type { Slot } from '#base';
import {
  bitmapWords,
  clearBit,
  FRONT_BITS,
  LANE_BITS,
  nextBit,
  type Region,
  SLOT_FRONT,
  SLOT_LANE,
  setBit,
  slotAt,
  slotCount,
} from '#memory';
import { hasEntries } from '#ring';

/** Whether any lane holds an entry. */
export function anySource(region: Region): boolean {
  const words = bitmapWords(slotCount(region.m));
  return anyLane(region, FRONT_BITS, words, SLOT_FRONT) || anyLane(region, LANE_BITS, words, SLOT_LANE);
}

function anyLane(region: Region, bits: number, words: number, lane: number): boolean {
  let slot = nextBit(region.m, bits, words, 0);
  while (slot !== -1) {
    if (hasEntries(region, slotAt(slot) + lane)) return true;
    slot = nextBit(region.m, bits, words, slot + 1);
  }
  return false;
}

/** @thread a producer, after publishing in its front lane: makes consumers look there. */
export function markFront(m: Int32Array, slot: Slot): void {
  setBit(m, FRONT_BITS, slot); // edge front-1: after the entry is published
}

/**
 * @thread worker that found a front lane empty. The bit goes first, then comes a second look: an entry published between the
 * two has set the bit again or is seen here (edge front-1).
 */
export function unmarkFront(region: Region, slot: Slot): void {
  clearBit(region.m, FRONT_BITS, slot); // edge front-1: before the second look
  if (hasEntries(region, slotAt(slot) + SLOT_FRONT)) setBit(region.m, FRONT_BITS, slot);
}
