/** Bitmaps against a naive model; and the clearing that has one winner, with real threads. */
import { describe, expect, it } from 'vitest';
import type { Slot } from '#base';
import { bitmapWords, clearBit, hasBit, nextBit, popCount, setBit } from '#memory';
import { crew } from '../../stress/ring/crew.ts';
import { seeded } from '../../support/index.ts';

const WORDS = 5;
const BITS = WORDS * 32;
/** A bitmap in the midst of other words, all ones, that it must not touch. */
const BEFORE = 2;
const fresh = (): Int32Array => {
  const m = new Int32Array(new SharedArrayBuffer((BEFORE + WORDS + 2) * 4)).fill(-1);
  return m.fill(0, BEFORE, BEFORE + WORDS);
};
const naiveNext = (set: ReadonlySet<number>, from: number): number => {
  for (let k = from; k < BITS; k++) if (set.has(k)) return k;
  return -1;
};

describe('popCount', () => {
  it('counts the ones of random words, and of words with none, one and all', () => {
    const random = seeded();
    const words = [0, -1, ...Array.from({ length: 32 }, (_, k) => 1 << k), ...Array.from({ length: 2_000 }, () => random.int(0, 2 ** 32 - 1) | 0)];
    for (const word of words) expect(popCount(word), `of ${word}`).toBe((word >>> 0).toString(2).replaceAll('0', '').length);
  });
});

describe('bitmapWords', () => {
  it('gives a word for every 32 slots begun', () => {
    expect([1, 31, 32, 33, 64, 65, 2080].map(bitmapWords)).toEqual([1, 1, 1, 2, 2, 3, 65]);
  });
});

describe('a bitmap', () => {
  it('agrees with a set of numbers after every one of many random changes', () => {
    const random = seeded();
    const m = fresh();
    const set = new Set<number>();
    for (let k = 0; k < 3_000; k++) {
      const slot = random.int(0, BITS - 1) as Slot;
      if (random.next() < 0.3) {
        setBit(m, BEFORE, slot);
        set.add(slot);
      } else expect(clearBit(m, BEFORE, slot)).toBe(set.delete(slot));
      const other = random.int(0, BITS - 1) as Slot;
      expect(hasBit(m, BEFORE, other)).toBe(set.has(other));
      const from = random.int(0, BITS + 40);
      expect(nextBit(m, BEFORE, WORDS, from), `after ${from} in ${[...set]}`).toBe(naiveNext(set, from));
    }
    expect([m[0], m[1], m[BEFORE + WORDS], m[BEFORE + WORDS + 1]]).toEqual([-1, -1, -1, -1]);
  });

  it('finds each single bit from every place at or before it, and none from behind it', () => {
    for (let bit = 0; bit < BITS; bit++) {
      const m = fresh();
      setBit(m, BEFORE, bit as Slot);
      for (const from of [0, bit - 32, bit - 1, bit].filter((k) => k >= 0)) expect(nextBit(m, BEFORE, WORDS, from)).toBe(bit);
      expect(nextBit(m, BEFORE, WORDS, bit + 1)).toBe(-1);
    }
  });

  it('tells the first who clears a bit that it won, and the second that it did not', () => {
    const m = fresh();
    setBit(m, BEFORE, 31 as Slot);
    setBit(m, BEFORE, 30 as Slot);
    expect([clearBit(m, BEFORE, 31 as Slot), clearBit(m, BEFORE, 31 as Slot)]).toEqual([true, false]);
    expect(hasBit(m, BEFORE, 30 as Slot)).toBe(true);
  });

  it('has one winner for each bit when three threads clear all of them at once', async () => {
    const bits = 200_000;
    const m = new Int32Array(new SharedArrayBuffer(bitmapWords(bits) * 4)).fill(-1);
    const gates = new Int32Array(new SharedArrayBuffer(4));
    const jobs = [0, 1, 2].map((me) => ({ task: 'clear', me, threads: 3, gates, m, bits }));
    const won = (await crew<number[]>(new URL('./threads.js', import.meta.url), jobs)).flat();
    expect(won.length).toBe(bits);
    expect(new Set(won).size).toBe(bits);
    expect(m.every((word) => word === 0)).toBe(true);
  });
});
