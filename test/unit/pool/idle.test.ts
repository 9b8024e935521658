/** Parking and waking, step by step; the interleavings are put in by hand. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Slot } from '#base';
import { hasBit, IDLE_BITS, LIVE_BITS, REGION_SEARCHER, REGION_TARGET, REGION_TICKET, type Region, SLOT_PERMIT, SLOT_TICKET, setBit, slotAt } from '#memory';
import { ENOUGH, endSearch, publishIdle, runningWorkers, START_ONE, startSearch, unparkHottest, WOKE_ONE, wakeFor, withdrawIdle } from '#pool';
import { within } from '../../support/index.ts';
import { range, slot } from '../ring/battery.ts';
import { interrupted } from '../ring/interrupt.ts';
import { worldOf } from './world.ts';

/** In three words of the bitmap, at their ends. */
const WORKERS = [1, 31, 32, 63, 64, 90].map(slot);
let region: Region;
let m: Int32Array;

beforeEach(() => {
  region = worldOf(91);
  m = region.m;
  for (const worker of WORKERS) setBit(m, LIVE_BITS, worker);
});

const permit = (worker: Slot): number => m[slotAt(worker) + SLOT_PERMIT] as number;
const isIdle = (worker: Slot): boolean => hasBit(m, IDLE_BITS, worker);
/** Wakes all, and says who was woken, in this order. */
const wakeOrder = (): Slot[] => {
  const order: Slot[] = [];
  for (;;) {
    const before = WORKERS.filter(isIdle);
    if (!unparkHottest(m)) return order;
    order.push(...before.filter((worker) => !isIdle(worker)));
  }
};

describe('the number of running workers', () => {
  it('is that of the live ones that are not parked, over all words of the bitmap', () => {
    expect(runningWorkers(m)).toBe(6);
    for (const [k, worker] of WORKERS.entries()) {
      publishIdle(m, worker);
      expect(runningWorkers(m)).toBe(5 - k);
    }
    unparkHottest(m);
    expect(runningWorkers(m)).toBe(1);
    withdrawIdle(m, slot(1));
    expect(runningWorkers(m)).toBe(2);
  });
});

describe('parking', () => {
  it('takes back an old permit and draws a ticket before it shows that the worker is idle', () => {
    const worker = slot(32);
    m[slotAt(worker) + SLOT_PERMIT] = 1;
    m[REGION_TICKET] = 41;
    let seen: unknown;
    const look = (): void => {
      seen = [permit(worker), m[slotAt(worker) + SLOT_TICKET], isIdle(worker)];
    };
    interrupted('before', 'or', IDLE_BITS + 1, look, () => publishIdle(m, worker));
    expect(seen).toEqual([0, 41, false]);
    expect([isIdle(worker), m[REGION_TICKET]]).toEqual([true, 42]);
  });

  it('is undone once: the worker that withdraws knows whether a waker was first', () => {
    publishIdle(m, slot(31));
    expect([withdrawIdle(m, slot(31)), withdrawIdle(m, slot(31))]).toEqual([true, false]);
    publishIdle(m, slot(31));
    unparkHottest(m);
    expect(withdrawIdle(m, slot(31))).toBe(false);
  });
});

describe('unparking', () => {
  it('wakes the worker that waits for its permit', async () => {
    publishIdle(m, slot(63));
    const wait = Atomics.waitAsync(m, slotAt(slot(63)) + SLOT_PERMIT, 0);
    expect(wait.async).toBe(true);
    expect(unparkHottest(m)).toBe(true);
    expect(await within(wait.value as Promise<string>, 'the permit')).toBe('ok');
    expect(permit(slot(63))).toBe(1);
  });

  it('lets a worker through that has not begun to wait yet', () => {
    publishIdle(m, slot(63));
    unparkHottest(m);
    expect(Atomics.waitAsync(m, slotAt(slot(63)) + SLOT_PERMIT, 0)).toEqual({ async: false, value: 'not-equal' });
  });

  it('gives one permit at a time, and says when nobody is parked', () => {
    expect(unparkHottest(m)).toBe(false);
    publishIdle(m, slot(1));
    publishIdle(m, slot(90));
    unparkHottest(m);
    expect(WORKERS.map(permit).reduce((a, b) => a + b)).toBe(1);
    expect([unparkHottest(m), unparkHottest(m)]).toEqual([true, false]);
  });

  it.each([0, 2 ** 31 - 3, 2 ** 32 - 3])('wakes the last to park first, in any word of the bitmap, with tickets from %i on', (ticket) => {
    m[REGION_TICKET] = ticket;
    const parked = [slot(64), slot(1), slot(90), slot(32), slot(31), slot(63)];
    for (const worker of parked) publishIdle(m, worker);
    expect(wakeOrder()).toEqual(parked.reverse());
  });

  it('by two at once wakes two workers, each once', () => {
    publishIdle(m, slot(1));
    publishIdle(m, slot(31));
    let other = false;
    const meanwhile = (): void => {
      other = unparkHottest(m);
    };
    expect(interrupted('before', 'and', IDLE_BITS, meanwhile, () => unparkHottest(m))).toBe(true);
    expect([other, permit(slot(1)), permit(slot(31)), unparkHottest(m)]).toEqual([true, 1, 1, false]);
  });

  it('by two at once of the only one is one wake-up: the other says that nobody is parked', () => {
    publishIdle(m, slot(1));
    let other = false;
    const meanwhile = (): void => {
      other = unparkHottest(m);
    };
    expect(interrupted('before', 'and', IDLE_BITS, meanwhile, () => unparkHottest(m))).toBe(false);
    expect([other, permit(slot(1))]).toEqual([true, 1]);
  });

  it('passes over a worker that withdrew at the last moment, and gives it no permit', () => {
    publishIdle(m, slot(64));
    publishIdle(m, slot(1));
    const meanwhile = (): void => void withdrawIdle(m, slot(1));
    expect(interrupted('before', 'and', IDLE_BITS, meanwhile, () => unparkHottest(m))).toBe(true);
    expect([permit(slot(1)), permit(slot(64))]).toEqual([0, 1]);
  });
});

describe('a publisher that looks for somebody to wake', () => {
  it('leaves the parked ones alone while as many run as should', () => {
    m[REGION_TARGET] = 4;
    publishIdle(m, slot(1));
    publishIdle(m, slot(31));
    expect([runningWorkers(m), wakeFor(m), permit(slot(1)), permit(slot(31))]).toEqual([4, ENOUGH, 0, 0]);
  });

  it('wakes the hottest when fewer run, and one more each time, until enough run', () => {
    m[REGION_TARGET] = 5;
    for (const worker of [1, 31, 32].map(slot)) publishIdle(m, worker);
    expect(wakeFor(m)).toBe(WOKE_ONE);
    expect([isIdle(slot(1)), isIdle(slot(31)), isIdle(slot(32))]).toEqual([true, true, false]);
    expect([wakeFor(m), wakeFor(m), isIdle(slot(1))]).toEqual([WOKE_ONE, ENOUGH, true]);
  });

  it('asks for a thread when fewer run than should and nobody is parked', () => {
    m[REGION_TARGET] = 7;
    expect(wakeFor(m)).toBe(START_ONE);
    publishIdle(m, slot(90));
    expect([wakeFor(m), wakeFor(m)]).toEqual([WOKE_ONE, START_ONE]);
  });

  it('relies on a worker that searches, and no longer once the search has ended', () => {
    m[REGION_TARGET] = 6;
    publishIdle(m, slot(90));
    expect(startSearch(m, slot(31))).toBe(true);
    expect([wakeFor(m), permit(slot(90))]).toEqual([ENOUGH, 0]);
    endSearch(m);
    expect([wakeFor(m), permit(slot(90))]).toEqual([WOKE_ONE, 1]);
  });
});

describe('searching', () => {
  it('is for one at a time', () => {
    expect(range(1, 3).map((k) => startSearch(m, slot(k)))).toEqual([true, false, false]);
    expect(m[REGION_SEARCHER]).toBe(1);
    endSearch(m);
    expect(startSearch(m, slot(2))).toBe(true);
  });

  it('has one winner when two begin at once', () => {
    let other = false;
    const meanwhile = (): void => {
      other = startSearch(m, slot(2));
    };
    expect(interrupted('before', 'compareExchange', REGION_SEARCHER, meanwhile, () => startSearch(m, slot(1)))).toBe(false);
    expect([other, m[REGION_SEARCHER]]).toEqual([true, 2]);
  });
});
