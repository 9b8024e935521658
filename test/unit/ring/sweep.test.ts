/** Sweeping a lane of the void entries that cancelled jobs leave. One thread; what workers do meanwhile is put in between. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Entry, RecordNumber } from '#base';
import { HOST, LANE_LAST, RING_HEAD, REGION_TOP, type Region, recordAt, recordOf, SLOT_ENTRIES, SLOT_LANE, slotAt } from '#memory';
import type { Claimer } from '#pool';
import { Records, sweepLane, toEnded } from '#ring';
import { claimAll, submit, submitterIn, workerIn, worldOf } from '../pool/world.ts';
import { seeded } from '../../support/index.ts';
import { sequence, slot } from './battery.ts';
import { interrupted } from './interrupt.ts';

const LANE = slotAt(HOST) + SLOT_LANE;
let region: Region;
let records: Records;
let worker: Claimer;

beforeEach(() => {
  region = worldOf(3);
  submitterIn(region, HOST, 4);
  records = new Records(region);
  worker = workerIn(region, slot(1), 255);
});
const lastRing = (): number => region.m[LANE + LANE_LAST] as number;
const cancel = (entry: Entry): unknown => toEnded(region.m, recordAt(region, recordOf(entry)));
const sweep = (): number => sweepLane(region, LANE, slotAt(HOST) + SLOT_ENTRIES, { ring: 0, head: sequence(0) });
const rest = (): RecordNumber[] => {
  const all: RecordNumber[] = [];
  for (let batch = claimAll(worker, 255); batch.length > 0; batch = claimAll(worker, 255)) all.push(...batch.map(recordOf));
  return all;
};

describe('a sweep', () => {
  it('17.5 drops void entries and keeps the order of the others, over several rings, without new memory', () => {
    const entries = submit(region, records, 1_000);
    for (const [k, entry] of entries.entries()) if (k % 3 > 0) cancel(entry);
    const top = region.m[REGION_TOP];
    const live = entries.filter((_, k) => k % 3 === 0).map(recordOf);
    expect(sweep()).toBe(live.length);
    expect(region.m[REGION_TOP]).toBe(top);
    expect(rest()).toEqual(live);
  });

  it('leaves a lane alone of which more than half is live, and says how much that is', () => {
    const entries = submit(region, records, 100);
    for (const entry of entries.slice(0, 40)) cancel(entry);
    const head = region.m[lastRing() + RING_HEAD];
    expect(sweep()).toBe(60);
    expect(region.m[lastRing() + RING_HEAD]).toBe(head);
  });

  it('of an empty lane, or of one that holds nothing else, leaves it empty', () => {
    expect(sweep()).toBe(0);
    for (const entry of submit(region, records, 50)) cancel(entry);
    expect([sweep(), rest()]).toEqual([0, []]);
  });

  it('loses nothing to a worker that claims meanwhile, and gives nothing twice', () => {
    const entries = submit(region, records, 12);
    for (const entry of entries.slice(0, 8)) cancel(entry);
    const claimed: Entry[] = [];
    const claims = (): void => void claimed.push(...claimAll(worker, 2));
    interrupted('before', 'compareExchange', lastRing() + RING_HEAD, claims, sweep);
    expect([...claimed.map(recordOf).filter((record) => entries.slice(8).map(recordOf).includes(record)), ...rest()]).toEqual(
      entries.slice(8).map(recordOf),
    );
  });

  it('keeps order and jobs in every mix of submitting, cancelling, claiming and sweeping', () => {
    const random = seeded();
    let queued: Entry[] = [];
    for (let round = 0; round < 300; round++) {
      queued.push(...submit(region, records, random.int(0, 20)));
      for (let k = random.int(0, 15); k > 0 && queued.length > 0; k--)
        cancel(queued.splice(random.int(0, queued.length - 1), 1)[0] as Entry);
      sweep();
      const n = random.int(1, 8);
      const got = claimAll(worker, n).map(recordOf);
      const live = got.filter((record) => queued.some((entry) => recordOf(entry) === record));
      expect(live).toEqual(queued.slice(0, live.length).map(recordOf));
      queued = queued.slice(live.length);
    }
    expect(rest().filter((record) => queued.some((entry) => recordOf(entry) === record))).toEqual(queued.map(recordOf));
  });
});
