/** The life of a slot's thread, as the words say it, and the phase that lets no job start any more. */
import { describe, expect, it } from 'vitest';
import { hasBit, LIVE_BITS, SLOT_LIFE, slotAt } from '#memory';
import { LEAVING, LIVE, mayStart, runningWorkers, STARTING, stopStarting, toLeaving, toLive, toStarting, toVacant, VACANT } from '#pool';
import { slot } from '../ring/battery.ts';
import { worldOf } from './world.ts';

const worker = slot(33);

describe('a thread', () => {
  it('counts as running from before it is started until it leaves', () => {
    const { m } = worldOf(40);
    const life = (): unknown[] => [m[slotAt(worker) + SLOT_LIFE], hasBit(m, LIVE_BITS, worker), runningWorkers(m)];
    expect(life()).toEqual([VACANT, false, 0]);
    toStarting(m, worker);
    expect(life()).toEqual([STARTING, true, 1]);
    toLive(m, worker);
    expect(life()).toEqual([LIVE, true, 1]);
    toLeaving(m, worker);
    expect(life()).toEqual([LEAVING, false, 0]);
    expect(toVacant(m, worker)).toBe(LEAVING);
    expect(life()).toEqual([VACANT, false, 0]);
  });

  it('that ends without a word leaves a vacant slot, and the host learns how far it had come', () => {
    const { m } = worldOf(40);
    toStarting(m, worker);
    expect(toVacant(m, worker)).toBe(STARTING);
    toStarting(m, worker);
    toLive(m, worker);
    expect([toVacant(m, worker), runningWorkers(m)]).toEqual([LIVE, 0]);
  });
});

describe('jobs', () => {
  it('may start until starting is stopped, for good', () => {
    const { m } = worldOf(2);
    expect(mayStart(m)).toBe(true);
    stopStarting(m);
    stopStarting(m);
    expect(mayStart(m)).toBe(false);
  });
});
