/**
 * One task at a time, awaited before the next: the latency of a warm round trip. Contenders alternate every 70 ms, so that
 * all see the same core state (clock speed, caches, idle states); the first 20 ms of each turn are not counted.
 */
export const title = 'single warm round trip';
export const handler = 'inc';
export const figures = { p50: { unit: 'µs', better: 'lower' }, p99: { unit: 'µs', better: 'lower' } };
export const blocks = 8;

const LEAD_MS = 20;
const PART_MS = 50;
const times = new Float64Array(1 << 20); // longer than any part: keeping samples allocates nothing

async function trips(pool, ms) {
  let n = 0;
  const end = performance.now() + ms;
  for (let now = performance.now(); now < end && n < times.length; n++) {
    const result = await pool.run(n);
    const after = performance.now();
    if (result !== n + 1) throw new Error(`wrong result for task ${n}: ${result}`);
    times[n] = after - now;
    now = performance.now();
  }
  return times.subarray(0, n);
}

export const warm = async (pool) => void (await trips(pool, 1500));

export async function part(pool) {
  globalThis.gc();
  await trips(pool, LEAD_MS);
  return (await trips(pool, PART_MS)).slice();
}

export function sum(parts) {
  const all = Float64Array.from(parts.flatMap((part) => Array.from(part))).sort();
  const at = (share) => all[Math.min(all.length - 1, Math.floor(all.length * share))] * 1000;
  return { p50: at(0.5), p99: at(0.99) };
}
