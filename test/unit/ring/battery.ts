/**
 * What every FIFO between producers and consumers must do, under crossbeam's names: one battery for the bare lane, for claiming
 * through the pool, and for what comes later. Single-threaded: interleavings are chosen by seeded dice; `test/stress/ring` has
 * the same names with real threads.
 */
import { describe, expect, it } from 'vitest';
import type { Entry, Sequence, Slot } from '#base';
import { type Random, seeded } from '../../support/index.ts';

/** Values are integers from 1. */
export interface Fifo {
  /** Producer `p` puts in one value. False: no room is left, and nothing was put in. */
  publish(p: number, value: number): boolean;
  /** All or none, and nothing of another run in between. */
  publishRun(p: number, values: readonly number[]): boolean;
  /** Consumer `c` takes up to `most` values; none when there is nothing. */
  claim(c: number, most: number): number[];
  /** Words of shared memory taken so far, by whatever. */
  words(): number;
}

export interface Shape {
  /** Where sequences begin. */
  readonly start: number;
  /** Of the first ring of each producer. */
  readonly capacity: number;
  readonly producers: number;
  readonly consumers: number;
  readonly maxBytes: number;
}

export type Make = (shape: Shape) => Fifo;

export const STARTS = [0, 2 ** 31 - 8, 2 ** 32 - 8];
export const CAPACITIES = [2, 4, 64];
const ROOMY = 2 ** 24;
const SMALLEST = 2 ** 21;

export const sequence = (n: number): Sequence => (n | 0) as Sequence;
export const entry = (n: number): Entry => n as Entry;
export const slot = (n: number): Slot => n as Slot;
export const range = (first: number, count: number): number[] => Array.from({ length: count }, (_, k) => first + k);

/** Values say whose they are. */
const PER_PRODUCER = 1_000_000;
const producerOf = (value: number): number => Math.floor(value / PER_PRODUCER);
const valueOf = (p: number, n: number): number => p * PER_PRODUCER + n + 1;
const ascending = (values: readonly number[]): boolean => values.every((value, k) => k === 0 || (values[k - 1] as number) < value);

function drain(fifo: Fifo, most = 8): number[] {
  const all: number[] = [];
  for (let got = fifo.claim(0, most); got.length > 0; got = fifo.claim(0, most)) all.push(...got);
  return all;
}

interface Play {
  readonly published: number[];
  /** In the order of claiming, and by consumer. */
  readonly claimed: number[];
  readonly byConsumer: number[][];
}

/** Random steps until each producer has published `each` values and all are claimed. */
function play(fifo: Fifo, shape: Shape, random: Random, each: number): Play {
  const next = range(0, shape.producers).fill(0);
  const published: number[] = [];
  const claimed: number[] = [];
  const byConsumer: number[][] = range(0, shape.consumers).map(() => []);
  let eager = 0.5;
  while (claimed.length < each * shape.producers) {
    if (random.next() < 0.02) eager = random.pick([0.2, 0.5, 0.9]); // longer spells of filling and draining
    const unfinished = next.flatMap((n, p) => (n < each ? [p] : []));
    if (unfinished.length > 0 && random.next() < eager) {
      const p = random.pick(unfinished);
      const run = range(0, random.pick([1, 1, 2, 5])).map((k) => valueOf(p, (next[p] as number) + k)).slice(0, each - (next[p] as number));
      next[p] = (next[p] as number) + run.length;
      published.push(...run);
      expect(run.length === 1 ? fifo.publish(p, run[0] as number) : fifo.publishRun(p, run)).toBe(true);
    } else {
      const c = random.int(0, shape.consumers - 1);
      const most = random.int(1, 5);
      const got = fifo.claim(c, most);
      expect(got.length, 'more than was asked for').toBeLessThanOrEqual(most);
      if (published.length > claimed.length) expect(got.length, 'nothing, though values were there').toBeGreaterThan(0);
      claimed.push(...got);
      (byConsumer[c] as number[]).push(...got);
      expect(claimed.length, 'more than was put in').toBeLessThanOrEqual(published.length);
    }
  }
  return { published, claimed, byConsumer };
}

/** Declares the battery's tests for one kind of FIFO. */
export function battery(name: string, make: Make): void {
  const random = seeded(); // one for all: to have a failure again, run the whole file with its seed
  describe.each(STARTS)(`${name} whose sequences begin at %i`, (start) => {
    describe.each(CAPACITIES)('and whose first ring has %i places', (capacity) => {
      const one: Shape = { start, capacity, producers: 1, consumers: 1, maxBytes: ROOMY };

      it('smoke: gives back the one value that was put in, once, and nothing before and after', () => {
        const fifo = make(one);
        expect(fifo.claim(0, 4)).toEqual([]);
        expect(fifo.publish(0, 7)).toBe(true);
        expect(fifo.claim(0, 4)).toEqual([7]);
        expect(fifo.claim(0, 4)).toEqual([]);
      });

      it('capacity: takes as many values as it has places into the memory it has, and one more needs new memory', () => {
        const fifo = make(one);
        fifo.publish(0, 1);
        drain(fifo);
        const before = fifo.words();
        for (const value of range(1, capacity)) fifo.publish(0, value);
        expect(fifo.words()).toBe(before);
        fifo.publish(0, capacity + 1);
        expect(fifo.words()).toBeGreaterThan(before);
        expect(drain(fifo)).toEqual(range(1, capacity + 1));
      });

      it.each(range(1, 64).filter((fill) => fill === 1 || fill === capacity - 1 || fill === capacity))(
        'wrap: goes round many times at a filling of %i, in order and in the memory of the first lap',
        (fill) => {
          const fifo = make(one);
          fifo.publish(0, 1);
          drain(fifo);
          const before = fifo.words();
          for (let first = 1; first < Math.max(40, 3 * capacity); first += fill) {
            for (const value of range(first, fill)) expect(fifo.publish(0, value)).toBe(true);
            expect(drain(fifo, 3)).toEqual(range(first, fill));
          }
          expect(fifo.words()).toBe(before);
        },
      );

      it('spsc: gives one consumer what one producer put in, in that order, whatever the interleaving', () => {
        const { published, claimed } = play(make(one), one, random, 400);
        expect(claimed).toEqual(published);
      });

      it('spmc: gives each value to exactly one of three consumers, in the order they were put in', () => {
        const shape = { ...one, consumers: 3 };
        const { published, claimed, byConsumer } = play(make(shape), shape, random, 400);
        expect(claimed).toEqual(published);
        expect(byConsumer.filter((its) => its.length > 0).length).toBe(3);
      });

      it('several-lanes, order-per-producer: gives each value of three producers to exactly one consumer, each producer’s in order', () => {
        const shape = { ...one, producers: 3, consumers: 3 };
        const { published, claimed } = play(make(shape), shape, random, 200);
        expect([...claimed].sort((a, b) => a - b)).toEqual([...published].sort((a, b) => a - b));
        for (const p of range(0, 3)) expect(ascending(claimed.filter((value) => producerOf(value) === p))).toBe(true);
      });

      it('linearizable: a consumer that comes after a value was put in never finds nothing, in any state of the chain', () => {
        const shape = { ...one, producers: 2, consumers: 2 };
        const fifo = make(shape);
        let inside = 0;
        for (let k = 1; k <= 600; k++) {
          for (const _ of range(0, random.int(0, 3))) {
            expect(fifo.publish(random.int(0, 1), k)).toBe(true);
            inside++;
          }
          for (const _ of range(0, random.int(0, inside + 1))) {
            expect(fifo.claim(random.int(0, 1), 1).length, `of ${inside} inside`).toBe(Math.min(inside, 1));
            inside = Math.max(0, inside - 1);
          }
        }
      });

      it('stampede: of more consumers than values each gets one until there is none, and the rest get nothing', () => {
        const shape = { ...one, consumers: 6 };
        const fifo = make(shape);
        for (let round = 0; round < 20; round++) {
          fifo.publishRun(0, [1, 2, 3]);
          expect(range(0, 6).map((c) => fifo.claim(c, 1))).toEqual([[1], [2], [3], [], [], []]);
        }
      });

      it('no-starvation: a value comes out within as many claims as there are producers, though the others never run dry', () => {
        const shape = { ...one, producers: 3 };
        for (const quiet of range(0, 3)) {
          const fifo = make(shape);
          const busy = range(0, 3).filter((p) => p !== quiet);
          for (let round = 0; round < 10; round++) {
            for (const p of busy) fifo.publishRun(p, [valueOf(p, 2 * round), valueOf(p, 2 * round + 1)]);
            fifo.publish(quiet, valueOf(quiet, round));
            const got = range(0, 3).flatMap(() => fifo.claim(0, 1));
            expect(got, 'among the first three claims').toContain(valueOf(quiet, round));
          }
        }
      });

      it('grow: keeps the order over a chain of rings that are filled, drained and left at random', () => {
        const fifo = make(one);
        let next = 1;
        const claimed: number[] = [];
        for (let peak = capacity; peak < 40 * capacity; peak *= 3) {
          for (const _ of range(0, peak)) expect(fifo.publish(0, next++)).toBe(true);
          for (let left = random.int(0, peak); left > 0; left--) claimed.push(...fifo.claim(0, 1));
        }
        claimed.push(...drain(fifo));
        expect(claimed).toEqual(range(1, next - 1));
      });

      it('memory-of-a-second-burst: the chain stays within four times the peak, and bursts like the first come to need no new memory', () => {
        const fifo = make(one);
        const burst = (): void => {
          const values = range(1, 9 * capacity + 3);
          for (const value of values) expect(fifo.publish(0, value)).toBe(true);
          expect(drain(fifo)).toEqual(values);
        };
        fifo.publish(0, 1);
        drain(fifo);
        const first = fifo.words();
        burst();
        burst(); // the largest ring may have been a little short of a whole burst
        const second = fifo.words();
        for (let k = 0; k < 5; k++) burst();
        expect(fifo.words()).toBe(second);
        const headers = 8 * 4 * 32;
        expect(second - first).toBeLessThanOrEqual(4 * (9 * capacity + 3) + headers);
      });

      it('batch runs are not interleaved, whatever their length, and come out with the single values around them in order', () => {
        const fifo = make(one);
        let next = 1;
        for (const length of [1, 2, capacity, 1, capacity + 1, capacity - 1, 5 * capacity, 3]) {
          expect(fifo.publish(0, next++)).toBe(true);
          const run = range(next, length);
          expect(fifo.publishRun(0, run)).toBe(true);
          next += length;
          if (length % 2 === 0) fifo.claim(0, 2);
        }
        const rest = drain(fifo);
        expect(rest).toEqual(range(rest[0] as number, rest.length));
        expect(rest.at(-1)).toBe(next - 1);
      });

      it('a run is visible as a whole: one claim can take all of it', () => {
        const fifo = make(one);
        for (const length of [2, capacity, 2 * capacity + 1]) {
          fifo.publishRun(0, range(1, length));
          expect(fifo.claim(0, length)).toEqual(range(1, length));
        }
      });

      it('at the limit of memory it refuses a value or a run and puts in no part of it; what is inside comes out, and then there is room', () => {
        const shape = { ...one, maxBytes: SMALLEST };
        const fifo = make(shape);
        let count = 0;
        while (fifo.publishRun(0, range(count + 1, 1_000))) count += 1_000;
        while (fifo.publish(0, count + 1)) count++;
        expect(fifo.publish(0, 1)).toBe(false);
        expect(fifo.publishRun(0, [1, 2])).toBe(false);
        expect(drain(fifo, 100)).toEqual(range(1, count));
        expect(fifo.publishRun(0, range(1, 100))).toBe(true);
        expect(drain(fifo)).toEqual(range(1, 100));
      });
    });
  });
}
