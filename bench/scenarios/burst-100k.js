/** A hundred thousand tasks submitted in one go, one promise each, until the last result is there. */
import { NUMBER, warmInFlight } from './in-flight.js';

const COUNT = 100_000;

export const title = '100,000 at once, one promise each';
export const handler = 'inc';
export const figures = { rate: { unit: 'tasks/s', better: 'higher' } };

export async function warm(pool) {
  await warmInFlight(pool, NUMBER);
  await part(pool);
}

export async function part(pool) {
  globalThis.gc();
  const promises = new Array(COUNT);
  const start = performance.now();
  for (let i = 0; i < COUNT; i++) promises[i] = pool.run(i);
  const results = await Promise.all(promises);
  const ms = performance.now() - start;
  for (let i = 0; i < COUNT; i++) if (results[i] !== i + 1) throw new Error(`wrong result for task ${i}: ${results[i]}`);
  return { rate: (COUNT / ms) * 1000 };
}

export const sum = ([{ rate }]) => ({ rate });
