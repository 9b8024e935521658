/** The guard word: crossed freely while nobody means to end the thread, and a wall once somebody does. */
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { DOOMED, enterLibrary, LIBRARY, leaveLibrary, OPEN } from '#pool';
import { once, until } from '../../support/index.ts';

const words = (): Int32Array => new Int32Array(new SharedArrayBuffer(8));

describe('the guard', () => {
  it('is LIBRARY from entering to leaving, and cannot be doomed meanwhile', () => {
    const m = words();
    expect(m[0]).toBe(OPEN);
    enterLibrary(m, 0);
    expect(Atomics.compareExchange(m, 0, OPEN, DOOMED)).toBe(LIBRARY);
    leaveLibrary(m, 0);
    expect(m[0]).toBe(OPEN);
  });

  it('once doomed lets its thread through only after the killer has changed its mind', async () => {
    const m = words();
    const worker = new Worker(new URL('./at-the-guard.js', import.meta.url), { workerData: { m, guard: 0, stage: 1 } });
    try {
      Atomics.store(m, 0, DOOMED);
      const tries = once(worker, 'message');
      worker.postMessage('cross');
      expect(await tries).toEqual(['tries']);
      const through = once(worker, 'message');
      let turns = 0;
      await until(() => ++turns > 200, 'time for a thread that would not stop');
      Atomics.store(m, 1, 1);
      Atomics.store(m, 0, OPEN);
      Atomics.notify(m, 0);
      expect(await through).toEqual([{ when: 1, held: LIBRARY }]);
      expect(m[0]).toBe(OPEN);
    } finally {
      await worker.terminate();
    }
  });
});
