/** A region with lanes for some producers, the words beside it, and a ledger of what was taken. Used in vitest's fork. */
import { expect } from 'vitest';
import { createRegion, LANE_BITS, LIVE_BITS, type Region, SLOT_LANE, setBit, slotAt } from '#memory';
import { openLane } from '#ring';
import { range, sequence, slot } from '../../unit/ring/battery.ts';
import { crew } from './crew.ts';
import { CONTROL_WORDS, PER_PRODUCER } from './words.js';

const THREADS = new URL('./threads.js', import.meta.url);

export interface Scene {
  readonly region: Region;
  readonly control: Int32Array;
  /** By value: how often it was taken. */
  readonly ledger: Int32Array;
  readonly producers: number;
  readonly consumers: number;
}

/** Producers have the first slots, consumers those behind them. */
export function scene(shape: { start: number; capacity: number; producers: number; consumers: number }): Scene {
  const { start, capacity, producers, consumers } = shape;
  const region = createRegion(producers + consumers, 2 ** 26);
  for (const p of range(0, producers)) {
    openLane(region, slotAt(slot(p)) + SLOT_LANE, capacity, sequence(start));
    setBit(region.m, LANE_BITS, slot(p));
  }
  for (const c of range(producers, consumers)) setBit(region.m, LIVE_BITS, slot(c));
  const words = (count: number): Int32Array => new Int32Array(new SharedArrayBuffer(count * 4));
  return { region, control: words(CONTROL_WORDS), ledger: words(producers * PER_PRODUCER + 1), producers, consumers };
}

/** Runs one thread for each producer and consumer; reports in that order. */
export async function perform<Report>(
  { region, control, ledger, producers, consumers }: Scene,
  producer: object,
  consumer: object,
  meanwhile?: () => Promise<void>,
): Promise<{ produced: number[]; reports: Report[] }> {
  const common = { buffer: region.buffer, control, ledger, producers, threads: producers + consumers, lanes: range(0, producers) };
  const all = await crew<number | Report>(
    THREADS,
    [
      ...range(0, producers).map((p) => ({ ...common, role: 'produce', run: 1, milliseconds: 60_000, ...producer, slot: p })),
      ...range(producers, consumers).map((c) => ({ ...common, role: 'consume', through: 'lanes', most: 8, ...consumer, slot: c })),
    ],
    meanwhile,
  );
  return { produced: all.slice(0, producers) as number[], reports: all.slice(producers) as Report[] };
}

/** Fails unless each value was taken exactly once. `produced`: how many, by producer. */
export function expectExactlyOnce({ ledger }: Scene, produced: readonly number[]): void {
  const wrong: string[] = [];
  for (const [p, count] of produced.entries()) {
    for (let n = 1; n < PER_PRODUCER; n++) {
      const times = ledger[p * PER_PRODUCER + n] as number;
      if (times !== (n <= count ? 1 : 0)) wrong.push(`value ${n} of producer ${p}: taken ${times} times`);
    }
  }
  expect(wrong.slice(0, 5)).toEqual([]);
}
