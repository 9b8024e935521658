/**
 * Claiming: how a worker takes jobs from the sources, and the batch it holds. Run by the worker; `takeBatch` by any thread.
 *
 *   sources -announce, exchange-> batch -takeNext-> start
 *                                 batch -takeBatch-> front lane (given back, or rescued)
 *
 * Entries are announced (written to the worker's own words, and counted) before the exchange that takes them. If the thread
 * dies at any point, the host re-publishes every announced entry whose job has not started; that may publish a job twice, and
 * the record's state lets only one copy start (I1).
 */
import { cas, glance, load, peek, store } from '#atomics';
import { type Entry, Math, push, type Sequence, type Slot, type SlotAt } from '#base';
import {
  advanced,
  BATCH_MAX,
  batchLeft,
  bitmapWords,
  FRONT_BITS,
  LANE_BITS,
  LANE_LAST,
  newBatch,
  nextBit,
  NONE,
  type Region,
  SLOT_ANNOUNCED,
  SLOT_BATCH,
  SLOT_ENTRIES,
  SLOT_FRONT,
  SLOT_LANE,
  slotAt,
  slotCount,
} from '#memory';
import { EMPTY, LOST, type Offer, offer, openLane, publishRun, take } from '#ring';
import { runningWorkers } from './idle.ts';
import { markFront, unmarkFront } from './sources.ts';

export const NO_ENTRY: Entry = 0 as Entry;

/** Entries in a front lane's first ring: a batch or two. */
const FRONT_CAPACITY = 64;

/** One worker's claiming: its own words, and how large its claims may be. Private to its thread. */
export interface Claimer {
  readonly region: Region;
  readonly slot: Slot;
  readonly maxBatchSize: number;
  /** Grows when the exchange on a ring's head fails, since then workers collide. */
  size: number;
  /** Where the rotation over lanes begins: behind the one served last. */
  rotation: number;
  readonly offer: Offer;
  readonly firstSequence: Sequence;
}

export function claimer(region: Region, slot: Slot, maxBatchSize: number, firstSequence: Sequence): Claimer {
  return {
    region,
    slot,
    maxBatchSize: Math.min(maxBatchSize, BATCH_MAX),
    size: 1,
    rotation: 0,
    offer: { ring: 0, head: 0 as Sequence },
    firstSequence,
  };
}

/** The next job of the batch, or `NO_ENTRY`. Taking it is an exchange, since a rescue may empty the batch at any moment. */
export function takeNext(m: Int32Array, slot: SlotAt): Entry {
  const batch = load(m, slot + SLOT_BATCH); // edge batch-1: taking side
  if (batchLeft(batch) === 0) return NO_ENTRY;
  const entry = glance(m, slot + SLOT_ENTRIES + peek(m, slot + SLOT_ANNOUNCED) - batchLeft(batch)) as Entry;
  return cas(m, slot + SLOT_BATCH, batch, advanced(batch)) === batch ? entry : NO_ENTRY;
}

/** Claims up to `most` jobs from the first source that has any, and returns the first of them; `NO_ENTRY` when all are empty. */
export function claim(c: Claimer, most: number): Entry {
  const { region } = c;
  const words = bitmapWords(slotCount(region.m));
  let got: number;
  do {
    got = claimFront(c, words, most);
    if (got === EMPTY) got = claimLanes(c, words, most);
  } while (got === LOST);
  if (got === EMPTY) return NO_ENTRY;
  const at = slotAt(c.slot);
  return got === 1 ? (peek(region.m, at + SLOT_ENTRIES) as Entry) : takeNext(region.m, at);
}

function claimFront(c: Claimer, words: number, most: number): number {
  const { region } = c;
  let slot = nextBit(region.m, FRONT_BITS, words, 0);
  while (slot !== -1) {
    const got = claimFrom(c, slotAt(slot) + SLOT_FRONT, most);
    if (got !== EMPTY) return got;
    unmarkFront(region, slot);
    slot = nextBit(region.m, FRONT_BITS, words, slot + 1);
  }
  return EMPTY;
}

/** Rotates: the search begins behind the lane that was served last, so no submitter's lane starves another's. */
function claimLanes(c: Claimer, words: number, most: number): number {
  const { region } = c;
  const first = c.rotation;
  let wrapped = first === 0;
  let from = first;
  for (;;) {
    const slot = nextBit(region.m, LANE_BITS, words, from);
    if (slot === -1 || (wrapped && first > 0 && slot >= first)) {
      if (wrapped) return EMPTY;
      wrapped = true;
      from = 0;
      continue;
    }
    const got = claimFrom(c, slotAt(slot) + SLOT_LANE, most);
    if (got !== EMPTY) {
      c.rotation = slot + 1;
      return got;
    }
    from = slot + 1;
  }
}

/** One lane: announce, then take. How many were claimed, `EMPTY` or `LOST`. More than one are a batch from here on. */
function claimFrom(c: Claimer, lane: number, most: number): number {
  const { region } = c;
  const at = slotAt(c.slot);
  const size = Math.min(c.size, most);
  const n = offer(region, lane, size, size === 1 ? 1 : runningWorkers(region.m), at + SLOT_ENTRIES, c.offer);
  if (n <= 0) return n;
  const m = region.m;
  store(m, at + SLOT_ANNOUNCED, n); // before the exchange: from here a dead thread's claim can be undone
  if (!take(m, c.offer, n)) {
    c.size = Math.min(c.size * 2, c.maxBatchSize);
    return LOST;
  }
  // edge batch-1: claim -> take
  if (n > 1) store(m, at + SLOT_BATCH, newBatch(load(m, at + SLOT_BATCH), n)); // I2: the old batch was empty, so nobody else writes here now
  return n;
}

/**
 * @thread worker. Gives back the unstarted rest of its batch, ahead of newer jobs. The entries stay announced, so dying in the
 * midst of it loses none. False: the region is at its limit, and the batch is as it was.
 */
export function giveBack(c: Claimer): boolean {
  const { region } = c;
  if (batchLeft(load(region.m, slotAt(c.slot) + SLOT_BATCH)) === 0) return true;
  const front = slotAt(c.slot) + SLOT_FRONT;
  if (peek(region.m, front + LANE_LAST) === NONE && !openLane(region, front, FRONT_CAPACITY, c.firstSequence)) return false;
  const batch = slotAt(c.slot) + SLOT_BATCH;
  const before = load(region.m, batch);
  const entries: Entry[] = [];
  takeBatch(region.m, c.slot, entries);
  if (entries.length === 0) return true;
  if (!publishRun(region, front, entries)) {
    store(region.m, batch, newBatch(load(region.m, batch), batchLeft(before))); // I2: it is empty, so nobody else writes here now
    return false;
  }
  markFront(region.m, c.slot);
  return true;
}

/**
 * Takes the unstarted rest of a worker's batch, from any thread. All or nothing: whoever wins the exchange owns every entry (I2),
 * and publishes it in a lane of its own.
 */
export function takeBatch(m: Int32Array, slot: Slot, into: Entry[]): void {
  const at = slotAt(slot);
  for (;;) {
    const batch = load(m, at + SLOT_BATCH); // edge batch-1: emptying side
    const left = batchLeft(batch);
    if (left === 0) return;
    const had = into.length;
    const announced = glance(m, at + SLOT_ANNOUNCED);
    for (let k = announced - left; k < announced; k++) push(into, glance(m, at + SLOT_ENTRIES + k) as Entry);
    if (cas(m, at + SLOT_BATCH, batch, newBatch(batch, 0)) === batch) return;
    into.length = had;
  }
}
