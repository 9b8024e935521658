/** Claiming: the ring's battery through `claim`, then sizes, collisions, front lanes, rotation, giving back. */
import vm from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Entry, Slot } from '#base';
import {
  allocate,
  BATCH_MAX,
  createRegion,
  FRONT_BITS,
  HOST,
  hasBit,
  IDLE_BITS,
  LIVE_BITS,
  NONE,
  REGION_TOP,
  type Region,
  RING_HEAD,
  SLOT_BATCH,
  setBit,
  slotAt,
} from '#memory';
import { type Claimer, claim, claimer, giveBack, NO_ENTRY, takeNext } from '#pool';
import { publish, publishRun } from '#ring';
import { battery, entry, type Fifo, range, type Shape, sequence, slot } from '../ring/battery.ts';
import { interrupted } from '../ring/interrupt.ts';
import { announcedBy, claimAll, laneOf, leftInBatch, ringOf, submitterIn, workerIn, worldOf } from './world.ts';

/** Producers in the first slots, consumers behind them. */
function throughThePool({ start, capacity, producers, consumers, maxBytes }: Shape): Fifo {
  const region = createRegion(producers + consumers, maxBytes);
  for (const p of range(0, producers)) submitterIn(region, slot(p), capacity, start);
  setBit(region.m, LIVE_BITS, slot(producers)); // one runs, so its share is all
  const workers = range(0, consumers).map((c) => {
    const worker = claimer(region, slot(producers + c), BATCH_MAX, sequence(start));
    worker.size = BATCH_MAX;
    return worker;
  });
  return {
    publish: (p, value) => publish(region, laneOf(slot(p)), entry(value)),
    publishRun: (p, values) => publishRun(region, laneOf(slot(p)), values.map(entry)),
    claim: (c, most) => claimAll(workers[c] as Claimer, most),
    words: () => region.m[REGION_TOP] as number,
  };
}

battery('claiming', throughThePool);

/** Values from 1 in the host's lane, and a worker in slot 1. */
function setUp(values: number, size = 1, maxBatchSize = 255): { region: Region; worker: Claimer } {
  const region = worldOf(5);
  submitterIn(region, HOST);
  if (values > 0) publishRun(region, laneOf(HOST), range(1, values).map(entry));
  return { region, worker: workerIn(region, slot(1), size, maxBatchSize) };
}
const at = (worker: Claimer): number => slotAt(worker.slot);

/** Ends `fn` if it loops for ever: vitest cannot. */
function bounded<T>(fn: () => T): T {
  const context = globalThis as { bounded?: () => T };
  context.bounded = fn;
  try {
    return vm.runInThisContext('bounded()', { timeout: 20_000 }) as T;
  } finally {
    delete context.bounded;
  }
}

describe('a claim of one', () => {
  it('gives the oldest job, announced, and makes no batch', () => {
    const { region, worker } = setUp(3);
    expect(claim(worker, 64)).toBe(1);
    expect([announcedBy(region, worker.slot), leftInBatch(region, worker.slot)]).toEqual([[1], 0]);
    expect(takeNext(region.m, at(worker))).toBe(NO_ENTRY);
    expect([claim(worker, 64), claim(worker, 64), claim(worker, 64)]).toEqual([2, 3, NO_ENTRY]);
  });

  it('stays a claim of one as long as nobody collides', () => {
    const { worker } = setUp(50);
    for (const expected of range(1, 50)) expect(claimAll(worker, 64)).toEqual([expected]);
    expect(worker.size).toBe(1);
  });
});

describe('a claim of several', () => {
  it('gives the first, and the rest one by one in order', () => {
    const { region, worker } = setUp(5, 4);
    expect(claim(worker, 64)).toBe(1);
    expect([announcedBy(region, worker.slot), leftInBatch(region, worker.slot)]).toEqual([[1, 2, 3, 4], 3]);
    expect(range(0, 4).map(() => takeNext(region.m, at(worker)))).toEqual([2, 3, 4, NO_ENTRY]);
    expect(claimAll(worker, 64)).toEqual([5]);
  });

  it('is no more than the share of one among the workers that run, rounded up: parked ones do not count, starting ones do', () => {
    const { region, worker } = setUp(10, 64);
    setBit(region.m, LIVE_BITS, slot(2));
    setBit(region.m, LIVE_BITS, slot(3)); // parked
    setBit(region.m, IDLE_BITS, slot(3));
    setBit(region.m, LIVE_BITS, slot(4));
    expect(claimAll(worker, 64)).toEqual([1, 2, 3, 4]); // ten among three
    expect(claimAll(worker, 64)).toEqual([5, 6]); // six among three
  });

  it('is no more than `most`, even where its share and size are larger', () => {
    const { worker } = setUp(10, 64);
    expect(claimAll(worker, 3)).toEqual([1, 2, 3]);
    expect(claimAll(worker, 1)).toEqual([4]);
  });

  it('is never more than a batch has room for', () => {
    const { worker } = setUp(300, 1000, 1000);
    expect(worker.maxBatchSize).toBe(BATCH_MAX);
    worker.size = worker.maxBatchSize;
    expect(claimAll(worker, 1000)).toEqual(range(1, BATCH_MAX));
  });
});

describe('a collision', () => {
  it('gives the job in question to the other, the next to the loser, and doubles the size of the loser’s claims up to its maximum', () => {
    const { region, worker } = setUp(60, 1, 6);
    const other = workerIn(region, slot(2));
    const got: number[] = [];
    const sizes: number[] = [];
    for (let k = 0; k < 5; k++) {
      const collide = (): void => void got.push(claim(other, 1));
      got.push(interrupted('before', 'compareExchange', ringOf(region, HOST) + RING_HEAD, collide, () => claim(worker, 64)));
      for (let next = takeNext(region.m, at(worker)); next !== NO_ENTRY; next = takeNext(region.m, at(worker))) got.push(next);
      sizes.push(worker.size);
    }
    expect(sizes).toEqual([2, 4, 6, 6, 6]);
    expect(other.size).toBe(1);
    expect(got).toEqual(range(1, got.length));
  });

  it('finds its entries announced before the exchange, so that a death there loses nothing', () => {
    const { region, worker } = setUp(4, 3);
    let seen: number[] = [];
    const look = (): void => {
      seen = announcedBy(region, worker.slot);
    };
    interrupted('before', 'compareExchange', ringOf(region, HOST) + RING_HEAD, look, () => claim(worker, 64));
    expect(seen).toEqual([1, 2, 3]);
  });
});

describe('front lanes', () => {
  it('come before lanes, and what was given back keeps its order: the job in hand, then the rest of the batch', () => {
    const { region, worker } = setUp(8, 4);
    const other = workerIn(region, slot(2));
    const inHand = claim(worker, 4);
    expect(takeNext(region.m, at(worker))).toBe(2); // it ran 1 and has 2 in hand
    expect(inHand).toBe(1);
    expect(giveBack(worker, entry(2))).toBe(true);
    expect([leftInBatch(region, worker.slot), takeNext(region.m, at(worker))]).toEqual([0, NO_ENTRY]);
    expect(range(0, 8).map(() => claim(other, 1))).toEqual([2, 3, 4, 5, 6, 7, 8, NO_ENTRY]);
  });

  it('hold what several workers gave back, all of it before any lane', () => {
    const { region, worker } = setUp(8);
    const other = workerIn(region, slot(2));
    const third = workerIn(region, slot(3));
    const [one, two] = [claim(worker, 1), claim(other, 1)];
    giveBack(other, two);
    giveBack(worker, one);
    expect(range(0, 3).map(() => claim(third, 1)).sort()).toEqual([1, 2, 3]);
  });

  it('stay announced by the giver, since it may die before they are published', () => {
    const { region, worker } = setUp(3, 3);
    const first = claim(worker, 3);
    giveBack(worker, first);
    expect(announcedBy(region, worker.slot)).toEqual([1, 2, 3]);
  });

  it('are not marked by a worker that has nothing to give back, and are unmarked by the one that finds them empty', () => {
    const { region, worker } = setUp(1);
    const marked = (): boolean => hasBit(region.m, FRONT_BITS, worker.slot);
    expect([giveBack(worker, NO_ENTRY), marked()]).toEqual([true, false]);
    giveBack(worker, claim(worker, 1));
    expect([marked(), claim(worker, 1), marked(), claim(worker, 1), marked()]).toEqual([true, 1, true, NO_ENTRY, false]);
  });

  it('are used again and again without new memory', () => {
    const { region, worker } = setUp(40, 40);
    const cycle = (): Entry[] => {
      const first = claim(worker, 40);
      giveBack(worker, first);
      return claimAll(worker, 40);
    };
    publishRun(region, laneOf(HOST), cycle());
    const top = region.m[REGION_TOP];
    for (let k = 0; k < 20; k++) {
      const all = cycle();
      expect(all).toEqual(range(1, 40));
      publishRun(region, laneOf(HOST), all);
    }
    expect(region.m[REGION_TOP]).toBe(top);
  });

  it('that cannot be had at the limit of memory are answered with false, and the jobs stay announced', () => {
    const { region, worker } = setUp(3, 3);
    const first = claim(worker, 3);
    for (const words of [2 ** 16, 2 ** 10, 16]) while (allocate(region, words) !== NONE);
    expect(giveBack(worker, first)).toBe(false);
    expect(announcedBy(region, worker.slot)).toEqual([1, 2, 3]);
  });
});

describe('rotation', () => {
  /** Lanes in different words of the bitmap, at its start and end. */
  const HOMES = [0, 1, 33, 70].map(slot);
  const lanes = (): { region: Region; worker: Claimer } => {
    const region = worldOf(72);
    for (const home of HOMES) submitterIn(region, home);
    return { region, worker: workerIn(region, slot(40)) };
  };
  const fill = (region: Region, home: Slot, count: number): void => {
    publishRun(region, laneOf(home), range(home * 1000 + 1, count).map(entry));
  };

  it('serves the lanes in turn while all of them have jobs', () => {
    const { region, worker } = lanes();
    for (const home of HOMES) fill(region, home, 3);
    const served = range(0, 12).map(() => Math.floor(claim(worker, 1) / 1000));
    expect(served).toEqual([...HOMES, ...HOMES, ...HOMES]);
    expect(claim(worker, 1)).toBe(NO_ENTRY);
  });

  it('passes over empty lanes, and finds the only one with jobs wherever it begins', () => {
    for (const home of HOMES) {
      for (const first of [0, ...HOMES, ...HOMES.map((k) => k + 1), 71]) {
        const { region, worker } = lanes();
        worker.rotation = first;
        fill(region, home, 2);
        expect([claim(worker, 1), claim(worker, 1)]).toEqual([home * 1000 + 1, home * 1000 + 2]);
      }
    }
  });

  it('ends when all lanes are empty, wherever it begins', () => {
    const { worker } = lanes();
    for (const first of range(0, 72)) {
      worker.rotation = first;
      expect(bounded(() => claim(worker, 1))).toBe(NO_ENTRY);
    }
  });

  it('ends in a region whose only lane was served before', () => {
    const { worker } = setUp(1);
    expect(claim(worker, 1)).toBe(1);
    expect(bounded(() => claim(worker, 1))).toBe(NO_ENTRY);
  });

  it('ends where nobody has opened a lane', () => {
    const worker = workerIn(worldOf(3), slot(1));
    expect(bounded(() => claim(worker, 1))).toBe(NO_ENTRY);
  });
});

describe('a batch that two threads reach for', () => {
  const batchWord = (worker: Claimer): number => at(worker) + SLOT_BATCH;

  it('whose rest is taken away while the worker takes the next job gives that job to the front lane, not to the worker', () => {
    const { region, worker } = setUp(4, 4);
    const other = workerIn(region, slot(2));
    claim(worker, 4);
    const rescue = (): void => void giveBack(worker, NO_ENTRY);
    expect(interrupted('before', 'compareExchange', batchWord(worker), rescue, () => takeNext(region.m, at(worker)))).toBe(NO_ENTRY);
    expect(range(0, 4).map(() => claim(other, 1))).toEqual([2, 3, 4, NO_ENTRY]);
  });

  it('whose next job is taken while its rest is given back keeps that job out of what is given back', () => {
    const { region, worker } = setUp(4, 4);
    const other = workerIn(region, slot(2));
    claim(worker, 4);
    let taken = NO_ENTRY;
    const start = (): void => {
      taken = takeNext(region.m, at(worker));
    };
    interrupted('before', 'compareExchange', batchWord(worker), start, () => giveBack(worker, NO_ENTRY));
    expect(taken).toBe(2);
    expect(range(0, 3).map(() => claim(other, 1))).toEqual([3, 4, NO_ENTRY]);
  });

  it('is told from the next one of the same size by its epoch: whoever looked at the old one gets nothing', () => {
    const { region, worker } = setUp(8, 4);
    claim(worker, 4);
    const nextBatch = (): void => {
      while (takeNext(region.m, at(worker)) !== NO_ENTRY);
      expect(claim(worker, 4)).toBe(5); // next is 1 and count is 4, as it was
    };
    expect(interrupted('before', 'compareExchange', batchWord(worker), nextBatch, () => takeNext(region.m, at(worker)))).toBe(NO_ENTRY);
    expect(range(0, 4).map(() => takeNext(region.m, at(worker)))).toEqual([6, 7, 8, NO_ENTRY]);
  });
});

describe('a lane that opens while a worker runs', () => {
  it('is claimed from like those that were there before', () => {
    const { region, worker } = setUp(0);
    expect(bounded(() => claim(worker, 1))).toBe(NO_ENTRY);
    submitterIn(region, slot(4));
    publish(region, laneOf(slot(4)), entry(9));
    expect(claim(worker, 1)).toBe(9);
  });
});
