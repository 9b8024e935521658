/** Two producers against eight workers that claim as the pool does: an exactly-once ledger in shared memory. */
import { describe, expect, it } from 'vitest';
import { REGION_TOP } from '#memory';
import { expectExactlyOnce, perform, scene } from './scene.ts';

interface Taken {
  readonly claimed: number;
  readonly outOfOrder: number;
}
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
/** For each producer; where the machine is slow, what it gets done in this time must do. */
const COUNT = 100_000;
const MILLISECONDS = 5_000;

describe('eight workers on two lanes', () => {
  it.each([
    ['batches, rings of two places', 2, 2 ** 32 - 8, 16],
    ['batches, rings of four places', 4, 2 ** 31 - 8, 16],
    ['single claims, rings of four places', 4, 0, 1],
  ])('claim each entry exactly once, and each producer’s in order: %s', async (_what, capacity, start, most) => {
    const s = scene({ start, capacity, producers: 2, consumers: 8 });
    const top = s.region.m[REGION_TOP];
    const { produced, reports } = await perform<Taken>(
      s,
      { count: COUNT, small: true, milliseconds: MILLISECONDS },
      { through: 'pool', most },
    );
    expect(Math.min(...produced)).toBeGreaterThan(100);
    expectExactlyOnce(s, produced);
    expect(sum(reports.map((report) => report.claimed))).toBe(sum(produced));
    expect(reports.map((report) => report.outOfOrder)).toEqual(Array(8).fill(0));
    expect(s.region.m[REGION_TOP], 'the rings stayed as small as they were').toBe(top);
  });

  it('claim each entry exactly once while the rings grow', async () => {
    const s = scene({ start: 2 ** 32 - 8, capacity: 2, producers: 2, consumers: 8 });
    const { produced, reports } = await perform<Taken>(s, { count: COUNT }, { through: 'pool', most: 64 });
    expect(produced).toEqual([COUNT, COUNT]);
    expectExactlyOnce(s, produced);
    expect(sum(reports.map((report) => report.outOfOrder))).toBe(0);
  });

  it('keep each entry exactly once although they give back a part of what they claim', async () => {
    const s = scene({ start: 2 ** 31 - 8, capacity: 4, producers: 2, consumers: 8 });
    const { produced, reports } = await perform<Taken>(
      s,
      { count: COUNT, milliseconds: MILLISECONDS },
      { through: 'pool', most: 16, givesBack: true },
    );
    expectExactlyOnce(s, produced);
    expect(sum(reports.map((report) => report.claimed))).toBe(sum(produced));
  });
});
