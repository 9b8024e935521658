/** The region: who may attach, what `allocate` promises, and how growth reaches other views; two threads growing it at once. */
import { describe, expect, it } from 'vitest';
import { BrokenInvariant, type RecordNumber } from '#base';
import {
  allocate,
  attachRegion,
  createRegion,
  LAYOUT_VERSION,
  MAGIC,
  NO_SLAB,
  NONE,
  REGION_MAGIC,
  REGION_MAX,
  REGION_TOP,
  REGION_VERSION,
  RECORD_WORDS,
  type Region,
  reach,
  readText,
  recordAt,
  SLAB_COUNT,
  SLAB_RECORDS,
  SLAB_TAKEN,
  SLOT_WORDS,
  slotAt,
  slotCount,
  takeSlab,
} from '#memory';
import { crew } from '../../stress/ring/crew.ts';

const MIB = 2 ** 20;
const left = (region: Region): number => (region.m[REGION_MAX] as number) - (region.m[REGION_TOP] as number);

describe('attaching', () => {
  it('gives views of the words that the host wrote', () => {
    const host = createRegion(5, 4 * MIB);
    const worker = attachRegion(host.buffer);
    host.m[slotAt(4 as never)] = 77;
    expect(worker.m[slotAt(4 as never)]).toBe(77);
    expect([slotCount(worker.m), worker.m[REGION_MAGIC], worker.m[REGION_VERSION]]).toEqual([5, MAGIC, LAYOUT_VERSION]);
  });

  it.each([
    ['another magic', REGION_MAGIC, 'not a region'],
    ['another layout version', REGION_VERSION, 'another layout version'],
  ])('is refused for %s', (_what, word, message) => {
    const { buffer, m } = createRegion(1, 4 * MIB);
    expect(() => attachRegion(buffer)).not.toThrow();
    m[word] = (m[word] as number) + 1;
    expect(() => attachRegion(buffer)).toThrow(BrokenInvariant);
    expect(() => attachRegion(buffer)).toThrow(message);
  });

  it('is refused for a buffer that is no region at all', () => {
    expect(() => attachRegion(new SharedArrayBuffer(2 * MIB, { maxByteLength: 4 * MIB }))).toThrow('not a region');
  });
});

describe('the slots', () => {
  it('all fit before the first word that is handed out, even the most there can be', () => {
    for (const slots of [1, 2, 2080]) {
      const region = createRegion(slots, 32 * MIB);
      const first = allocate(region, 1);
      expect(first).toBeGreaterThanOrEqual(slotAt((slots - 1) as never) + SLOT_WORDS);
      expect(slotAt((slots - 1) as never) + SLOT_WORDS).toBeLessThanOrEqual(region.m.length);
    }
  });
});

describe('allocate', () => {
  it('gives words that read as zero, on lines of 64 bytes that no other block shares', () => {
    const region = createRegion(1, 16 * MIB);
    let end = 0;
    for (const words of [1, 15, 16, 17, 1_000, 300_000, 3, 600_000]) {
      const at = allocate(region, words);
      expect(at % 16).toBe(0);
      expect(at).toBeGreaterThanOrEqual(end);
      expect(region.m.subarray(at, at + words).findIndex((word) => word !== 0)).toBe(-1);
      region.m.fill(-1, at, at + words);
      end = at + words;
    }
  });

  it('refuses what does not fit with NONE and takes nothing, and still serves smaller ones up to the last word', () => {
    const region = createRegion(1, 4 * MIB);
    expect(allocate(region, left(region) + 1)).toBe(NONE);
    const room = left(region);
    expect(allocate(region, room - 32)).not.toBe(NONE);
    expect(allocate(region, 33)).toBe(NONE);
    const [a, b] = [allocate(region, 16), allocate(region, 16)];
    expect([b - a, left(region)]).toEqual([16, 0]);
    region.m[b + 15] = 1; // within the views
    expect(region.m[b + 15]).toBe(1);
    expect(allocate(region, 1)).toBe(NONE);
  });

  it('never grows beyond the bytes it was allowed', () => {
    const region = createRegion(1, 5 * MIB);
    while (allocate(region, 10_000) !== NONE);
    expect(region.buffer.byteLength).toBeLessThanOrEqual(5 * MIB);
    expect(left(region)).toBeLessThan(10_000);
  });

  it('serves a region without a limit of its own to the end, with all of it in the views', () => {
    const region = createRegion(1);
    const step = 2 ** 26;
    let last = 0;
    for (let at = allocate(region, step); at !== NONE; at = allocate(region, step)) last = at + step;
    region.m[last - 1] = 42; // the only page of it that is touched
    expect(region.bytes[(last - 1) * 4]).toBe(42);
    expect(left(region)).toBeLessThan(step);
  });

  it('gives no byte an offset that an int32 cannot hold, in a region without a limit of its own', () => {
    const region = createRegion(1);
    const bytes = (region.m[REGION_MAX] as number) * 4;
    expect([region.buffer.maxByteLength - bytes, bytes | 0]).toEqual([0, bytes]); // the end of the last block, too
    expect(bytes).toBeGreaterThan(2 ** 26); // the system may grant less than was asked for, but not that little
  });
});

describe('growth', () => {
  it('is seen by another view through `reach`, which keeps the views as long as they suffice', () => {
    const host = createRegion(1, 16 * MIB);
    const worker = attachRegion(host.buffer);
    const before = worker.m;
    const words = before.length; // more than is left of the first piece
    const at = allocate(host, words);
    host.m[at + words - 1] = 5;
    expect(worker.m[at + words - 1]).toBeUndefined();
    expect(reach(worker, before.length)).toBe(before);
    const after = reach(worker, at + words);
    expect(after[at + words - 1]).toBe(5);
    expect(worker.m).toBe(after);
    expect([worker.bytes[(at + words - 1) * 4], worker.f64.length]).toEqual([5, after.length / 2]);
  });

  it('is not what `reach` does: an offset beyond the region is refused', () => {
    const region = createRegion(1, 16 * MIB);
    expect(() => reach(region, region.m.length + 1)).toThrow(BrokenInvariant);
  });

  it('shows another view the text behind it', () => {
    const host = createRegion(1, 16 * MIB);
    const worker = attachRegion(host.buffer);
    allocate(host, host.m.length);
    const at = allocate(host, 16) * 4;
    host.bytes.write('né', at);
    expect(readText(worker, at, 3)).toBe('né');
  });

  it.each([
    ['large blocks, so that both grow it', 60, 90_000, 16],
    ['small blocks, so that both take at every moment', 6, 40, 8],
  ])('by two threads at once never gives the same words twice, and loses none: %s', async (_what, rounds, words, mebibytes) => {
    const regions = Array.from({ length: rounds }, () => createRegion(1, mebibytes * MIB));
    const buffers = regions.map((region) => region.buffer);
    const gates = new Int32Array(new SharedArrayBuffer(regions.length * 4));
    const firsts = regions.map((region) => region.m[REGION_TOP] as number);
    const jobs = [1, 2].map((me) => ({ task: 'fill', me, threads: 2, gates, buffers, words }));
    const [one, two] = (await crew<number[][]>(new URL('./threads.js', import.meta.url), jobs)) as [number[][], number[][]];
    const stride = Math.ceil(words / 16) * 16;
    let byBoth = 0;
    for (const [round, region] of regions.entries()) {
      const [mine, its] = [one[round] as number[], two[round] as number[]];
      const inOrder = [...mine, ...its].sort((a, b) => a - b);
      expect(inOrder.findIndex((at, k) => at !== (firsts[round] as number) + k * stride)).toBe(-1);
      expect(left(region)).toBeLessThan(stride);
      const view = attachRegion(region.buffer).m;
      const isOf = (owner: number) => (at: number) => view[at] === owner && view[at + words - 1] === owner;
      expect([mine.every(isOf(1)), its.every(isOf(2))]).toEqual([true, true]);
      if (mine.length > 0 && its.length > 0) byBoth++;
    }
    expect(byBoth).toBeGreaterThan(0); // else nothing happened at once
  });
});

describe('slabs of records', () => {
  it('give numbers that follow each other and words that do not overlap', () => {
    const region = createRegion(1, 16 * MIB);
    const [a, b] = [takeSlab(region), takeSlab(region)] as [RecordNumber, RecordNumber];
    expect([a, b]).toEqual([0, SLAB_RECORDS]);
    const at = (record: number): number => recordAt(region, record as RecordNumber);
    expect(at(a + 1) - at(a)).toBe(RECORD_WORDS);
    expect(at(a + SLAB_RECORDS - 1) - at(a)).toBe((SLAB_RECORDS - 1) * RECORD_WORDS);
    expect(at(b) - at(a)).toBeGreaterThanOrEqual(SLAB_RECORDS * RECORD_WORDS);
  });

  it('taken by one thread are found by another that did not see the region grow', () => {
    const host = createRegion(1, 16 * MIB);
    const worker = attachRegion(host.buffer);
    let record: RecordNumber | typeof NO_SLAB = takeSlab(host);
    while (host.m.length === worker.m.length) record = takeSlab(host);
    const last = (record + SLAB_RECORDS - 1) as RecordNumber;
    host.m[recordAt(host, last) + RECORD_WORDS - 1] = 9;
    const at = recordAt(worker, last);
    expect([at, worker.m[at + RECORD_WORDS - 1]]).toEqual([recordAt(host, last), 9]);
  });

  it('that do not exist are a broken invariant, not somebody else’s words', () => {
    expect(() => recordAt(createRegion(1, 4 * MIB), 5 as RecordNumber)).toThrow(BrokenInvariant);
  });

  it('end with number 2^24 - 1: the next one is refused, again and again, and the count does not run away', () => {
    const region = createRegion(1, 4 * MIB);
    region.m[SLAB_TAKEN] = SLAB_COUNT - 1; // as if all the others had been taken
    expect((takeSlab(region) as number) + SLAB_RECORDS).toBe(2 ** 24);
    expect([takeSlab(region), takeSlab(region)]).toEqual([NO_SLAB, NO_SLAB]);
    expect(region.m[SLAB_TAKEN]).toBe(SLAB_COUNT);
  });

  it('are refused when the region is at its limit', () => {
    const region = createRegion(1, 2 * MIB);
    let slabs = 0;
    while (takeSlab(region) !== NO_SLAB) slabs++;
    expect(slabs).toBeGreaterThan(3);
    expect(left(region)).toBeLessThan(SLAB_RECORDS * RECORD_WORDS);
  });
});
