/** Eight workers on few processors, tiny rings near a wrap, all verbs mixed: every admitted task runs exactly once. Seeded. */
import { INTERNALS } from '#queue';
import { handler, type QueueOptions, TaskQueue } from 'railhead';
import { expect, test } from 'vitest';
import { seeded, within } from '../../support/index.ts';

const its = (name: string) => handler(new URL('../../fixtures/gate.js', import.meta.url), name);
const tiny = (firstSequence: number): object => ({ [INTERNALS]: { ringCapacity: 2, firstSequence, rotation: 64 } });

interface Storm {
  readonly queue: TaskQueue;
  readonly ledger: Int32Array;
  /** Fates of the tasks that `run` took. */
  readonly fates: Promise<unknown>[];
}

function storm(values: number, options: QueueOptions): Storm {
  const ledger = new Int32Array(new SharedArrayBuffer(values * 4));
  const queue = new TaskQueue({
    concurrency: 8,
    parallelism: 8,
    workerData: { ledger, words: new Int32Array(new SharedArrayBuffer(64)) },
    onError: () => {},
    ...options,
  });
  return { queue, ledger, fates: [] };
}

test.each([
  ['near 2^31', 2 ** 31 - 8, {}],
  ['near 2^32', 2 ** 32 - 8, { maxBatchSize: 1 }],
  ['large batches', 0, { maxBatchSize: 255 }],
  ['idling out', -8, { maxIdleMs: 0 }],
  ['retiring', 2 ** 31 - 8, { maxJobs: 150 }],
  ['overlapping', 2 ** 31 - 8, { tasksPerWorker: 4 }],
] as const)('P1 all verbs mixed, each task once: %s', async (_what, firstSequence, options) => {
  const random = seeded();
  const values = 6_000;
  const { queue, ledger, fates } = storm(values, { ...tiny(firstSequence), ...options });
  const count = its('count');
  let k = 0;
  while (k < values) {
    const n = Math.min(random.int(1, 20), values - k);
    const batch = Array.from({ length: n }, (_, i) => k + i);
    const verb = random.int(0, 5);
    if (verb === 0) fates.push(...batch.map((value) => queue.run(count, value).then((result) => expect(result).toBe(value))));
    else if (verb === 1) expect(batch.every((value) => queue.push(count, value))).toBe(true);
    else if (verb === 2) expect(queue.pushBatch(count, batch)).toBe(n);
    else if (verb === 3) expect(batch.every((value) => queue.submit(count, value))).toBe(true);
    else if (verb === 4) expect(queue.submitBatch(count, batch)).toBe(n);
    else expect(queue.trySubmitBatch(count, batch)).toBe(true);
    k += n;
    if (random.int(0, 9) === 0) await new Promise((resolve) => setImmediate(resolve));
    if (random.int(0, 99) === 0) await within(queue.idle(), 'idle');
  }
  await within(Promise.all(fates), 'all results');
  await within(queue.idle(), 'idle');
  const wrong = [...ledger.entries()].filter(([, times]) => times !== 1);
  expect(wrong, `seed ${random.seed}`).toEqual([]);
  expect(queue.stats()).toMatchObject({ completed: values, failed: 0, pending: 0, queued: 0 });
  expect(await within(queue.stop(), 'stop')).toEqual({ completed: values, failed: 0, cut: 0, stuck: [] });
});

test('P3 with threads that die all along, each task runs at most once, and every one settles', async () => {
  const random = seeded();
  const values = 3_000;
  const { queue, ledger } = storm(values, { ...tiny(2 ** 31 - 8) });
  const work = its('countOrExit');
  const exits = new Set(Array.from({ length: 25 }, () => random.int(0, values - 1)));
  const fates: Promise<string>[] = [];
  for (let index = 0; index < values; index++) {
    const fate = queue.run(work, { index, exit: exits.has(index) });
    fates.push(
      fate.then(
        () => 'done',
        (error) => error.code,
      ),
    );
    if (random.int(0, 99) === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const settled = await within(Promise.all(fates), 'all fates');
  const wrong = settled
    .map((fate, index) => ({ index, fate, times: ledger[index] }))
    .filter(({ index, fate, times }) => fate !== (exits.has(index) ? 'E_WORKER_DIED' : 'done') || times !== 1);
  expect(wrong, `seed ${random.seed}`).toEqual([]);
  await within(queue.stop(), 'stop');
});
