/** How workers come and go: the cap, retiring, idling out, order with one of them, and who is woken. Real worker threads. */
import { describe, expect, test } from 'vitest';
import { deferred, until, within } from '../support/index.ts';
import { errorOf, Gate, gone, of, onceEach, parked, queueOf, upTo } from './gate.ts';

const workerOf = (_: unknown, task: { workerId: number }): number => task.workerId;
/** How many tasks each worker ran. */
const counts = (ids: number[]): number[] => [
  ...ids.reduce((by, id) => by.set(id, (by.get(id) ?? 0) + 1), new Map<number, number>()).values(),
];

describe('concurrency', () => {
  test('P5 is the most that live and the most that run at once, through deaths and retirements', async () => {
    const gate = new Gate(300);
    const queue = queueOf({ concurrency: 3, parallelism: 16, maxJobs: 40, workerData: gate.workerData });
    let most = 0;
    let watching = true;
    const watch = (): void => {
      most = Math.max(most, queue.stats().workers.live);
      if (watching) setImmediate(watch);
    };
    watch();
    const dying = upTo(3).map(() => errorOf(queue.run(() => process.exit(1))));
    await within(Promise.all(upTo(300).map((k) => queue.run(of('gate.js', 'overlap'), k))), '300 tasks');
    await Promise.all(dying);
    watching = false;
    expect(gate.ran()).toEqual(onceEach(upTo(300)));
    expect(most).toBeLessThanOrEqual(3);
    expect(most).toBeGreaterThan(0);
    expect(gate.most).toBeLessThanOrEqual(3);
  });

  test('B24 held tasks fill it, and the rest wait', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 3, parallelism: 3, maxBatchSize: 1, workerData: gate.workerData });
    const results = upTo(10).map((k) => queue.run(of('gate.js'), k));
    await gate.entered(3);
    expect(queue.stats()).toMatchObject({ running: 3, queued: 7, pending: 10, workers: { live: 3, busy: 3 } });
    expect(queue.size).toBe(7);
    gate.open();
    await expect(Promise.all(results)).resolves.toEqual(upTo(10));
  });

  test('a cold burst starts all it may at once', () => {
    const queue = queueOf({ concurrency: 4, parallelism: 3 });
    queue.pushBatch((n: number) => n, upTo(100));
    expect(queue.stats().workers).toMatchObject({ live: 3, starting: 3, target: 3 });
  });

  test('one task starts one worker', async () => {
    const queue = queueOf({ concurrency: 4, parallelism: 4 });
    await queue.run((n: number) => n, 1);
    expect(queue.stats().workers.started).toBe(1);
  });

  test('P2 of 1 runs strictly in order, also async tasks, whatever the verb', async () => {
    const queue = queueOf(1);
    const [slow, quick] = [of('order.js', 'slow'), of('order.js', 'quick')];
    for (let k = 0; k < 120; k += 6) {
      queue.push(k % 4 === 0 ? slow : quick, k);
      void queue.run(slow, k + 1);
      queue.pushBatch([
        [quick, k + 2],
        [slow, k + 3],
      ]);
      queue.submit(quick, k + 4);
      queue.submitBatch(slow, [k + 5]);
    }
    await expect(queue.run(of('order.js', 'read'))).resolves.toEqual(upTo(120).flatMap((k) => [`+${k}`, `-${k}`]));
  });

  test('P2 of 1 stays in order over retirements', async () => {
    const gate = new Gate(100);
    const queue = queueOf({ concurrency: 1, maxJobs: 9, workerData: gate.workerData });
    const settled: number[] = [];
    await Promise.all(upTo(100).map((k) => queue.run(of('gate.js', 'count'), k).then(() => settled.push(k))));
    expect(settled).toEqual(upTo(100));
    expect(gate.ran()).toEqual(onceEach(upTo(100)));
  });
});

describe('maxJobs', () => {
  // A thread costs 25 to 100 ms on a busy machine: the smallest settings get fewer tasks.
  test.each([
    [1, 60],
    [2, 100],
    [7, 500],
    [100, 500],
  ])('of %i never stalls, and no worker runs more (%i tasks)', async (maxJobs, tasks) => {
    const gate = new Gate(tasks);
    const queue = queueOf({ concurrency: 3, parallelism: 3, maxJobs, workerData: gate.workerData });
    const ids = await within(
      Promise.all(upTo(tasks).map((k) => (k % 2 ? queue.run(workerOf, k) : queue.run(async (_: number, task) => task.workerId, k)))),
      `${tasks} tasks`,
      55_000,
    );
    expect(Math.max(...counts(ids))).toBeLessThanOrEqual(maxJobs);
    expect(queue.stats()).toMatchObject({ completed: tasks, pending: 0 });
  });

  test('of 1 with async tasks that could overlap is not overrun', async () => {
    const queue = queueOf({ concurrency: 2, maxJobs: 3, tasksPerWorker: 8 });
    const ids = await within(Promise.all(upTo(40).map((k) => queue.run(async (_: number, task) => task.workerId, k))), '40 tasks');
    expect(Math.max(...counts(ids))).toBeLessThanOrEqual(3);
  });
});

describe('maxIdleMs', () => {
  test.each([0, 20])('B12 of %i: bursts after idling out to no worker run like the first', async (maxIdleMs) => {
    const gate = new Gate(1_000);
    const queue = queueOf({ concurrency: 2, maxIdleMs, workerData: gate.workerData });
    for (let burst = 0; burst < 5; burst++) {
      const values = upTo(200).map((k) => burst * 200 + k);
      await expect(within(Promise.all(values.map((k) => queue.run(of('gate.js', 'count'), k))), `burst ${burst}`)).resolves.toEqual(values);
      await gone(queue);
      expect(queue.stats()).toMatchObject({ pending: 0, running: 0, workers: { live: 0, parked: 0 } });
    }
    expect(gate.ran()).toEqual(onceEach(upTo(1_000)));
    expect(queue.size).toBe(0);
  });

  test('of 0 and single tasks, each after the last worker has left or is leaving', async () => {
    const queue = queueOf({ concurrency: 2, maxIdleMs: 0 });
    for (let k = 0; k < 30; k++) {
      await expect(
        within(
          queue.run((n: number) => n, k),
          `task ${k}`,
        ),
      ).resolves.toBe(k);
      if (k % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
      if (k % 7 === 0) await gone(queue);
    }
  });

  test('B13 a task longer than it is not cut short, sync or async', async () => {
    const queue = queueOf({ concurrency: 1, maxIdleMs: 20 });
    const busy = (ms: number): string => {
      const end = performance.now() + ms;
      while (performance.now() < end);
      return 'sync';
    };
    const waits = async (ms: number): Promise<string> => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return 'async';
    };
    for (let k = 0; k < 3; k++) {
      await expect(queue.run(busy, 120)).resolves.toBe('sync');
      await expect(queue.run(waits, 120)).resolves.toBe('async');
    }
  });

  test('B13 nor is one that overlaps with others', async () => {
    const queue = queueOf({ concurrency: 1, maxIdleMs: 20, tasksPerWorker: 4 });
    const waits = async (ms: number): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return ms;
    };
    await expect(Promise.all([queue.run(waits, 150), queue.run(waits, 1), queue.run(waits, 30)])).resolves.toEqual([150, 1, 30]);
    expect(queue.stats().workers.started).toBe(1);
  });

  test('of Infinity: the worker stays', async () => {
    const queue = queueOf({ concurrency: 1, maxIdleMs: Number.POSITIVE_INFINITY });
    const first = await queue.run(workerOf, 0);
    await parked(queue, 1);
    await expect(queue.run(workerOf, 0)).resolves.toBe(first);
  });
});

describe('recycle()', () => {
  test('replaces every worker, parked or busy, and no task is lost', async () => {
    const gate = new Gate(200);
    const queue = queueOf({ concurrency: 2, parallelism: 2, workerData: gate.workerData });
    await queue.warm(2);
    await parked(queue, 2);
    queue.recycle();
    await gone(queue);
    const results = Promise.all(upTo(200).map((k) => queue.run(of('gate.js', 'count'), k)));
    queue.recycle();
    await expect(within(results, '200 tasks')).resolves.toEqual(upTo(200));
    queue.recycle();
    expect(await within(queue.run(workerOf, 0), 'a task afterwards')).toBeGreaterThan(2);
    expect(gate.ran()).toEqual(onceEach(upTo(200)));
  });

  test('lets a held task end first', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const held = queue.run(of('gate.js', 'holdAsync'), 0);
    await gate.entered();
    queue.recycle();
    const next = queue.run(workerOf, 0);
    gate.open();
    await expect(held).resolves.toBe(0);
    await expect(within(next, 'the next task')).resolves.toBe(2);
  });
});

describe('maxHeapMb', () => {
  test('above it a worker retires after its task', async () => {
    const queue = queueOf({ concurrency: 1, maxHeapMb: 1 });
    const first = await queue.run(workerOf, 0);
    await gone(queue);
    await expect(queue.run(workerOf, 0)).resolves.toBe(first + 1);
  });
});

describe('parking', () => {
  test('the worker that parked last is woken first, and it alone', async () => {
    const queue = queueOf({ concurrency: 3, parallelism: 3, maxIdleMs: Number.POSITIVE_INFINITY });
    await queue.warm(3);
    await parked(queue, 3);
    const ids = [];
    for (let k = 0; k < 30; k++) {
      ids.push(await queue.run(workerOf, k));
      await parked(queue, 3);
    }
    // A waker may once find another: what it must not do is spread the work evenly.
    expect(Math.max(...counts(ids))).toBeGreaterThanOrEqual(24);
  });
});

test('workers have the name, environment, arguments and data they were given', async () => {
  const queue = queueOf({
    concurrency: 1,
    name: 'crew',
    env: { ONLY: 'this' },
    argv: ['--flag', 7],
    execArgv: ['--no-warnings'],
    workerData: { mine: 1 },
  });
  const seen = await queue.run(() => {
    const { workerData } = process.getBuiltinModule('node:worker_threads');
    return {
      env: process.env.ONLY,
      path: process.env.PATH === undefined,
      argv: process.argv.slice(2),
      execArgv: process.execArgv,
      workerData,
    };
  });
  expect(seen).toEqual({ env: 'this', path: true, argv: ['--flag', '7'], execArgv: ['--no-warnings'], workerData: { mine: 1 } });
});

test('workerStart and workerExit tell of each worker once, with its number and exit code', async () => {
  const queue = queueOf({ concurrency: 1, maxIdleMs: 0 });
  const told: unknown[] = [];
  const over = deferred();
  queue.on('workerStart', ({ workerId }) => told.push(['start', workerId]));
  queue.on('workerExit', ({ workerId, exitCode }) => {
    told.push(['exit', workerId, exitCode]);
    if (told.length >= 4) over.resolve();
  });
  await queue.run((n: number) => n, 1);
  await until(() => queue.stats().workers.live === 0, 'no live worker');
  await errorOf(
    queue.run(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      process.exit(4);
    }),
  );
  await within(over.promise, 'four events');
  expect(told).toEqual([
    ['start', 1],
    ['exit', 1, 0],
    ['start', 2],
    ['exit', 2, 4],
  ]);
});
