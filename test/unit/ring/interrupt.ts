/** Puts something another thread might do between two shared accesses of the code under test. Same thread, no luck needed. */

import { realm } from '../../support/open-realm.ts';

type Operation = 'load' | 'store' | 'compareExchange' | 'exchange' | 'and' | 'or' | 'add';
type Access = (m: Int32Array, i: number, ...rest: number[]) => number;

/**
 * Runs `run`, and `interrupt` once, just before (or after) its first `op` on word `word`.
 * @throws Error if `run` does not get there: then the test shows nothing.
 */
export function interrupted<T>(when: 'before' | 'after', op: Operation, word: number, interrupt: () => void, run: () => T): T {
  const atomics = realm as unknown as Record<Operation, Access>;
  const real = atomics[op];
  let waiting = true;
  atomics[op] = (m, i, ...rest) => {
    const now = waiting && i === word;
    if (now) waiting = false;
    if (now && when === 'before') interrupt();
    const value = real(m, i, ...rest);
    if (now && when === 'after') interrupt();
    return value;
  };
  try {
    const result = run();
    if (waiting) throw new Error(`No ${op} of word ${word} happened`);
    return result;
  } finally {
    atomics[op] = real;
  }
}
