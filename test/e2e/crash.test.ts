/** A worker's death fails only what it ran. Real worker threads; out of memory in a child process. */
import { describe, expect, test } from 'vitest';
import { inChild, within } from '../support/index.ts';
import { errorOf, Gate, of, onceEach, queueOf, upTo } from './gate.ts';

describe('a task that ends its thread', () => {
  test.each([0, 1, 7])('P3 rejects with the exit code: process.exit(%i)', async (exitCode) => {
    const queue = queueOf(1);
    const error = await errorOf(queue.run((code: number) => process.exit(code), exitCode));
    expect(error).toMatchObject({ name: 'RailheadError', code: 'E_WORKER_DIED', reason: 'exit', exitCode });
    await expect(queue.run((n: number) => n, 1)).resolves.toBe(1);
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 1, pending: 0 });
  });

  test('P3 several at once: all others run exactly once', async () => {
    const gate = new Gate(200);
    const queue = queueOf({ concurrency: 4, parallelism: 4, workerData: gate.workerData });
    const settled = Promise.allSettled(
      upTo(200).map((index) => queue.run(of('gate.js', 'countOrExit'), { index, exit: index % 25 === 3 })),
    );
    const results = await within(settled, '200 tasks');
    const fates = results.map((each) => (each.status === 'rejected' ? each.reason.code : each.value));
    expect(fates).toEqual(upTo(200).map((index) => (index % 25 === 3 ? 'E_WORKER_DIED' : index)));
    expect(gate.ran()).toEqual(onceEach(upTo(200)));
    expect(queue.pending).toBe(0);
  });

  test.each([1, 2, 3])('P3 what it had claimed and not started runs elsewhere, once (run %i)', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 2, parallelism: 2, maxBatchSize: 8, workerData: gate.workerData });
    await queue.warm(2);
    const its = of('gate.js', 'countOrExit');
    const settled = Promise.allSettled(upTo(20).map((index) => queue.run(its, { index, exit: index === 0 })));
    const results = await within(settled, '20 tasks');
    expect(results[0]).toMatchObject({ status: 'rejected', reason: { code: 'E_WORKER_DIED', exitCode: 3 } });
    expect(results.slice(1).map((each) => each.status === 'fulfilled' && each.value)).toEqual(upTo(20).slice(1));
    expect(gate.ran()).toEqual(onceEach(upTo(20)));
  });

  test('P3 a pushed one is told to onError, once', async () => {
    const told: unknown[] = [];
    const queue = queueOf({ concurrency: 1, onError: (error, job) => told.push([(error as { code?: unknown }).code, job.handler]) });
    queue.push(function leave() {
      process.exit(5);
    });
    queue.pushBatch((n: number) => n, upTo(20));
    await within(queue.idle(), 'idle');
    expect(told).toEqual([['E_WORKER_DIED', 'leave']]);
    expect(queue.stats()).toMatchObject({ completed: 20, failed: 1 });
  });

  test('B19 five tasks of the same tick as the death succeed', async () => {
    const queue = queueOf(1);
    await errorOf(queue.run(() => process.exit(1)));
    await expect(Promise.all(upTo(5).map((k) => queue.run((n: number) => n, k)))).resolves.toEqual(upTo(5));
    const dying = errorOf(queue.run(() => process.exit(1)));
    const five = upTo(5).map((k) => queue.run((n: number) => n, k));
    expect(await dying).toMatchObject({ code: 'E_WORKER_DIED' });
    await expect(Promise.all(five)).resolves.toEqual(upTo(5));
  });

  test('B10 ten deaths in a row leave room for the next worker', async () => {
    const queue = queueOf(1);
    for (let k = 0; k < 10; k++) expect(await errorOf(queue.run(() => process.exit(1)))).toMatchObject({ code: 'E_WORKER_DIED' });
    await expect(
      within(
        queue.run((_: undefined, task) => task.workerId, undefined),
        'the eleventh',
      ),
    ).resolves.toBe(11);
  });

  test('a task that awaits when its thread dies is failed too', async () => {
    const queue = queueOf({ concurrency: 1, tasksPerWorker: 8 });
    const waiting = upTo(3).map(() => errorOf(queue.run(() => new Promise(() => {}))));
    const dying = errorOf(queue.run(() => process.exit(9)));
    for (const error of await within(Promise.all([...waiting, dying]), 'four rejections'))
      expect(error).toMatchObject({ code: 'E_WORKER_DIED', exitCode: 9 });
    await expect(queue.run((n: number) => n, 1)).resolves.toBe(1);
  });
});

test('B08 a worker out of memory fails its task with the reason, and the queue goes on', async () => {
  const { code, stdout } = await inChild(
    `
    import { TaskQueue } from 'railhead';
    const queue = new TaskQueue({ concurrency: 1, resourceLimits: { maxOldGenerationSizeMb: 24 } });
    const error = await queue.run(() => { const all = []; for (let k = 0; ; k++) all.push({ k, list: [k, k + 1] }); }).catch((error) => error);
    console.log(error.code, error.reason, error.cause.code);
    console.log(await queue.run((n) => n + 1, 1));
    await queue.stop();
  `,
    [],
    { deadlineMs: 60_000 },
  );
  expect(stdout).toBe('E_WORKER_DIED oom ERR_WORKER_OUT_OF_MEMORY\n2\n');
  expect(code).toBe(0);
}, 70_000);
