/** Claiming: the ring's battery through `claim`, then sizes, collisions, front lanes, rotation, giving back. */
import vm from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Entry, Slot, SlotAt } from '#base';
import {
  allocate,
  BATCH_MAX,
  clearBit,
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
import { type Claimer, claim, claimer, giveBack, NO_ENTRY, takeBatch, takeNext } from '#pool';
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
const at = (worker: Claimer): SlotAt => slotAt(worker.slot);
const exhaust = (region: Region): void => {
  for (const words of [2 ** 16, 2 ** 10, 16]) while (allocate(region, words) !== NONE);
};

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
  it('come before lanes, and what was given back keeps its order: the unstarted rest of the batch, without the jobs taken', () => {
    const { region, worker } = setUp(8, 5);
    const other = workerIn(region, slot(2));
    expect([claim(worker, 5), takeNext(region.m, at(worker))]).toEqual([1, 2]); // it ran 1 and has 2 in hand
    expect(giveBack(worker)).toBe(true);
    expect([leftInBatch(region, worker.slot), takeNext(region.m, at(worker))]).toEqual([0, NO_ENTRY]);
    expect(range(0, 7).map(() => claim(other, 1))).toEqual([3, 4, 5, 6, 7, 8, NO_ENTRY]);
  });

  it('hold what several workers gave back, all of it before any lane', () => {
    const { region, worker } = setUp(8, 2);
    const other = workerIn(region, slot(2), 2);
    const third = workerIn(region, slot(3));
    expect([claim(worker, 2), claim(other, 2)]).toEqual([1, 3]);
    giveBack(other);
    giveBack(worker);
    const got = range(0, 3).map(() => claim(third, 1));
    expect([got.slice(0, 2).sort(), got[2]]).toEqual([[2, 4], 5]);
  });

  it('stay announced by the giver, since it may die before they are published', () => {
    const { region, worker } = setUp(3, 3);
    claim(worker, 3);
    giveBack(worker);
    expect(announcedBy(region, worker.slot)).toEqual([1, 2, 3]);
  });

  it('are not marked by a worker that has nothing to give back, and are unmarked by the one that finds them empty', () => {
    const { region, worker } = setUp(3);
    const marked = (): boolean => hasBit(region.m, FRONT_BITS, worker.slot);
    expect([giveBack(worker), marked()]).toEqual([true, false]);
    expect([claim(worker, 1), giveBack(worker), marked()]).toEqual([1, true, false]); // a job in hand is no rest
    worker.size = 2;
    expect([claim(worker, 2), giveBack(worker)]).toEqual([2, true]);
    expect([marked(), claim(worker, 1), marked(), claim(worker, 1), marked()]).toEqual([true, 3, true, NO_ENTRY, false]);
  });

  it('are used again and again without new memory', () => {
    const { region, worker } = setUp(40, 40);
    const cycle = (): Entry[] => {
      const first = claim(worker, 40);
      giveBack(worker);
      return [first, ...claimAll(worker, 40)];
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

  it('that cannot be had at the limit of memory leave the batch as it was, and announced', () => {
    const { region, worker } = setUp(3, 3);
    expect(claim(worker, 3)).toBe(1);
    exhaust(region);
    expect(giveBack(worker)).toBe(false);
    expect(announcedBy(region, worker.slot)).toEqual([1, 2, 3]);
    expect(range(0, 3).map(() => takeNext(region.m, at(worker)))).toEqual([2, 3, NO_ENTRY]);
  });

  it('that cannot grow at the limit of memory leave the batch as it was, and announced', () => {
    const { region, worker } = setUp(100, 2);
    claim(worker, 2);
    giveBack(worker); // it has a front lane now, with room for fewer than the next batch
    expect([claim(worker, 2), claim(workerIn(region, slot(2)), 1)]).toEqual([2, 3]);
    worker.size = BATCH_MAX;
    clearBit(region.m, LIVE_BITS, slot(2));
    expect(claim(worker, BATCH_MAX)).toBe(4);
    exhaust(region);
    const before = announcedBy(region, worker.slot);
    expect(giveBack(worker)).toBe(false);
    expect(announcedBy(region, worker.slot)).toEqual(before);
    expect(range(0, 97).map(() => takeNext(region.m, at(worker)))).toEqual([...range(5, 96), NO_ENTRY]);
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
    const rescue = (): void => void giveBack(worker);
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
    interrupted('before', 'compareExchange', batchWord(worker), start, () => giveBack(worker));
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

describe('a batch that another thread takes', () => {
  const rescue = (region: Region, worker: Claimer, into: Entry[] = []): Entry[] => {
    takeBatch(region.m, worker.slot, into);
    return into;
  };

  it('gives its unstarted rest once, in order and behind what was there, and stays announced', () => {
    const { region, worker } = setUp(6, 5);
    claim(worker, 5);
    takeNext(region.m, at(worker));
    expect(rescue(region, worker, [entry(99)])).toEqual([99, 3, 4, 5]);
    expect([rescue(region, worker), takeNext(region.m, at(worker)), leftInBatch(region, worker.slot)]).toEqual([[], NO_ENTRY, 0]);
    expect(announcedBy(region, worker.slot)).toEqual([1, 2, 3, 4, 5]);
    expect(claim(worker, 1)).toBe(6);
  });

  it('gives nothing of a worker that holds none, or one job in hand', () => {
    const { region, worker } = setUp(1);
    expect(rescue(region, worker)).toEqual([]);
    claim(worker, 1);
    expect(rescue(region, worker)).toEqual([]);
  });

  it('from which its worker takes a job just then gives the others: no job goes to both, none to nobody', () => {
    const { region, worker } = setUp(4, 4);
    claim(worker, 4);
    const started: Entry[] = [];
    const start = (): void => void started.push(takeNext(region.m, at(worker)));
    const taken = interrupted('before', 'compareExchange', at(worker) + SLOT_BATCH, start, () => rescue(region, worker));
    expect([started, taken]).toEqual([[2], [3, 4]]);
  });

  it('that the next one replaced while the taker looked gives the rest of the next, and nothing of the old one', () => {
    const { region, worker } = setUp(8, 4);
    claim(worker, 4);
    const nextBatch = (): void => {
      while (takeNext(region.m, at(worker)) !== NO_ENTRY);
      expect(claim(worker, 4)).toBe(5);
    };
    expect(interrupted('before', 'compareExchange', at(worker) + SLOT_BATCH, nextBatch, () => rescue(region, worker))).toEqual([6, 7, 8]);
  });

  it('is taken by one of two at once', () => {
    const { region, worker } = setUp(4, 4);
    claim(worker, 4);
    const other: Entry[] = [];
    const meanwhile = (): void => void rescue(region, worker, other);
    const late = interrupted('before', 'compareExchange', at(worker) + SLOT_BATCH, meanwhile, () => rescue(region, worker));
    expect([other, late]).toEqual([[2, 3, 4], []]);
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
