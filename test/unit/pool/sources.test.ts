/** Where workers look for jobs, and the bit that says that a front lane may hold some. */
import { describe, expect, it } from 'vitest';
import { FRONT_BITS, HOST, hasBit, type Region, SLOT_FRONT, slotAt } from '#memory';
import { anySource, claim, markFront, unmarkFront } from '#pool';
import { openLane, publish } from '#ring';
import { entry, sequence, slot } from '../ring/battery.ts';
import { interrupted } from '../ring/interrupt.ts';
import { laneOf, submitterIn, workerIn, worldOf } from './world.ts';

const frontOf = (k: number): number => slotAt(slot(k)) + SLOT_FRONT;
const marked = ({ m }: Region, k: number): boolean => hasBit(m, FRONT_BITS, slot(k));

describe('whether there is anything to claim', () => {
  it('is seen for the lane of every submitter and for every marked front lane', () => {
    const region = worldOf(70);
    expect(anySource(region)).toBe(false);
    for (const k of [0, 40, 69]) {
      submitterIn(region, slot(k));
      expect(anySource(region)).toBe(false);
      publish(region, laneOf(slot(k)), entry(1));
      expect(anySource(region)).toBe(true);
      claim(workerIn(region, slot(1)), 1);
      expect(anySource(region)).toBe(false);
      openLane(region, frontOf(k), 4, sequence(0));
      publish(region, frontOf(k), entry(2));
      markFront(region.m, slot(k));
      expect(anySource(region)).toBe(true);
      claim(workerIn(region, slot(1)), 1);
    }
  });
});

describe('a front lane found empty', () => {
  const empty = (): Region => {
    const region = worldOf(40);
    openLane(region, frontOf(33), 4, sequence(0));
    markFront(region.m, slot(33));
    return region;
  };

  it('is unmarked, and the others stay marked', () => {
    const region = empty();
    markFront(region.m, slot(34));
    unmarkFront(region, slot(33));
    expect([marked(region, 33), marked(region, 34)]).toEqual([false, true]);
  });

  it('stays marked if something was published in it meanwhile, before or after the bit was cleared', () => {
    for (const when of ['before', 'after'] as const) {
      const region = empty();
      const meanwhile = (): void => void publish(region, frontOf(33), entry(7)); // and its mark comes later
      interrupted(when, 'and', FRONT_BITS + 1, meanwhile, () => unmarkFront(region, slot(33)));
      expect(marked(region, 33)).toBe(true);
      submitterIn(region, HOST);
      expect(claim(workerIn(region, slot(1)), 1)).toBe(7);
    }
  });
});
