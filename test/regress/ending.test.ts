/** Cases about ends: of tasks, of workers, of queues, of processes. Real worker threads; whole processes as children. */
import { describe, expect, test } from 'vitest';
import { errorOf, fixture, Gate, gone, of, queueOf, upTo } from '../e2e/gate.ts';
import { its, settled } from '../e2e/limits.ts';
import { inChild, until, within } from '../support/index.ts';

test('B16 a stop that cuts rejects everything queued, and nothing of it starts afterwards', async () => {
  const gate = new Gate();
  const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
  const results = upTo(13).map((k) => errorOf(queue.run(k === 0 ? its('loop') : of('gate.js', 'count'), k)));
  await gate.entered();
  expect(await within(queue.stop({ timeoutMs: 0 }), 'stop')).toMatchObject({ completed: 0, failed: 0, cut: 13 });
  for (const error of await Promise.all(results)) expect(error).toMatchObject({ code: 'E_QUEUE_STOPPED' });
  const { started } = queue.stats().workers;
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(gate.ran()).toEqual({ 0: 1 });
  await until(() => queue.stats().workers.condemned === 0, 'the thread to end');
  expect(queue.stats().workers).toMatchObject({ live: 0, started });
});

test.each([
  ['at once', () => ({ timeoutMs: 0 })],
  ['after a while', () => ({ timeoutMs: 20 })],
  ['by an aborted signal', () => ({ signal: AbortSignal.abort() })],
  ['when all has settled', () => ({})],
])('B27 as many promises settle as were given out: a stop that ends %s', async (how, options) => {
  const gate = new Gate();
  const queue = queueOf({ concurrency: 2, parallelism: 2, graceMs: 5, onError: () => {}, workerData: gate.workerData });
  const controller = new AbortController();
  const results = [
    ...upTo(40).map((k) => queue.run(of('gate.js', 'count'), k)),
    queue.run(its('never'), 52, { signal: controller.signal }),
    queue.run(() => process.exit(1)),
    queue.run(fixture('throws.js'), 1),
    queue.run(of('gate.js', 'count'), 53, { deadlineMs: 1 }),
  ];
  if (how !== 'when all has settled') results.push(queue.run(its('never'), 50), queue.run(its('loop'), 51));
  let settledCount = 0;
  const count = (): void => {
    settledCount++;
  };
  for (const result of results) result.then(count, count);
  const stopping = queue.stop(options());
  controller.abort();
  await within(stopping, 'stop');
  await within(Promise.allSettled(results), 'all promises');
  expect(settledCount).toBe(results.length);
  expect({ size: queue.size, pending: queue.pending }).toEqual({ size: 0, pending: 0 });
});

test('B35 aborting everything starts no thread, threads idle out as ever, and a stop leaves none', async () => {
  const gate = new Gate();
  const queue = queueOf({ concurrency: 4, parallelism: 4, maxBatchSize: 1, maxIdleMs: 0, graceMs: 600_000, workerData: gate.workerData });
  const controller = new AbortController();
  const victims = upTo(40).map((k) => errorOf(queue.run(its('heedSync'), k, { signal: controller.signal })));
  await gate.entered(4);
  const { started } = queue.stats().workers;
  controller.abort();
  for (const error of await Promise.all(victims)) expect(error).toMatchObject({ code: 'ABORT_ERR' });
  await settled(queue);
  await gone(queue);
  expect(queue.stats().workers).toMatchObject({ started, live: 0 });
  await queue.stop();
  expect(queue.stats().workers).toMatchObject({ started, live: 0, condemned: 0 });
});

test('B37 recycled workers leave no handle in the process that made the queue', async () => {
  const queue = queueOf({ concurrency: 1 });
  const handles = (): string => process.getActiveResourcesInfo().toSorted().join();
  let early = '';
  for (let round = 0; round < 40; round++) {
    await queue.run((n: number) => n, round);
    queue.recycle();
    await gone(queue);
    await new Promise((resolve) => setImmediate(resolve));
    if (round === 4) early = handles();
  }
  await until(() => handles() === early, `as few handles as after four rounds (${early})`);
  expect(queue.stats()).toMatchObject({ completed: 40, workers: { live: 0, started: 40 } });
});

describe('a whole process', () => {
  const child = async (code: string): Promise<string> => {
    const result = await inChild(`import { TaskQueue } from 'railhead';\n${code}`);
    expect({ code: result.code, stderr: result.stderr }).toEqual({ code: 0, stderr: '' });
    return result.stdout;
  };

  test('B33 a stop in the midst of aborts, warm-ups and results leaves nothing unhandled', async () => {
    expect(
      await child(`
        for (let round = 0; round < 10; round++) {
          const queue = new TaskQueue({ concurrency: 2, parallelism: 2, graceMs: 1, onError: () => {} });
          const controller = new AbortController();
          for (let k = 0; k < 50; k++) queue.run((n, task) => { while (n % 10 === 0 && !task.aborted); return n; }, k, { signal: controller.signal }).catch(() => {});
          queue.warm(2).catch(() => {});
          while (queue.stats().running === 0 && queue.pending > 0) await new Promise((resolve) => setImmediate(resolve));
          const stopping = queue.stop({ timeoutMs: 0 });
          controller.abort();
          await stopping;
        }
        console.log('end');
      `),
    ).toBe('end\n');
  });

  test('B42 ends after a stop with results that nobody awaited', async () => {
    expect(
      await child(`
        const queue = new TaskQueue(2);
        await queue.warm(1);
        for (let k = 0; k < 1_000; k++) queue.run((n) => ({ n, text: 'x'.repeat(1_000) }), k).catch(() => {});
        const { completed, cut } = await queue.stop({ timeoutMs: 0 });
        console.log(completed + cut);
      `),
    ).toBe('1000\n');
  });

  test('B43 is kept by a task that waits for nothing but a shared word, and so is its thread', async () => {
    expect(
      await child(`
        const words = new Int32Array(new SharedArrayBuffer(4));
        const queue = new TaskQueue({ concurrency: 1, workerData: words });
        queue.run(() => Atomics.waitAsync(process.getBuiltinModule('node:worker_threads').workerData, 0, 0).value).then(console.log);
        while (queue.stats().running === 0) await new Promise((resolve) => setImmediate(resolve));
        setTimeout(() => { Atomics.store(words, 0, 1); Atomics.notify(words, 0); }, 100).unref();
      `),
    ).toMatch(/^(ok|not-equal)\n$/);
  });

  test('B68 what a task prints right before it calls process.exit may be lost, and nothing else is', async () => {
    expect(
      await child(`
        const queue = new TaskQueue(1);
        const error = await queue.run(() => process.exit(1)).catch((error) => error);
        console.log(error.code, error.exitCode, await queue.run(() => { console.log('of the next'); return 2; }));
        await queue.stop();
      `),
    ).toMatch(/^(of the next\nE_WORKER_DIED 1 2\n|E_WORKER_DIED 1 2\nof the next\n)$/);
  });
});
