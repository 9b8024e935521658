/**
 * The seam: every access to shared words goes through these functions, so that the explorer can put a scheduling point
 * at each (`atomics.model.ts`, chosen by the import condition `model`). Any thread.
 *
 * All `Atomics` operations are sequentially consistent; nothing weaker exists to get wrong. `peek` and `poke` are plain:
 * an edge must carry them. `glance` is a plain read that counts only if the exchange after it succeeds.
 */
import { Atomics } from '#base';

export const load = (m: Int32Array, i: number): number => Atomics.load(m, i);
export const store = (m: Int32Array, i: number, v: number): void => {
  Atomics.store(m, i, v);
};
/** Compare-exchange. Returns what was there: equal to `expected` means it was won. */
export const cas = (m: Int32Array, i: number, expected: number, v: number): number => Atomics.compareExchange(m, i, expected, v);
export const exchange = (m: Int32Array, i: number, v: number): number => Atomics.exchange(m, i, v);
export const add = (m: Int32Array, i: number, n: number): number => Atomics.add(m, i, n);
export const or = (m: Int32Array, i: number, bits: number): number => Atomics.or(m, i, bits);
export const and = (m: Int32Array, i: number, bits: number): number => Atomics.and(m, i, bits);
export const notify = (m: Int32Array, i: number, count: number): number => Atomics.notify(m, i, count);

export const peek = (m: Int32Array, i: number): number => m[i] as number;
export const poke = (m: Int32Array, i: number, v: number): void => {
  m[i] = v;
};
export const glance = (m: Int32Array, i: number): number => m[i] as number;

/** Waits without blocking the event loop. Never keeps a thread alive by itself: hold a ref'd handle beside it. */
export const waitAsync = (
  m: Int32Array,
  i: number,
  v: number,
): { async: false; value: 'not-equal' | 'timed-out' } | { async: true; value: Promise<'ok' | 'timed-out'> } => Atomics.waitAsync(m, i, v);
/** Blocks this thread. Only for a thread that must stop for ever, or in bounded slices. */
export const wait = (m: Int32Array, i: number, v: number, timeoutMs?: number): 'ok' | 'not-equal' | 'timed-out' =>
  Atomics.wait(m, i, v, timeoutMs);
