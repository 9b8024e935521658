/** Bitmaps over slots, one bit a slot: reading, setting, and the clearing that has one winner. Any thread. */
import { and, load, or } from '#atomics';
import { Math, type Slot } from '#base';

const bitOf = (slot: Slot): number => 1 << (slot & 31);
const wordOf = (bits: number, slot: Slot): number => bits + (slot >>> 5);

/** Words that hold `slots` bits. */
export const bitmapWords = (slots: number): number => (slots + 31) >>> 5;

export function setBit(m: Int32Array, bits: number, slot: Slot): void {
  or(m, wordOf(bits, slot), bitOf(slot));
}

/** True for the one caller that found the bit set. */
export function clearBit(m: Int32Array, bits: number, slot: Slot): boolean {
  return (and(m, wordOf(bits, slot), ~bitOf(slot)) & bitOf(slot)) !== 0;
}

export function hasBit(m: Int32Array, bits: number, slot: Slot): boolean {
  return (load(m, wordOf(bits, slot)) & bitOf(slot)) !== 0;
}

export function popCount(word: number): number {
  let v = word - ((word >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return (Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24) & 63;
}

/** The first set bit at or after slot `from`, or -1. */
export function nextBit(m: Int32Array, bits: number, words: number, from: number): Slot | -1 {
  let w = from >>> 5;
  if (w >= words) return -1;
  let word = load(m, bits + w) & (-1 << (from & 31));
  while (word === 0) {
    if (++w === words) return -1;
    word = load(m, bits + w);
  }
  return (w * 32 + 31 - Math.clz32(word & -word)) as Slot;
}
