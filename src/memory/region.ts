/**
 * The region: one growable SharedArrayBuffer that the threads of a queue share, and each thread's views of it. Any thread.
 *
 * Views have an explicit length (length-tracking ones are 2.5 to 8 times slower), so a word may lie beyond this thread's view
 * although another thread already uses it. Whoever follows an offset read from shared memory calls `reach` first: an atomic
 * access beyond the view would throw, and a plain read would give `undefined`.
 */
import { add, cas, load, peek, store } from '#atomics';
import {
  assert,
  Buffer,
  Float64Array,
  Int32Array,
  Math,
  Object,
  type RecordNumber,
  SharedArrayBuffer,
  type Slot,
  type SlotAt,
  textOf,
  type WordIndex,
} from '#base';
import {
  LAYOUT_VERSION,
  MAGIC,
  RECORD_SHIFT,
  RECORD_WORDS,
  REGION_MAGIC,
  REGION_MAX,
  REGION_SLOTS,
  REGION_TOP,
  REGION_VERSION,
  SLAB_COUNT,
  SLAB_RECORDS,
  SLAB_SHIFT,
  SLAB_TAKEN,
  SLABS,
  SLOT_WORDS,
  SLOTS,
} from './layout.ts';

/** One thread's views of the shared region. */
export interface Region {
  readonly buffer: SharedArrayBuffer;
  m: Int32Array;
  f64: Float64Array;
  bytes: Buffer;
  /** This thread's copy of the slab directory: 0 where it has not looked yet. */
  readonly slabs: Int32Array;
}

/** Nothing could be allocated: the region is at its limit. No structure begins at word 0. */
export const NONE = 0 as WordIndex;
/** No such record. Record 0 exists but is never used, so that links and entries need no second word for "none". */
export const NO_RECORD = 0 as RecordNumber;
export const NO_SLAB = -1;

/**
 * Address space asked for, in bytes; halved until the system grants it. Below 2 GiB, since byte offsets of payloads are kept in
 * int32 words; room for the records and rings of 2^24 jobs, and as much again for their payloads.
 */
const RESERVE_BYTES = 2 ** 31 - 2 ** 20;
const SMALLEST_RESERVE_BYTES = 2 ** 26;
/** The region grows by doubling up to this step. Smaller: views are rebuilt often; larger: nothing gained. */
const GROW_STEP_BYTES = 2 ** 26;
const FIRST_BYTES = 2 ** 21;

function viewsOf(buffer: SharedArrayBuffer): Pick<Region, 'm' | 'f64' | 'bytes'> {
  const length = buffer.byteLength & ~7;
  return {
    m: new Int32Array(buffer, 0, length >> 2),
    f64: new Float64Array(buffer, 0, length >> 3),
    bytes: Buffer.from(buffer, 0, length),
  };
}

/** @thread host. `slots` counts the host's own. */
export function createRegion(slots: number, maxBytes: number = RESERVE_BYTES): Region {
  const top = SLOTS + slots * SLOT_WORDS;
  const first = Math.max(FIRST_BYTES, Math.ceil((top * 4) / FIRST_BYTES) * FIRST_BYTES);
  const buffer = reserve(first, Math.max(first, maxBytes));
  const region: Region = { buffer, ...viewsOf(buffer), slabs: new Int32Array(SLAB_COUNT) };
  const m = region.m;
  store(m, REGION_VERSION, LAYOUT_VERSION);
  store(m, REGION_SLOTS, slots);
  store(m, REGION_MAX, Math.floor(buffer.maxByteLength / 4));
  store(m, REGION_TOP, top);
  store(m, REGION_MAGIC, MAGIC);
  return region;
}

function reserve(first: number, most: number): SharedArrayBuffer {
  for (let bytes = most; ; bytes /= 2) {
    try {
      return new SharedArrayBuffer(first, { maxByteLength: Math.max(bytes, first) });
    } catch (error) {
      if (bytes / 2 < Math.max(first, SMALLEST_RESERVE_BYTES)) throw error;
    }
  }
}

/** @thread worker. Refuses a region of another kind or version. */
export function attachRegion(buffer: SharedArrayBuffer): Region {
  const region: Region = { buffer, ...viewsOf(buffer), slabs: new Int32Array(SLAB_COUNT) };
  assert(load(region.m, REGION_MAGIC) === MAGIC, 'this buffer is not a region');
  assert(load(region.m, REGION_VERSION) === LAYOUT_VERSION, 'the region has another layout version');
  return region;
}

/** The words up to `end` (exclusive) can be seen through the views that this returns. */
export function reach(region: Region, end: number): Int32Array {
  if (end > region.m.length) {
    Object.assign(region, viewsOf(region.buffer));
    assert(end <= region.m.length, 'an offset lies beyond the region');
  }
  return region.m;
}

/** Takes words that nobody used before, whole lines of 64 bytes; they read as zero. `NONE` when the region may not grow that far. */
export function allocate(region: Region, atLeast: number): WordIndex {
  const words = (atLeast + 15) & ~15;
  const most = load(region.m, REGION_MAX);
  let top = load(region.m, REGION_TOP);
  for (;;) {
    if (top + words > most) return NONE;
    const seen = cas(region.m, REGION_TOP, top, top + words);
    if (seen === top) break; // [top, top + words) is ours alone
    top = seen;
  }
  const end = (top + words) * 4;
  while (region.buffer.byteLength < end) grow(region.buffer, end);
  reach(region, top + words);
  return top as WordIndex;
}

function grow(buffer: SharedArrayBuffer, end: number): void {
  const now = buffer.byteLength;
  const step = Math.min(Math.max(now, end - now), Math.max(GROW_STEP_BYTES, end - now));
  try {
    buffer.grow(Math.min(buffer.maxByteLength, now + step));
  } catch (error) {
    // The loser of two growths at once throws: somebody made it larger meanwhile, look again.
    if (buffer.byteLength === now) throw error;
  }
}

export const slotAt = (slot: Slot): SlotAt => (SLOTS + slot * SLOT_WORDS) as SlotAt;
export const slotCount = (m: Int32Array): number => peek(m, REGION_SLOTS); // constant since the region was made

/** Word index of a record. Its slab was entered in the directory before its number was published. */
export function recordAt(region: Region, record: RecordNumber): number {
  const slab = region.slabs[record >>> SLAB_SHIFT] as number;
  return (slab === 0 ? learnSlab(region, record >>> SLAB_SHIFT) : slab) + ((record & (SLAB_RECORDS - 1)) << RECORD_SHIFT);
}

function learnSlab(region: Region, number: number): number {
  const slab = load(region.m, SLABS + number);
  assert(slab !== 0, 'a record number names a slab that does not exist');
  reach(region, slab + SLAB_RECORDS * RECORD_WORDS);
  region.slabs[number] = slab;
  return slab;
}

/** @thread submitter. Takes a slab of free records: its first record number, or `NO_SLAB` when all 2^24 numbers or the memory are used. */
export function takeSlab(region: Region): RecordNumber | typeof NO_SLAB {
  const number = add(region.m, SLAB_TAKEN, 1);
  if (number >= SLAB_COUNT) {
    add(region.m, SLAB_TAKEN, -1);
    return NO_SLAB;
  }
  const slab = allocate(region, SLAB_RECORDS * RECORD_WORDS);
  if (slab === NONE) return NO_SLAB; // the number stays unused: the region is at its limit for good
  store(region.m, SLABS + number, slab);
  region.slabs[number] = slab;
  return (number << SLAB_SHIFT) as RecordNumber;
}

/** Text of a definition and the like: bytes of the region, copied out. */
export function readText(region: Region, offset: number, length: number): string {
  reach(region, (offset + length + 3) >>> 2);
  return textOf(region.bytes, 'utf8', offset, offset + length);
}
