/** The threads of `region.test.ts` and `bits.test.ts`. Worker thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { allocate, attachRegion, clearBit, NONE } from '#memory';
import { meet } from '../../stress/ring/meet.js';

const { task, me, threads, gates } = workerData;

/** Takes all of each region, block by block, and writes its name at both ends of each block. */
function fill({ buffers, words }) {
  return buffers.map((buffer, round) => {
    const region = attachRegion(buffer);
    const blocks = [];
    meet(gates, round, threads);
    for (;;) {
      const at = allocate(region, words);
      if (at === NONE) return blocks;
      blocks.push(at);
      region.m[at] = region.m[at + words - 1] = me;
    }
  });
}

/** Clears every bit once, all threads in the same order; returns how often it won each. */
function clear({ m, bits }) {
  const won = [];
  meet(gates, 0, threads);
  for (let k = 0; k < bits; k++) if (clearBit(m, 0, k)) won.push(k);
  return won;
}

parentPort.postMessage(task === 'fill' ? fill(workerData) : clear(workerData));
