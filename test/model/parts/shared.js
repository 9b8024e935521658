/**
 * What the litmus tests share: a small region with records, lanes and workers in it, and ways to count at the end what became of
 * every job. Called in `setup` and `outcome`, outside any schedule, unless it says otherwise.
 */
import { load, peek, poke, store } from '#atomics';
import * as memory from '#memory';
import { EMPTY, LOST, offer, openLane, publish, QUEUED, take, takeCompleted, toFree, toQueued } from '#ring';

const { HOST, LANE_BITS, LIVE_BITS, RECORD_INLINE, RECORD_META, RECORD_STATE, SLOT_FRONT, SLOT_LANE } = memory;

/** Start of the sequences: one that crosses 2^31 and one that crosses 2^32 within the test. */
export const SEQUENCES = [0, 2 ** 31 - 8, 2 ** 32 - 8];
/** Entries that have passed through a lane before a test begins, so that its own straddle the wrap. */
const PASSED = 7;
/** Small enough that making one costs nothing; large enough for a slab of records, some rings and chunks. */
const REGION_BYTES = 2 ** 22;

/** A region with the host's slot and `workers` more, and one slab of records. */
export function makeRegion(workers) {
  const region = memory.createRegion(workers + 1, REGION_BYTES);
  memory.takeSlab(region);
  return region;
}

/** Opens a lane of `slot` (or its front lane) with rings of `capacity`, in the middle of its life. */
export function makeLane(region, slot, capacity, sequence, which = SLOT_LANE) {
  const lane = memory.slotAt(slot) + which;
  openLane(region, lane, capacity, sequence | 0);
  const own = region.m.length - 16; // words that nobody uses
  for (let k = 0; k < PASSED; k++) {
    publish(region, lane, 1);
    const out = {};
    take(region.m, out, offer(region, lane, 1, 1, own, out));
  }
  if (which === SLOT_LANE) memory.setBit(region.m, LANE_BITS, slot);
  return lane;
}

/** Records 1 to `count`, each QUEUED with the number 0 as the count of its starts; returns their entries. */
export function makeJobs(region, count, submitter = HOST) {
  const entries = [];
  for (let record = 1; record <= count; record++) {
    const at = memory.recordAt(region, record);
    poke(region.m, at + RECORD_META, memory.metaFor(submitter, 0, 0));
    entries.push(toQueued(region.m, at, record));
  }
  return entries;
}

/** These slots' threads are live. */
export function makeLive(region, ...slots) {
  for (const slot of slots) memory.setBit(region.m, LIVE_BITS, slot);
}

/** Each model thread's own view of the region, as real threads have. */
export const viewOf = (region) => ({ ...region, slabs: region.slabs.slice() });

/** Takes everything that lies in a lane, as entries. */
export function rest(region, lane) {
  const entries = [];
  const own = region.m.length - 16;
  const out = {};
  for (;;) {
    const n = offer(region, lane, 1, 1, own, out);
    if (n === EMPTY) return entries;
    if (n !== LOST && take(region.m, out, n)) entries.push(peek(region.m, own));
  }
}

/** Everything that a worker could still claim: front lanes whose bit is set, and lanes. */
export function reachable(region) {
  const words = memory.bitmapWords(memory.slotCount(region.m));
  const entries = [];
  for (const [bits, which] of [
    [memory.FRONT_BITS, SLOT_FRONT],
    [LANE_BITS, SLOT_LANE],
  ]) {
    for (let slot = memory.nextBit(region.m, bits, words, 0); slot !== -1; slot = memory.nextBit(region.m, bits, words, slot + 1))
      entries.push(...rest(region, memory.slotAt(slot) + which));
  }
  return entries;
}

/** Records of entries that are not void: one of them for each job, or two copies of its entry live. */
export function startable(region, entries) {
  const records = [];
  for (const entry of entries) {
    const record = memory.recordOf(entry);
    const word = load(region.m, memory.recordAt(region, record) + RECORD_STATE);
    if (memory.stateOf(word) === QUEUED && memory.isCurrent(entry, word)) records.push(record);
  }
  return records;
}

/** Frees what lies on the completion stack of `slot`; returns the records. */
export function handedOver(region, slot = HOST) {
  const records = [];
  for (let record = takeCompleted(region, memory.slotAt(slot)); record !== 0; ) {
    const at = memory.recordAt(region, record);
    const next = peek(region.m, at + memory.RECORD_NEXT);
    toFree(region.m, at);
    records.push(record);
    record = next;
  }
  return records;
}

/** How often the job was started: `noteStart` counts in the record. */
export const startsOf = (region, record) => peek(region.m, memory.recordAt(region, record) + RECORD_INLINE);

/** @thread of the model that won `toStarted`, as the handler it stands for. Plain words: the race check proves that they are its own. */
export function noteStart(region, at) {
  poke(region.m, at + RECORD_INLINE, peek(region.m, at + RECORD_INLINE) + 1);
}

/** What is wrong with these numbers from 1 to `count`, each of which should be there once: '' if nothing. */
export function onceEach(numbers, count) {
  for (let n = 1; n <= count; n++) {
    const times = numbers.filter((other) => other === n).length;
    if (times !== 1) return times === 0 ? `${n} lost` : `${n} taken ${times} times`;
  }
  return numbers.length === count ? '' : 'something that never was';
}

export const ascending = (numbers) => numbers.every((n, k) => k === 0 || n > numbers[k - 1]);

/** Sets a word that a thread outside the test would have set. */
export const setWord = (region, word, value) => store(region.m, word, value);
