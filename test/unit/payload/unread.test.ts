/** The count of unread results: raised, lowered, taken back from the dead, and the word that says it fell. One thread. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Slot } from '#base';
import { createRegion, HOST, SLOT_FALL, SLOT_UNREAD, slotAt } from '#memory';
import { forgetRaised, isUnreadFull, lowerUnread, nextFall, raiseUnread, takeBackRaised, unreadMost } from '#payload';
import { diesAfter } from '../pool/world.ts';

const WORKER = 1 as Slot;
const MOST: number = unreadMost(1_000);
let m: Int32Array;
const unread = (): number => m[slotAt(HOST) + SLOT_UNREAD] as number;
const falls = (): number => m[slotAt(HOST) + SLOT_FALL] as number;

beforeEach(() => {
  m = createRegion(3, 2 ** 22).m;
});

describe('unread results', () => {
  it('hold workers back from the most allowed on, and say once that they fell to half', () => {
    raiseUnread(m, WORKER, HOST, 600);
    expect(isUnreadFull(m, HOST, MOST)).toBe(false);
    raiseUnread(m, WORKER, HOST, 600);
    expect([isUnreadFull(m, HOST, MOST), falls()]).toEqual([true, 0]);
    lowerUnread(m, HOST, 600, MOST);
    expect(falls()).toBe(0);
    lowerUnread(m, HOST, 600, MOST);
    expect([unread(), falls(), isUnreadFull(m, HOST, MOST)]).toEqual([0, 1, false]);
  });

  it('are awaited only while they hold somebody back', () => {
    expect(nextFall(m, HOST, () => false)).toBeUndefined();
    expect(nextFall(m, HOST, () => true)).toBeInstanceOf(Promise);
  });
});

describe('what a worker raised and died before it settled', () => {
  it('17.2 is taken back, so that nobody waits for a result that never comes', () => {
    raiseUnread(m, WORKER, HOST, 2_000);
    takeBackRaised(m, HOST, WORKER);
    expect([unread(), falls(), isUnreadFull(m, HOST, MOST)]).toEqual([0, 1, false]);
    takeBackRaised(m, HOST, WORKER); // once
    expect(unread()).toBe(0);
  });

  it('17.2 is never left standing, wherever the worker was struck', () => {
    let deaths = 0;
    for (let steps = 0; diesAfter(steps, () => raiseUnread(m, WORKER, HOST, 2_000)); steps++) {
      deaths++;
      takeBackRaised(m, HOST, WORKER);
      expect(unread()).toBeLessThanOrEqual(0);
    }
    expect(deaths).toBe(1);
  });

  it('is not taken back once the job is settled: the submitter lowers it as it frees the result', () => {
    raiseUnread(m, WORKER, HOST, 2_000);
    forgetRaised(m, WORKER);
    takeBackRaised(m, HOST, WORKER);
    lowerUnread(m, HOST, 2_000, MOST);
    expect(unread()).toBe(0);
  });
});
