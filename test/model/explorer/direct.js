/** Runs rewritten code at once, outside any schedule: what `setup`, `outcome` and `invariant` call of the product. */
import * as ops from './ops.js';
import { isRunning } from './seam.js';

/**
 * Value of a call, carried out to its end. @param {unknown} value
 * @param {import('./words.js').Words | null} words told of each word first, so that it can be put back
 */
export function direct(value, words = null) {
  if (!isRunning(value)) return value;
  const { pending } = ops;
  pending.op = 0;
  for (let result = value.next(); ; ) {
    const { op, m, i, a, b } = pending;
    pending.op = 0;
    if (result.done) return result.value;
    words?.of(m, i);
    result = value.next(perform(op, m, i, a, b));
  }
}

function perform(op, m, i, a, b) {
  switch (op) {
    case ops.PEEK:
    case ops.GLANCE:
      return m[i];
    case ops.POKE:
      m[i] = a;
      return undefined;
    case ops.LOAD:
      return Atomics.load(m, i);
    case ops.STORE:
      Atomics.store(m, i, a);
      return undefined;
    case ops.CAS:
      return Atomics.compareExchange(m, i, a, b);
    case ops.EXCHANGE:
      return Atomics.exchange(m, i, a);
    case ops.ADD:
      return Atomics.add(m, i, a);
    case ops.OR:
      return Atomics.or(m, i, a);
    case ops.AND:
      return Atomics.and(m, i, a);
    case ops.NOTIFY:
      return 0;
    default:
      throw new Error(`${ops.NAMES[op] ?? 'An unknown operation'} cannot be run outside a thread of the model`);
  }
}
