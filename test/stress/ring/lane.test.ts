/** The lane with real threads: the names of the unit battery that need them. Seconds in all; nothing here measures time. */
import { describe, expect, it } from 'vitest';
import { LANE_LAST, LANE_RING, REGION_TOP, RING_MASK, SLOT_LANE, slotAt } from '#memory';
import { until } from '../../support/index.ts';
import { range, slot } from '../../unit/ring/battery.ts';
import { crew } from './crew.ts';
import { expectExactlyOnce, perform, scene } from './scene.ts';
import { STOP, TAKEN } from './words.js';

interface Taken {
  readonly claimed: number;
  readonly outOfOrder: number;
  readonly lengths: readonly number[];
}
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe.each([
  [0, 64],
  [2 ** 31 - 8, 2],
  [2 ** 32 - 8, 4],
])('a lane whose sequences begin at %i and whose first ring has %i places', (start, capacity) => {
  const laneEnd = (region: { m: Int32Array }): number => region.m[slotAt(slot(0)) + SLOT_LANE + LANE_LAST] as number;

  it('spsc: gives a consumer on another thread every value once and in order, in a ring that never grows', async () => {
    const s = scene({ start, capacity, producers: 1, consumers: 1 });
    const top = s.region.m[REGION_TOP];
    const { produced, reports } = await perform<Taken>(s, { count: 30_000, small: true, milliseconds: 3_000 }, {});
    expectExactlyOnce(s, produced);
    expect(reports.map((report) => report.outOfOrder)).toEqual([0]);
    expect(s.region.m[REGION_TOP]).toBe(top);
  });

  it('spmc: gives each value to exactly one of four consumers, to each in rising order', async () => {
    const s = scene({ start, capacity, producers: 1, consumers: 4 });
    const { produced, reports } = await perform<Taken>(s, { count: 60_000, small: true, milliseconds: 3_000 }, { most: 3 });
    expectExactlyOnce(s, produced);
    expect(sum(reports.map((report) => report.claimed))).toBe(sum(produced));
    expect(sum(reports.map((report) => report.outOfOrder))).toBe(0);
  });

  it('grow, several-lanes, order-per-producer: of producers that outrun their consumers each value is taken once, and in order', async () => {
    const s = scene({ start, capacity, producers: 3, consumers: 3 });
    const { produced, reports } = await perform<Taken>(s, { count: 40_000 }, { most: 5 });
    expect(produced).toEqual([40_000, 40_000, 40_000]);
    expectExactlyOnce(s, produced);
    expect(sum(reports.map((report) => report.outOfOrder))).toBe(0);
    const lane = slotAt(slot(0)) + SLOT_LANE;
    const mask = s.region.m[laneEnd(s.region) + RING_MASK] as number;
    expect(mask + 1, 'it has grown').toBeGreaterThan(capacity);
    expect(s.region.m[lane + LANE_RING] === laneEnd(s.region) || mask > 0).toBe(true);
  });

  it('linearizable: whoever knows that a value is there finds one, though the rings change beneath', async () => {
    const s = scene({ start, capacity, producers: 1, consumers: 3 });
    const { produced, reports } = await perform<{ claimed: number; foundNothing: number }>(
      s,
      { count: 60_000, credits: true },
      { role: 'redeem' },
    );
    expect(sum(reports.map((report) => report.foundNothing))).toBe(0);
    expectExactlyOnce(s, produced);
  });

  it('stampede: of eight consumers that wait for three values each time, three get one', async () => {
    const rounds = 300;
    const s = scene({ start, capacity, producers: 1, consumers: 8 });
    const common = { buffer: s.region.buffer, control: s.control, ledger: s.ledger, threads: 9, lanes: [0], rounds, each: 3, most: 1 };
    const jobs = [{ ...common, role: 'drive', slot: 0 }, ...range(1, 8).map((c) => ({ ...common, role: 'stampede', slot: c }))];
    const reports = await crew<{ claimed: number }>(new URL('./threads.js', import.meta.url), jobs);
    expect(sum(reports.map((report) => report.claimed))).toBe(3 * rounds);
    expectExactlyOnce(s, [3 * rounds]);
  });

  it('no-starvation: as long as values come, every one of six consumers gets some', async () => {
    const s = scene({ start, capacity, producers: 1, consumers: 6 });
    const everyOneHas = (): boolean => range(1, 6).every((c) => Atomics.load(s.control, TAKEN + c) >= 20);
    const watch = async (): Promise<void> => {
      await until(everyOneHas, 'twenty values for every consumer').finally(() => Atomics.store(s.control, STOP, 1));
    };
    const { produced } = await perform<Taken>(s, { count: 900_000, small: true }, { most: 1 }, watch);
    expect(everyOneHas()).toBe(true);
    expectExactlyOnce(s, produced);
  });

  it('batch runs are visible as a whole: a consumer that takes all it sees never sees part of a run', async () => {
    const s = scene({ start, capacity, producers: 1, consumers: 1 });
    const { produced, reports } = await perform<Taken>(s, { count: 50_000, run: 5 }, { most: 255, keepLengths: true });
    expectExactlyOnce(s, produced);
    expect(reports[0]?.outOfOrder).toBe(0);
    expect(reports[0]?.lengths.filter((length) => length % 5 !== 0)).toEqual([]);
  });
});
