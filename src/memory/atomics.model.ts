/**
 * The seam under the import condition `model`. Nothing is read or written here: each function announces what its caller is
 * about to do. The caller has been rewritten to yield next, and the explorer (`test/model/explorer`) carries the operation out
 * when it schedules that thread. One process, one real thread; never loaded by an application.
 */
import type * as real from './atomics.ts';

/** Codes of the operations; 0 is none. */
export const OP = {
  load: 1,
  store: 2,
  cas: 3,
  exchange: 4,
  add: 5,
  or: 6,
  and: 7,
  notify: 8,
  peek: 9,
  poke: 10,
  glance: 11,
  waitAsync: 12,
  wait: 13,
} as const;

/** The operation announced last. `a` and `b` are its arguments in order. */
export interface Pending {
  op: number;
  m: Int32Array | null;
  i: number;
  a: number;
  b: number;
}

// One object per process, however often this module is loaded: a test runner may hold two copies of it.
const KEY = Symbol.for('railhead.model.pending');
const shared = globalThis as unknown as Record<symbol, Pending>;
shared[KEY] ??= { op: 0, m: null, i: 0, a: 0, b: 0 };
export const pending: Pending = shared[KEY];

/** Never returns in effect: the value comes from the `yield` around the call. */
function announce(op: number, m: Int32Array, i: number, a: number, b: number): never {
  if (pending.op !== 0) {
    pending.op = 0;
    throw new Error('The seam was called by code that the explorer did not rewrite, or outside the explorer');
  }
  pending.op = op;
  pending.m = m;
  pending.i = i;
  pending.a = a;
  pending.b = b;
  return undefined as never;
}

export const load: typeof real.load = (m, i) => announce(OP.load, m, i, 0, 0);
export const store: typeof real.store = (m, i, v) => announce(OP.store, m, i, v, 0);
export const cas: typeof real.cas = (m, i, expected, v) => announce(OP.cas, m, i, expected, v);
export const exchange: typeof real.exchange = (m, i, v) => announce(OP.exchange, m, i, v, 0);
export const add: typeof real.add = (m, i, n) => announce(OP.add, m, i, n, 0);
export const or: typeof real.or = (m, i, bits) => announce(OP.or, m, i, bits, 0);
export const and: typeof real.and = (m, i, bits) => announce(OP.and, m, i, bits, 0);
export const notify: typeof real.notify = (m, i, count) => announce(OP.notify, m, i, count, 0);
export const peek: typeof real.peek = (m, i) => announce(OP.peek, m, i, 0, 0);
export const poke: typeof real.poke = (m, i, v) => announce(OP.poke, m, i, v, 0);
export const glance: typeof real.glance = (m, i) => announce(OP.glance, m, i, 0, 0);
export const waitAsync: typeof real.waitAsync = (m, i, v) => announce(OP.waitAsync, m, i, v, 0);
export const wait: typeof real.wait = (m, i, v, timeoutMs) => announce(OP.wait, m, i, v, timeoutMs ?? Number.POSITIVE_INFINITY);
