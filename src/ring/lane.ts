/**
 * A lane: one producer's FIFO, a chain of rings that consumers claim from. Producer: the thread that owns the lane's slot.
 * Consumers: any worker.
 *
 *   LANE_RING ──► [ring of 4] ──RING_NEXT──► [ring of 8] ──► [ring of 16] ◄── LANE_LAST
 *   consumers                                                                 producer
 *
 * A full ring is closed by linking one of twice the size, and never written again: a stale pointer to it finds it drained for
 * ever, and no ring is used twice. The last and largest stays, so the chain takes at most twice the peak of one burst, and never grows for a second like it.
 *
 * No place is reserved before it is written: the tail moves after the entries, so a preempted producer stalls nobody.
 */
import { cas, glance, load, peek, poke, store } from '#atomics';
import { type Entry, Math, seqAdd, seqDiff, type Sequence } from '#base';
import {
  allocate,
  LANE_LAST,
  LANE_RING,
  NONE,
  type Region,
  RING_ENTRIES,
  RING_HEAD,
  RING_MASK,
  RING_NEXT,
  RING_TAIL,
  reach,
} from '#memory';

/** Nothing to claim. */
export const EMPTY = 0;
/** Somebody else won, or the ring moved on: look again. */
export const LOST = -1;

/**
 * @thread producer, before its first entry. `capacity` is a power of two; `first` is where sequences begin (tests start near
 * 2^31 and 2^32). False when the region is at its limit.
 */
export function openLane(region: Region, lane: number, capacity: number, first: Sequence): boolean {
  const ring = makeRing(region, capacity, first);
  if (ring === NONE) return false;
  store(region.m, lane + LANE_LAST, ring);
  store(region.m, lane + LANE_RING, ring); // edge lane-2: a ring is whole before it is linked
  return true;
}

function makeRing(region: Region, capacity: number, first: Sequence): number {
  const ring = allocate(region, RING_ENTRIES + capacity);
  if (ring === NONE) return NONE;
  const m = region.m;
  poke(m, ring + RING_MASK, capacity - 1);
  store(m, ring + RING_HEAD, first);
  store(m, ring + RING_TAIL, first);
  return ring;
}

/** @thread producer. Makes one entry visible. False when the region is at its limit: nothing was published. */
export function publish(region: Region, lane: number, entry: Entry): boolean {
  let m = region.m;
  let ring = load(m, lane + LANE_LAST);
  let tail = peek(m, ring + RING_TAIL) as Sequence; // ours alone to write
  if (seqDiff(tail, load(m, ring + RING_HEAD) as Sequence) > peek(m, ring + RING_MASK)) {
    ring = linkRing(region, lane, ring, 1);
    if (ring === NONE) return false;
    m = region.m;
    tail = peek(m, ring + RING_TAIL) as Sequence;
  }
  poke(m, ring + RING_ENTRIES + (tail & peek(m, ring + RING_MASK)), entry); // plain: carried by edge lane-1
  store(m, ring + RING_TAIL, seqAdd(tail, 1)); // edge lane-1: publish -> claim
  return true;
}

/**
 * @thread producer. Makes all entries visible by one move of the tail: a ring without room for the whole run is closed and a
 * larger one linked. So a run is never interleaved with another, and never published in part. False when the region is at its
 * limit.
 */
export function publishRun(region: Region, lane: number, entries: readonly Entry[]): boolean {
  const count = entries.length;
  let m = region.m;
  let ring = load(m, lane + LANE_LAST);
  let tail = peek(m, ring + RING_TAIL) as Sequence;
  if (seqDiff(tail, load(m, ring + RING_HEAD) as Sequence) + count > peek(m, ring + RING_MASK) + 1) {
    ring = linkRing(region, lane, ring, count);
    if (ring === NONE) return false;
    m = region.m;
    tail = peek(m, ring + RING_TAIL) as Sequence;
  }
  const mask = peek(m, ring + RING_MASK);
  for (let k = 0; k < count; k++) poke(m, ring + RING_ENTRIES + (seqAdd(tail, k) & mask), entries[k] as Entry);
  store(m, ring + RING_TAIL, seqAdd(tail, count)); // edge lane-1: publish -> claim
  return true;
}

function linkRing(region: Region, lane: number, ring: number, atLeast: number): number {
  const tail = peek(region.m, ring + RING_TAIL) as Sequence;
  let capacity = (peek(region.m, ring + RING_MASK) + 1) * 2;
  while (capacity < atLeast) capacity *= 2;
  const next = makeRing(region, capacity, tail);
  if (next === NONE) return NONE;
  store(region.m, lane + LANE_LAST, next);
  store(region.m, ring + RING_NEXT, next); // edge lane-2; from here nobody writes to `ring`
  return next;
}

/**
 * @thread host, after the `exit` of the lane's producer, which may have died between the two stores that open the lane or link a
 * ring. What no consumer can reach is given up: nothing lies in it yet. The slot's next thread goes on behind what can be reached.
 */
export function mendLane(region: Region, lane: number): void {
  let last = NONE as number;
  for (let ring = load(region.m, lane + LANE_RING); ring !== NONE; ring = load(reach(region, ring + RING_ENTRIES), ring + RING_NEXT))
    last = ring;
  store(region.m, lane + LANE_LAST, last);
}

/** A claim in preparation: the ring and head it read, valid only if the exchange in `take` succeeds. */
export interface Offer {
  ring: number;
  head: Sequence;
}

/**
 * @thread consumer, first half of a claim. Copies up to `most` entries to `into` (words of this worker's own), not yet owned:
 * the caller announces them, then calls `take`. Never more than this worker's share of what waits among `sharers`, rounded up.
 * Returns how many, `EMPTY` or `LOST`.
 */
export function offer(region: Region, lane: number, most: number, sharers: number, into: number, out: Offer): number {
  const ring = load(region.m, lane + LANE_RING); // edge lane-2: claim side
  if (ring === NONE) return EMPTY;
  let m = reach(region, ring + RING_ENTRIES);
  const mask = peek(m, ring + RING_MASK);
  m = reach(region, ring + RING_ENTRIES + mask + 1);
  const head = load(m, ring + RING_HEAD) as Sequence;
  const tail = load(m, ring + RING_TAIL) as Sequence; // edge lane-1: claim side
  const waiting = seqDiff(tail, head);
  if (waiting <= 0) return waiting === 0 ? nextRing(m, lane, ring, tail) : LOST; // less than 0: head moved on since it was read
  const n = most === 1 ? 1 : Math.min(most, waiting, Math.ceil(waiting / sharers));
  for (let k = 0; k < n; k++) poke(m, into + k, glance(m, ring + RING_ENTRIES + (seqAdd(head, k) & mask))); // may be stale: used only if the exchange succeeds
  out.ring = ring;
  out.head = head;
  return n;
}

/** @thread consumer, second half. True: the `n` entries are this worker's alone (I2). */
export function take(m: Int32Array, from: Offer, n: number): boolean {
  return cas(m, from.ring + RING_HEAD, from.head, seqAdd(from.head, n)) === from.head;
}

/**
 * The ring looked drained. It is drained for good only if a next one is linked *and* the tail has not moved since: the producer
 * may have filled the ring and linked the next one between our two looks.
 */
function nextRing(m: Int32Array, lane: number, ring: number, tail: Sequence): number {
  const next = load(m, ring + RING_NEXT); // edge lane-2: claim side
  if (next === NONE) return EMPTY;
  if (load(m, ring + RING_TAIL) === tail) cas(m, lane + LANE_RING, ring, next);
  return LOST;
}

/** Whether the lane holds an entry. Exact for a lane at rest; a moment's truth otherwise. */
export function hasEntries(region: Region, lane: number): boolean {
  const ring = load(region.m, lane + LANE_RING);
  if (ring === NONE) return false;
  const m = reach(region, ring + RING_ENTRIES);
  return load(m, ring + RING_HEAD) !== load(m, ring + RING_TAIL) || load(m, ring + RING_NEXT) !== NONE;
}
