/** A submitter's records: order of reuse, rotation, exhaustion. */
import { describe, expect, it } from 'vitest';
import type { RecordNumber } from '#base';
import { allocate, createRegion, NO_RECORD, NONE, RECORD_WORDS, recordAt, REGION_TOP, type Region, SLAB_COUNT, SLAB_RECORDS, SLAB_TAKEN } from '#memory';
import { Records } from '#ring';
import { seeded } from '../../support/index.ts';
import { range } from './battery.ts';

const region = (bytes = 2 ** 23): Region => createRegion(1, bytes);
const take = (records: Records, count: number): RecordNumber[] => range(0, count).map(() => records.take());

describe('fresh records', () => {
  it('are all different, never record 0, and each has words of its own', () => {
    const r = region();
    const taken = take(new Records(r), 2 * SLAB_RECORDS + 5);
    expect(taken).not.toContain(NO_RECORD);
    expect(new Set(taken).size).toBe(taken.length);
    const places = taken.map((record) => recordAt(r, record)).sort((a, b) => a - b);
    expect(places.every((at, k) => k === 0 || at - (places[k - 1] as number) >= RECORD_WORDS)).toBe(true);
  });

  it('of two submitters are different', () => {
    const r = region();
    const [a, b] = [new Records(r), new Records(r)];
    const taken = range(0, 300).flatMap(() => [a.take(), b.take()]);
    expect(new Set(taken).size).toBe(600);
  });
});

describe('records given back', () => {
  it('are used again first in, first out, once more than the rotation are free', () => {
    const records = new Records(region(), 4);
    const taken = take(records, 10);
    const given = seeded().shuffle(taken);
    for (const record of given) records.give(record);
    expect(take(records, 6)).toEqual(given.slice(0, 6));
    expect(taken).not.toContain(records.take()); // the last four stay on the way round
  });

  it('come round no sooner than after as many others as the rotation says, in every steady state', () => {
    const rotation = 50;
    const records = new Records(region(), rotation);
    const random = seeded();
    const inUse: RecordNumber[] = [];
    const givenAt = new Map<number, number>();
    let givings = 0;
    let reused = 0;
    for (let k = 0; k < 5_000; k++) {
      if (inUse.length < 20 && random.next() < 0.55) {
        const record = records.take();
        const at = givenAt.get(record);
        if (at !== undefined) {
          reused++;
          expect(givings - at, 'others given back since').toBeGreaterThanOrEqual(rotation);
        }
        inUse.push(record);
      } else if (inUse.length > 0) {
        const record = inUse.splice(random.int(0, inUse.length - 1), 1)[0] as RecordNumber;
        records.give(record);
        givenAt.set(record, givings++);
      }
      expect(new Set(inUse).size).toBe(inUse.length);
    }
    expect(reused).toBeGreaterThan(500);
  });

  it('serve a second burst like the first without new memory', () => {
    const r = region();
    const records = new Records(r, 16);
    const burst = (): void => take(records, 6_000).forEach((record) => records.give(record));
    burst();
    burst();
    const top = r.m[REGION_TOP];
    for (let k = 0; k < 3; k++) burst();
    expect(r.m[REGION_TOP]).toBe(top);
  });
});

describe('exhaustion', () => {
  it('by memory is answered with no record; one given back is then used although the rotation is short', () => {
    const r = region(2 ** 21);
    const records = new Records(r);
    const taken: RecordNumber[] = [];
    for (let record = records.take(); record !== NO_RECORD; record = records.take()) taken.push(record);
    expect(taken.length).toBeGreaterThan(SLAB_RECORDS);
    expect(taken.length % SLAB_RECORDS).toBe(SLAB_RECORDS - 1); // record 0 is never used
    expect(records.take()).toBe(NO_RECORD);
    records.give(taken[7] as RecordNumber);
    records.give(taken[3] as RecordNumber);
    expect([records.take(), records.take(), records.take()]).toEqual([taken[7], taken[3], NO_RECORD]);
    expect(allocate(r, 16)).not.toBe(NONE); // what is smaller than a slab still finds room
  });

  it('by number comes after record 2^24 - 1', () => {
    const r = region();
    r.m[SLAB_TAKEN] = SLAB_COUNT - 1; // as if the other slabs had gone to other submitters
    const records = new Records(r);
    expect(take(records, SLAB_RECORDS).at(-1)).toBe(2 ** 24 - 1);
    expect(records.take()).toBe(NO_RECORD);
    records.give((2 ** 24 - 1) as RecordNumber);
    expect(records.take()).toBe(2 ** 24 - 1);
  });
});
