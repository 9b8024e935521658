/** The lane: the battery, and what only two halves of a claim can show. */
import { describe, expect, it } from 'vitest';
import {
  attachRegion,
  createRegion,
  LANE_LAST,
  LANE_RING,
  NONE,
  REGION_TOP,
  type Region,
  RING_ENTRIES,
  RING_HEAD,
  RING_MASK,
  RING_NEXT,
  RING_TAIL,
  SLOT_ENTRIES,
  SLOT_LANE,
  slotAt,
} from '#memory';
import { EMPTY, hasEntries, LOST, type Offer, offer, openLane, publish, publishRun, take } from '#ring';
import { battery, entry, type Fifo, range, type Shape, sequence, slot, STARTS } from './battery.ts';
import { interrupted } from './interrupt.ts';

const noOffer = (): Offer => ({ ring: 0, head: sequence(0) });
const laneOf = (k: number): number => slotAt(slot(k)) + SLOT_LANE;
const entriesOf = (k: number): number => slotAt(slot(k)) + SLOT_ENTRIES;

/** Consumers look at the lanes in turn, behind the one that served them last. */
function lanes({ start, capacity, producers, consumers, maxBytes }: Shape): Fifo {
  const region = createRegion(producers + consumers, maxBytes);
  for (const p of range(0, producers)) openLane(region, laneOf(p), capacity, sequence(start));
  const views = range(0, consumers).map(() => attachRegion(region.buffer));
  const turns = range(0, consumers).fill(0);
  const claimFrom = (c: number, lane: number, most: number): number[] => {
    const view = views[c] as Region;
    const into = entriesOf(producers + c);
    const out = noOffer();
    for (;;) {
      const n = offer(view, lane, Math.min(most, 255), 1, into, out);
      if (n === EMPTY) return [];
      if (n !== LOST && take(view.m, out, n)) return [...view.m.subarray(into, into + n)];
    }
  };
  return {
    publish: (p, value) => publish(region, laneOf(p), entry(value)),
    publishRun: (p, values) => publishRun(region, laneOf(p), values.map(entry)),
    claim(c, most) {
      for (const k of range(0, producers)) {
        const p = ((turns[c] as number) + k) % producers;
        const got = claimFrom(c, laneOf(p), most);
        if (got.length > 0) {
          turns[c] = p + 1;
          return got;
        }
      }
      return [];
    },
    words: () => region.m[REGION_TOP] as number,
  };
}

battery('a lane', lanes);

/** One lane in slot 0, and room for the offers of the other slots. */
function open(capacity: number, start = 0): { region: Region; lane: number; at: number } {
  const region = createRegion(4, 2 ** 22);
  const lane = laneOf(0);
  expect(openLane(region, lane, capacity, sequence(start))).toBe(true);
  return { region, lane, at: region.m[lane + LANE_RING] as number };
}
/** First half of a claim by the worker in slot `k`. */
const offerTo = (region: Region, lane: number, k: number, most: number, sharers = 1): { n: number; from: Offer; entries: number[] } => {
  const from = noOffer();
  const n = offer(region, lane, most, sharers, entriesOf(k), from);
  return { n, from, entries: n > 0 ? [...region.m.subarray(entriesOf(k), entriesOf(k) + n)] : [] };
};

describe.each(STARTS)('an offer, with sequences from %i,', (start) => {
  it('takes nothing yet: of three consumers that hold the same offer exactly one takes it, and the losers get the next', () => {
    const { region, lane } = open(4, start);
    publishRun(region, lane, [1, 2, 3].map(entry));
    const offers = [1, 2, 3].map((k) => offerTo(region, lane, k, 1));
    expect(offers.map((each) => each.entries)).toEqual([[1], [1], [1]]);
    expect(offers.map(({ from, n }) => take(region.m, from, n))).toEqual([true, false, false]);
    expect(offerTo(region, lane, 2, 1).entries).toEqual([2]);
  });

  it('of several entries is lost as a whole when one of them is taken', () => {
    const { region, lane } = open(4, start);
    publishRun(region, lane, [1, 2, 3].map(entry));
    const many = offerTo(region, lane, 1, 3);
    const one = offerTo(region, lane, 2, 1);
    expect(take(region.m, one.from, one.n)).toBe(true);
    expect(take(region.m, many.from, many.n)).toBe(false);
    expect(offerTo(region, lane, 1, 3).entries).toEqual([2, 3]);
  });

  it('that has grown old is lost although its place holds another entry by now', () => {
    const { region, lane, at } = open(2, start);
    publish(region, lane, entry(1));
    const old = offerTo(region, lane, 1, 1);
    for (const value of range(2, 6)) {
      const one = offerTo(region, lane, 2, 1);
      expect(take(region.m, one.from, one.n)).toBe(true);
      publish(region, lane, entry(value));
    }
    expect(region.m[lane + LANE_LAST]).toBe(at); // still the same ring, three laps on
    expect(take(region.m, old.from, old.n)).toBe(false);
  });

  it('is never more than the share of one among those who run, rounded up, nor more than was asked for', () => {
    const { region, lane } = open(64, start);
    publishRun(region, lane, range(1, 10).map(entry));
    const share = (most: number, sharers: number): number => offerTo(region, lane, 1, most, sharers).n;
    expect([share(64, 1), share(64, 2), share(64, 3), share(64, 9), share(64, 10), share(64, 100)]).toEqual([10, 5, 4, 2, 1, 1]);
    expect([share(3, 1), share(3, 3), share(3, 4), share(1, 1)]).toEqual([3, 3, 3, 1]);
  });

  it('touches no words beyond those it offers', () => {
    const { region, lane } = open(4, start);
    publishRun(region, lane, [1, 2].map(entry));
    region.m.fill(-1, entriesOf(1), entriesOf(1) + 8);
    offerTo(region, lane, 1, 2);
    expect([...region.m.subarray(entriesOf(1), entriesOf(1) + 4)]).toEqual([1, 2, -1, -1]);
  });
});

describe.each(STARTS)('a chain, with sequences from %i,', (start) => {
  it('closes a full ring by linking one of twice the size, where the sequence goes on, and writes to the old one no more', () => {
    const { region, lane, at } = open(4, start);
    publishRun(region, lane, range(1, 4).map(entry));
    expect(region.m[at + RING_NEXT]).toBe(NONE);
    const closed = [...region.m.subarray(at + RING_TAIL, at + RING_TAIL + 1), ...region.m.subarray(at + RING_ENTRIES, at + RING_ENTRIES + 4)];
    publish(region, lane, entry(5));
    const next = region.m[at + RING_NEXT] as number;
    expect([region.m[lane + LANE_LAST], region.m[lane + LANE_RING]]).toEqual([next, at]);
    expect([region.m[next + RING_MASK], region.m[next + RING_HEAD], region.m[next + RING_TAIL]]).toEqual([7, (start + 4) | 0, (start + 5) | 0]);
    publishRun(region, lane, range(6, 7).map(entry));
    expect([...region.m.subarray(at + RING_TAIL, at + RING_TAIL + 1), ...region.m.subarray(at + RING_ENTRIES, at + RING_ENTRIES + 4)]).toEqual(closed);
  });

  it('sends a consumer that holds a pointer to a ring left long ago on to the next, and gives it nothing of the old one', () => {
    const { region, lane, at } = open(2, start);
    publishRun(region, lane, range(1, 2).map(entry));
    const stale = offerTo(region, lane, 1, 1);
    publishRun(region, lane, range(3, 4).map(entry)); // links a ring of 4
    for (const expected of [[1, 2], [3, 4, 5, 6]]) {
      let { n, from, entries } = offerTo(region, lane, 2, 4);
      if (n === LOST) ({ n, from, entries } = offerTo(region, lane, 2, 4)); // it moved the lane on
      expect(entries).toEqual(expected);
      expect(take(region.m, from, n)).toBe(true);
    }
    expect(region.m[lane + LANE_RING]).not.toBe(at);
    expect(take(region.m, stale.from, stale.n)).toBe(false);
    region.m[lane + LANE_RING] = at; // as a consumer sees it that read this word before it moved
    expect(offerTo(region, lane, 1, 4).n).toBe(LOST);
    expect(offerTo(region, lane, 1, 4).n).toBe(EMPTY);
  });

  it('does not leave a ring whose tail moved between the two looks at it: the entries of that moment are not skipped', () => {
    const { region, lane, at } = open(2, start);
    const producer = (): void => {
      publishRun(region, lane, range(1, 2).map(entry));
      publish(region, lane, entry(3)); // links
    };
    const n = interrupted('after', 'load', at + RING_TAIL, producer, () => offerTo(region, lane, 1, 1).n);
    expect(n).toBe(LOST);
    expect(region.m[lane + LANE_RING]).toBe(at);
    expect(offerTo(region, lane, 1, 2).entries).toEqual([1, 2]);
  });

  it('of a run larger than twice the last ring links one that holds the whole run', () => {
    const { region, lane, at } = open(2, start);
    publish(region, lane, entry(1));
    expect(publishRun(region, lane, range(2, 33).map(entry))).toBe(true);
    expect(region.m[(region.m[at + RING_NEXT] as number) + RING_MASK]).toBe(63);
  });
});

describe('hasEntries', () => {
  it('is false before the lane is opened and while it is drained, true from publish to the last claim, over every ring of a chain', () => {
    const region = createRegion(2, 2 ** 22);
    const lane = laneOf(0);
    expect(hasEntries(region, lane)).toBe(false);
    expect(offerTo(region, lane, 1, 1).n).toBe(EMPTY);
    openLane(region, lane, 2, sequence(-1));
    for (const peak of [1, 2, 3, 9]) {
      expect(hasEntries(region, lane)).toBe(false);
      for (const value of range(1, peak)) publish(region, lane, entry(value));
      for (let left = peak; left > 0; ) {
        expect(hasEntries(region, lane)).toBe(true);
        const { n, from } = offerTo(region, lane, 1, 1);
        if (n > 0 && take(region.m, from, n)) left--;
      }
    }
    expect(hasEntries(region, lane)).toBe(false);
  });
});

describe('a consumer whose view ends before a ring', () => {
  it('claims from it all the same', () => {
    const region = createRegion(2, 2 ** 24);
    const view = attachRegion(region.buffer);
    const lane = laneOf(0);
    openLane(region, lane, 2, sequence(0));
    publishRun(region, lane, range(1, 600_000).map(entry));
    expect(region.m.length).toBeGreaterThan(view.m.length);
    let n: number;
    const from = noOffer();
    while ((n = offer(view, lane, 255, 1, entriesOf(1), from)) === LOST);
    expect(take(view.m, from, n)).toBe(true);
    expect([...view.m.subarray(entriesOf(1), entriesOf(1) + 255)]).toEqual(range(1, 255));
  });
});

describe('opening a lane', () => {
  it('is refused at the limit of memory, and the lane stays as it was', () => {
    const region = createRegion(2, 2 ** 21);
    expect(openLane(region, laneOf(0), 2 ** 20, sequence(0))).toBe(false);
    expect([region.m[laneOf(0) + LANE_RING], region.m[laneOf(0) + LANE_LAST]]).toEqual([NONE, NONE]);
    expect(openLane(region, laneOf(0), 4, sequence(0))).toBe(true);
  });
});
