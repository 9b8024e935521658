/** Stopping, in every state. Real worker threads; what a whole process keeps, in a child process. */
import { TaskQueue } from 'railhead';
import { describe, expect, test } from 'vitest';
import { inChild, until, within } from '../support/index.ts';
import { errorOf, Gate, of, onceEach, parked, queueOf, upTo } from './gate.ts';

const NOTHING = { completed: 0, failed: 0, cut: 0, stuck: [] };

describe('P5 stop() in every state', () => {
  test('cold: no worker was ever started', async () => {
    const queue = queueOf(2);
    expect(await within(queue.stop(), 'stop')).toEqual(NOTHING);
    expect(queue.stats().workers).toMatchObject({ live: 0, started: 0 });
  });

  test('starting: the worker is not ready yet, and its task completes', async () => {
    const queue = queueOf(2);
    const result = queue.run((n: number) => n + 1, 1);
    expect(queue.stats().workers).toMatchObject({ live: 1, starting: 1 });
    expect(await within(queue.stop(), 'stop')).toEqual({ ...NOTHING, completed: 1 });
    await expect(result).resolves.toBe(2);
    expect(queue.stats().workers.live).toBe(0);
  });

  test('starting, with nothing to do: warm() rejects and the threads end', async () => {
    const queue = queueOf(2);
    const warm = errorOf(queue.warm(2));
    expect(queue.stats().workers.starting).toBe(2);
    expect(await within(queue.stop(), 'stop')).toEqual(NOTHING);
    expect(await warm).toMatchObject({ code: 'E_QUEUE_STOPPED' });
    expect(queue.stats().workers.live).toBe(0);
  });

  test('busy: what was admitted completes, in whatever verb', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const results = upTo(10).map((k) => queue.run(of('gate.js'), k));
    queue.pushBatch(of('gate.js'), [10, 11, 12]);
    queue.submit(of('gate.js', 'holdAsync'), 13);
    await gate.entered();
    const stopping = queue.stop();
    expect(queue.push(of('gate.js'), 20)).toBe(false);
    gate.open();
    expect(await within(stopping, 'stop')).toEqual({ ...NOTHING, completed: 14 });
    await expect(Promise.all(results)).resolves.toEqual(upTo(10));
    expect(gate.ran()).toEqual(onceEach(upTo(14)));
    expect(queue.stats().workers.live).toBe(0);
  });

  test('parked: with nothing to wait for it does not wait', async () => {
    const queue = queueOf({ concurrency: 2, graceMs: 60_000, maxIdleMs: Number.POSITIVE_INFINITY });
    await queue.warm(2);
    await parked(queue, 2);
    expect(await within(queue.stop({ timeoutMs: 60_000 }), 'stop', 20_000)).toEqual(NOTHING);
    expect(queue.stats().workers.live).toBe(0);
  });

  test('empty: all work is done and the workers are still there', async () => {
    const queue = queueOf({ concurrency: 2, graceMs: 60_000 });
    await Promise.all(upTo(50).map((k) => queue.run((n: number) => n, k)));
    expect(await within(queue.stop({ timeoutMs: 60_000 }), 'stop', 20_000)).toEqual({ ...NOTHING, completed: 50 });
  });

  test('empty: the workers have left', async () => {
    const queue = queueOf({ concurrency: 2, maxIdleMs: 0 });
    await queue.run((n: number) => n, 1);
    await until(() => queue.stats().workers.live === 0, 'no live worker');
    expect(await within(queue.stop(), 'stop')).toEqual({ ...NOTHING, completed: 1 });
  });

  test('twice at once: every call returns the same promise, and so does one afterwards', async () => {
    const queue = queueOf(1);
    const result = queue.run((n: number) => n, 1);
    const first = queue.stop();
    expect(queue.stop()).toBe(first);
    expect(queue.stop({ timeoutMs: 1 })).toBe(first);
    expect(await within(first, 'stop')).toEqual({ ...NOTHING, completed: 1 });
    expect(queue.stop()).toBe(first);
    await expect(result).resolves.toBe(1);
  });

  test('failing: failures are counted apart', async () => {
    const queue = queueOf({ concurrency: 1, onError: () => {} });
    const fails = (): never => {
      throw new Error('expected');
    };
    queue.pushBatch(fails as () => unknown, [1, 2, 3]);
    const died = errorOf(queue.run(() => process.exit(1)));
    const result = queue.run((n: number) => n, 1);
    expect(await within(queue.stop(), 'stop')).toEqual({ ...NOTHING, completed: 1, failed: 4 });
    await result;
    expect(await died).toMatchObject({ code: 'E_WORKER_DIED' });
  });

  test('P1 with queued tasks and no time: all that had not settled is cut, and nothing starts afterwards', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData, onError: () => {} });
    const results = upTo(20).map((k) => errorOf(queue.run(of('gate.js'), k)));
    await gate.entered();
    queue.pushBatch(of('gate.js', 'count'), [20, 21, 22]);
    expect(await within(queue.stop({ timeoutMs: 0 }), 'stop')).toEqual({ ...NOTHING, cut: 23 });
    for (const error of await Promise.all(results)) expect(error).toMatchObject({ name: 'RailheadError', code: 'E_QUEUE_STOPPED' });
    gate.open();
    expect(queue.stats()).toMatchObject({ pending: 0, queued: 0, workers: { live: 0 } });
    expect(gate.ran()).toEqual({ 0: 1 });
  });

  test('B30 with an endless loop: the thread is ended at the deadline', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 2, parallelism: 2, workerData: gate.workerData });
    const loops = errorOf(
      queue.run(() => {
        for (;;);
      }),
    );
    await until(() => queue.stats().workers.busy === 1, 'the loop to run');
    const other = queue.run((n: number) => n, 1);
    await other;
    expect(await within(queue.stop({ timeoutMs: 20 }), 'stop')).toEqual({ ...NOTHING, completed: 1, cut: 1 });
    expect(await loops).toMatchObject({ code: 'E_QUEUE_STOPPED' });
    expect(queue.stats().workers.live).toBe(0);
  });

  test('B07 with a task that waits for ever on shared memory', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const waits = errorOf(queue.run(of('gate.js'), 0));
    await gate.entered();
    expect(await within(queue.stop({ timeoutMs: 20 }), 'stop')).toEqual({ ...NOTHING, cut: 1 });
    expect(await waits).toMatchObject({ code: 'E_QUEUE_STOPPED' });
  });

  test('with a promise that never settles', async () => {
    const queue = queueOf({ concurrency: 1, tasksPerWorker: 4 });
    const never = upTo(3).map(() => errorOf(queue.run(() => new Promise(() => {}))));
    await queue.run((n: number) => n, 1);
    expect(await within(queue.stop({ timeoutMs: 20 }), 'stop')).toEqual({ ...NOTHING, completed: 1, cut: 3 });
    for (const error of await Promise.all(never)) expect(error).toMatchObject({ code: 'E_QUEUE_STOPPED' });
  });

  test('with a module that never finishes loading', async () => {
    const queue = queueOf(1);
    const endless = new URL('data:text/javascript,');
    expect(() => queue.push(endless, 1)).toThrow(TypeError);
    const loads = errorOf(queue.run(of('never-loads.js'), 1));
    await until(() => queue.stats().workers.live === 1, 'a worker');
    expect(await within(queue.stop({ timeoutMs: 20 }), 'stop')).toEqual({ ...NOTHING, cut: 1 });
    expect(await loads).toMatchObject({ code: 'E_QUEUE_STOPPED' });
  });

  test('an aborted signal cuts now, and one aborted later cuts then', async () => {
    for (const when of ['before', 'after'] as const) {
      const gate = new Gate();
      const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
      const results = upTo(3).map((k) => errorOf(queue.run(of('gate.js'), k)));
      await gate.entered();
      const controller = new AbortController();
      if (when === 'before') controller.abort();
      const stopping = queue.stop({ signal: controller.signal });
      if (when === 'after') controller.abort();
      expect(await within(stopping, 'stop', 10_000)).toEqual({ ...NOTHING, cut: 3 });
      for (const error of await Promise.all(results)) expect(error).toMatchObject({ code: 'E_QUEUE_STOPPED' });
    }
  });

  test('a second call may bring the signal', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const result = errorOf(queue.run(of('gate.js'), 0));
    await gate.entered();
    const stopping = queue.stop();
    expect(queue.stop({ signal: AbortSignal.abort() })).toBe(stopping);
    expect(await within(stopping, 'stop', 10_000)).toEqual({ ...NOTHING, cut: 1 });
    await result;
  });

  test('at the end of an `await using` block', async () => {
    let queue: TaskQueue;
    let result: Promise<number>;
    {
      await using its = new TaskQueue(1);
      queue = its;
      result = its.run((n: number) => n + 1, 1);
    }
    await expect(result).resolves.toBe(2);
    expect(queue.stats().workers.live).toBe(0);
    expect(queue.push((n: number) => n, 1)).toBe(false);
  });
});

test.each([
  ['an unknown name', { timeout: 1 }, TypeError],
  ['a time below 0', { timeoutMs: -1 }, RangeError],
  ['a signal that is none', { signal: 1 }, TypeError],
  ['a number', 5, TypeError],
])('wrong options of stop() reject, and the queue goes on: %s', async (_what, options, kind) => {
  const queue = queueOf(1);
  expect(await errorOf(queue.stop(options as never))).toBeInstanceOf(kind);
  await expect(queue.run((n: number) => n, 1)).resolves.toBe(1);
});

test('members of a stopped queue answer', async () => {
  const queue = queueOf(2);
  await queue.run((n: number) => n, 1);
  await queue.stop();
  await within(queue.idle(), 'idle');
  expect(await errorOf(queue.ready())).toMatchObject({ code: 'E_QUEUE_STOPPED' });
  expect(await errorOf(queue.warm(1))).toMatchObject({ code: 'E_QUEUE_STOPPED' });
  queue.recycle();
  expect(queue).toMatchObject({ size: 0, pending: 0, needsDrain: false });
  expect(queue.stats()).toMatchObject({ completed: 1, workers: { live: 0, busy: 0, parked: 0 } });
});

test('ready() that waits is told of the stop', async () => {
  const gate = new Gate();
  const queue = queueOf({ concurrency: 1, maxPending: 1, workerData: gate.workerData });
  queue.submit(of('gate.js'), 0);
  const ready = errorOf(queue.ready());
  const stopping = queue.stop();
  expect(await within(ready, 'ready')).toMatchObject({ code: 'E_QUEUE_STOPPED' });
  gate.open();
  await stopping;
});

describe('P5 afterwards nothing is left', () => {
  const states = {
    cold: '',
    parked: 'await queue.warm(2);',
    worked: 'await Promise.all(Array.from({ length: 100 }, (_, k) => queue.run((n) => n, k)));',
    starting: 'queue.warm(2).catch(() => {});',
    looping:
      'queue.run(() => { for (;;); }).catch(() => {}); while (queue.stats().running === 0) await new Promise((resolve) => setImmediate(resolve));',
    waiting: 'queue.run(() => new Promise(() => {})).catch(() => {});',
    crashed: 'await queue.run(() => process.exit(1)).catch(() => {});',
  };
  test.each(Object.entries(states))('no thread, timer, listener or port, and the process ends by itself: %s', async (_name, work) => {
    const { code, stdout, stderr } = await inChild(`
      import { TaskQueue } from 'railhead';
      const signals = ['SIGINT', 'SIGTERM', 'exit', 'beforeExit', 'uncaughtException', 'unhandledRejection', 'warning'];
      const listeners = () => signals.map((name) => process.listenerCount(name)).join();
      console.log('started'); // so that the pipe of the output exists
      const settle = async () => { for (let k = 0; k < 3; k++) await new Promise((resolve) => setImmediate(resolve)); };
      await settle();
      const before = [process.getActiveResourcesInfo().sort().join(), listeners()];
      const queue = new TaskQueue({ concurrency: 2, maxIdleMs: Infinity });
      ${work}
      const controller = new AbortController();
      const report = await queue.stop({ timeoutMs: 50, signal: controller.signal });
      await settle();
      const after = [process.getActiveResourcesInfo().sort().join(), listeners()];
      const { getEventListeners } = await import('node:events');
      console.log(JSON.stringify({ same: before.join('|') === after.join('|'), before, after, live: queue.stats().workers.live, stuck: report.stuck, onSignal: getEventListeners(controller.signal, 'abort').length }));
    `);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const seen = JSON.parse(stdout.split('\n')[1] as string);
    expect(seen.after).toEqual(seen.before);
    expect(seen).toMatchObject({ same: true, live: 0, stuck: [], onSignal: 0 });
  });

  test('B29 a thread inside a native call is named in the report, and touches nothing when it comes back', async () => {
    const { code, stdout, stderr } = await inChild(`
      import { execFileSync } from 'node:child_process';
      import { writeFileSync } from 'node:fs';
      import { join } from 'node:path';
      import { TaskQueue } from 'railhead';
      const pipe = join(import.meta.dirname, 'pipe');
      execFileSync('mkfifo', [pipe]);
      const queue = new TaskQueue(2);
      const waits = queue.run(async function readPipe(path) {
        const { execFileSync } = process.getBuiltinModule('node:child_process');
        return execFileSync('cat', [path]).toString();
      }, pipe).then(() => 'resolved', (error) => error.code);
      while (queue.stats().running === 0) await new Promise((resolve) => setImmediate(resolve));
      const report = await queue.stop({ timeoutMs: 50 });
      console.log(JSON.stringify({ ...report, stuck: report.stuck.map(({ handler, workerId, sinceMs }) => ({ handler, workerId, since: sinceMs > 0 })) }));
      console.log(await waits, queue.push((n) => n, 1), queue.pending);
      writeFileSync(pipe, 'the native call returns');
      console.log('written');
    `);
    expect(stderr).toBe('');
    const [report, after, written] = stdout.trim().split('\n');
    expect(JSON.parse(report as string)).toEqual({ ...NOTHING, cut: 1, stuck: [{ handler: 'readPipe', workerId: 1, since: true }] });
    expect(after).toBe('E_QUEUE_STOPPED false 0');
    expect(written).toBe('written');
    expect(code).toBe(0);
  });
});
