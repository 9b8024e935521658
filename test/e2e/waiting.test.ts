/** Tasks whose value lies in a port, when they are given up or their worker dies before they have it. Real worker threads. */
import { describe, expect, test } from 'vitest';
import { until, within } from '../support/index.ts';
import { errorOf, Gate, of, queueOf, upTo } from './gate.ts';

const bytesOf = of('moves.js', 'bytes');
const count = of('gate.js', 'count');
const ports = (): number => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
const block = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const large = (): Uint8Array => new Uint8Array(2_000_000);

describe('a task that is given up while it waits for its value', () => {
  test.each([1, 4])('is never run, takes no worker with it, and leaves no port: %i at once', async (tasksPerWorker) => {
    const queue = queueOf({ concurrency: 1, tasksPerWorker, graceMs: 50 });
    await queue.run(bytesOf, new Uint8Array(1));
    const before = ports();
    for (const blockMs of [2, 15, 60]) {
      const controller = new AbortController();
      const shared = new Int32Array(new SharedArrayBuffer(4));
      const given = { shared, rest: large() };
      const task = errorOf(queue.run(({ shared }: typeof given) => Atomics.add(shared, 0, 1), given, { signal: controller.signal }));
      const next = queue.run(bytesOf, large());
      block(blockMs); // the worker has started it, and nobody answers
      controller.abort();
      expect(await task).toMatchObject({ code: 'ABORT_ERR' });
      expect(await within(next, 'the next task')).toBe(2_000_000);
      await within(queue.idle(), 'its record back');
      expect(Atomics.load(shared, 0)).toBe(0);
    }
    await new Promise((resolve) => setTimeout(resolve, 120)); // beyond `graceMs`
    expect(queue.stats().workers).toMatchObject({ started: 1, condemned: 0 });
    expect(await queue.run(bytesOf, large())).toBe(2_000_000);
    await until(() => ports() <= before, 'all ports closed');
  });

  test('lets others of its worker finish', async () => {
    const gate = new Gate(64);
    const queue = queueOf({ concurrency: 1, graceMs: 20, workerData: gate.workerData });
    await queue.warm(1);
    const controller = new AbortController();
    const task = errorOf(queue.run(bytesOf, large(), { signal: controller.signal }));
    const other = queue.run((ms: number) => {
      const until = performance.now() + ms;
      while (performance.now() < until);
      return 'done';
    }, 400);
    block(100); // the worker is no longer patient, and at the other one
    controller.abort();
    expect(await task).toMatchObject({ code: 'ABORT_ERR' });
    expect(await within(other, 'the other task')).toBe('done');
    queue.pushBatch(count, upTo(10));
    await within(queue.idle(), 'all');
    expect(queue.stats().workers.started).toBe(1);
  });
});

describe('when a worker dies', () => {
  test('a task that still waited for its value runs on another', async () => {
    const queue = queueOf(1);
    await queue.warm(1);
    const waits = queue.run(bytesOf, large());
    const dies = errorOf(queue.run(() => process.exit(3)));
    block(200);
    expect(await dies).toMatchObject({ code: 'E_WORKER_DIED' });
    expect(await within(waits, 'the one that waited')).toBe(2_000_000);
    expect(queue.stats()).toMatchObject({ queued: 0, pending: 0, completed: 1, failed: 1 });
  });

  const once = (value: Uint8Array, task: { attempt: number }): number[] =>
    task.attempt === 1 ? process.exit(1) : [value.length, task.attempt];

  test.each([1, 40, 41, 500_000])('`onCrash: { retry }` runs a task again with a value of %i bytes', async (size) => {
    const queue = queueOf(1);
    await expect(queue.run(once as never, new Uint8Array(size), { onCrash: { retry: 1 } })).resolves.toEqual([size, 2]);
  });

  test.each([
    ['that was moved', 100_000, true],
    ['that is too large for shared memory', 2_000_000, false],
  ])('`onCrash: { retry }` cannot run a task again whose value went with the worker: one %s', async (_what, size, moved) => {
    const queue = queueOf(1);
    const value = new Uint8Array(size);
    const options = { onCrash: { retry: 3 }, ...(moved ? { transfer: [value.buffer] } : {}) };
    expect(await errorOf(queue.run(once as never, value, options))).toMatchObject({ code: 'E_WORKER_DIED' });
    expect(queue.stats()).toMatchObject({ queued: 0, pending: 0, failed: 1 });
    expect(await queue.run(bytesOf, large())).toBe(2_000_000);
  });
});
