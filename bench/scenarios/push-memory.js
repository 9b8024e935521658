/**
 * What a queued job costs in memory: both workers are held, then a million jobs are pushed, and the growth of the resident
 * set is divided by a million. A new process for every round, since memory of a drained burst is used again. Nothing is
 * collected before the second reading: garbage of the pushes counts. A peer without `push` gets `run` whose promise is dropped.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const title = '1,000,000 pushed with the workers held';
export const handler = 'hold';
export const figures = { memory: { unit: 'bytes/job', better: 'lower' }, pushes: { unit: 'pushes/s', better: 'higher' } };
export const fresh = true;

const COUNT = 1_000_000;

/** Both workers up and the code compiled; few enough jobs that no memory worth counting is reserved. */
export async function warm(pool) {
  for (let i = 0; i < 2000; i++) if ((await pool.run(i)) !== i + 1) throw new Error(`wrong result for task ${i}`);
}

export async function part(pool) {
  const folder = mkdtempSync(join(tmpdir(), 'railhead-hold-'));
  const gate = join(folder, 'open');
  try {
    const held = [hold(pool, gate), await holding(folder, 1), hold(pool, gate), await holding(folder, 2)];
    const figures = fill(pool);
    writeFileSync(gate, '');
    if (pool.push !== undefined) {
      await Promise.all(held);
      if ((await pool.run(COUNT)) !== COUNT + 1) throw new Error('wrong result after the pushes');
    }
    return figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Drops nothing silently: a failure of the task that holds is a failure of the round. */
const hold = (pool, gate) => Promise.resolve(pool.run(gate));

async function holding(folder, workers) {
  for (let tries = 0; readdirSync(folder).length < workers; tries++) {
    if (tries > 500) throw new Error(`only ${readdirSync(folder).length} of ${workers} workers could be held`);
    await sleep(10);
  }
}

function fill(pool) {
  const push = pool.push ?? ((value) => void pool.run(value));
  globalThis.gc();
  const before = process.memoryUsage.rss();
  const start = performance.now();
  for (let i = 0; i < COUNT; i++) if (push(i) === false) throw new Error(`push refused job ${i}`);
  const ms = performance.now() - start;
  return { memory: (process.memoryUsage.rss() - before) / COUNT, pushes: (COUNT / ms) * 1000 };
}

export const sum = ([figures]) => figures;
