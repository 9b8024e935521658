/** `onCrash: { retry }`: a task whose thread died under it runs again, as often as it asked for. Real worker threads. */
import { INTERNALS } from '#queue';
import type { TaskQueue } from 'railhead';
import { describe, expect, test } from 'vitest';
import { until, within } from '../support/index.ts';
import { errorOf, Gate, of, onceEach, queueOf, upTo } from './gate.ts';
import { its, loaded, LONG_MS, settled } from './limits.ts';

const retry = (times: number) => ({ onCrash: { retry: times } });
interface Sent {
  times: number;
  index?: number;
  value?: unknown;
}
const dieTimes = (queue: TaskQueue, sent: Sent, retries: number): Promise<unknown> => queue.run(its('dieTimes'), sent, retry(retries));

describe('a task that may run again after a crash', () => {
  test('P9 does not without having asked for it', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    for (const options of [undefined, { onCrash: 'reject' as const }, retry(0)])
      expect(await errorOf(queue.run(its('dieTimes'), { times: 1, index: 0 }, options))).toMatchObject({
        code: 'E_WORKER_DIED',
        exitCode: 11,
      });
    await settled(queue);
    expect(gate.ran()).toEqual({ 0: 3 });
  });

  test('runs again until it returns, and task.attempt counts', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    await expect(dieTimes(queue, { times: 0, index: 0 }, 3)).resolves.toMatchObject({ attempt: 1 });
    await expect(dieTimes(queue, { times: 1, index: 1 }, 3)).resolves.toMatchObject({ attempt: 2 });
    await expect(dieTimes(queue, { times: 3, index: 2 }, 3)).resolves.toMatchObject({ attempt: 4 });
    await settled(queue);
    expect(gate.ran()).toEqual({ 0: 1, 1: 2, 2: 4 });
    expect(queue.stats()).toMatchObject({ completed: 3, failed: 0, workers: { started: 5 } });
  });

  test('B09 gives up with how often it tried in the message, and the first failure as cause', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const error = await errorOf(dieTimes(queue, { times: 9, index: 0 }, 2));
    expect(error).toMatchObject({ name: 'RailheadError', code: 'E_WORKER_DIED', exitCode: 13, reason: 'exit' });
    expect(error.message).toContain('3 attempts');
    expect(error.cause).toMatchObject({ name: 'RailheadError', code: 'E_WORKER_DIED', exitCode: 11, reason: 'exit' });
    await settled(queue);
    expect(gate.ran()).toEqual({ 0: 3 });
    expect(queue.stats()).toMatchObject({ completed: 0, failed: 1 });
  });

  test('may fail by itself: what a handler throws is no crash', async () => {
    const queue = queueOf({ concurrency: 1 });
    let told = await errorOf(
      queue.run(
        (_: undefined, task) => {
          throw new RangeError(`attempt ${task.attempt}`);
        },
        undefined,
        retry(5),
      ),
    );
    expect(told).toMatchObject({ name: 'RangeError', message: 'attempt 1' });
    told = await errorOf(
      queue.run(
        (_: undefined, task) => {
          if (task.attempt === 1) process.exit(1);
          throw new RangeError(`attempt ${task.attempt}`);
        },
        undefined,
        retry(5),
      ),
    );
    expect(told).toMatchObject({ name: 'RangeError', message: 'attempt 2' });
    await settled(queue);
  });

  test.each([
    ['an uncaught exception', 'crash'],
    ['an unhandled rejection', 'crash'],
  ])('a crash by %s counts too', async (what) => {
    const queue = queueOf({ concurrency: 1, graceMs: 1, onError: () => {} });
    const result = await queue.run(
      (kind: string, task) => {
        if (task.attempt > 1) return task.attempt;
        if (kind === 'an unhandled rejection') void Promise.reject(new Error('leaked'));
        else
          setTimeout(() => {
            throw new Error('leaked');
          });
        return new Promise<number>(() => {});
      },
      what,
      retry(1),
    );
    expect(result).toBe(2);
    await settled(queue);
  });

  const values: [string, unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['true', true],
    ['an integer', 7],
    ['-0', -0],
    ['a fraction', 0.1],
    ['NaN', Number.NaN],
    ['an empty string', ''],
    ['a short string', 'inline'],
    ['a string of 40 bytes', 'x'.repeat(40)],
    ['a string of 41 bytes', 'x'.repeat(41)],
    ['a wide string', 'ż'.repeat(30)],
    ['a lone surrogate', '\ud800 and \0'],
    ['a long string', 'long '.repeat(20_000)],
    ['a small object', { a: 1, b: [2, 3] }],
    ['a large object', Object.fromEntries(upTo(2_000).map((k) => [`key ${k}`, { k, list: [k, `${k}`] }]))],
    ['few bytes', new Uint8Array([1, 2, 3])],
    ['many bytes', new Uint8Array(100_000).map((_, k) => k % 251)],
    ['nothing but holes', new Array(3)],
  ];
  test('the argument is the same in every attempt, whatever its form, also where the result is larger', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 2, parallelism: 2, workerData: gate.workerData });
    // Alone, so that each form stands in the record by itself, and inside an object.
    const echoes = values.map(([, value]) =>
      queue.run(
        (given: unknown, task) => {
          if (task.attempt <= 1) process.exit(1);
          return [given, 'x'.repeat(1_000)];
        },
        value,
        retry(1),
      ),
    );
    const nested = values.map(([, value]) => dieTimes(queue, { times: 2, value }, 2));
    const [single, inside] = [
      await within(Promise.all(echoes), 'the values alone'),
      await within(Promise.all(nested), 'the values in objects'),
    ];
    for (const [k, [what, value]] of values.entries()) {
      expect(single[k], what).toEqual([value, 'x'.repeat(1_000)]);
      expect(inside[k], what).toEqual({ attempt: 3, value });
    }
    await settled(queue);
  }, 120_000);

  test('only those that died with the thread run again: others are neither lost nor repeated', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 2, parallelism: 2, maxBatchSize: 8, workerData: gate.workerData });
    await queue.warm(2);
    const dying = upTo(4).map((k) => dieTimes(queue, { times: 2, index: k }, 2));
    const others = upTo(30).map((k) => queue.run(of('gate.js', 'count'), 10 + k));
    for (const result of await within(Promise.all(dying), 'the retried')) expect(result).toMatchObject({ attempt: 3 });
    await expect(within(Promise.all(others), 'the others')).resolves.toEqual(upTo(40).slice(10));
    await settled(queue);
    expect(gate.ran()).toEqual({ ...onceEach(upTo(40).slice(10)), 0: 3, 1: 3, 2: 3, 3: 3 });
    expect(queue.stats()).toMatchObject({ completed: 34, failed: 0 });
  });

  test('tasks that overlapped with the one that died, each as it asked for', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, tasksPerWorker: 8, workerData: gate.workerData });
    const again = upTo(3).map((k) => queue.run(its('beatUntilOpen'), k, retry(1)));
    const not = upTo(2).map((k) => errorOf(queue.run(its('beatUntilOpen'), k + 3)));
    await gate.entered(5);
    const dead = errorOf(queue.run(() => process.exit(5)));
    for (const error of await within(Promise.all([...not, dead]), 'three rejections'))
      expect(error).toMatchObject({ code: 'E_WORKER_DIED', exitCode: 5 });
    await gate.entered(8);
    gate.open();
    await expect(within(Promise.all(again), 'the retried')).resolves.toEqual(Array(3).fill('undisturbed'));
    await settled(queue);
    expect(gate.ran()).toEqual({ 0: 2, 1: 2, 2: 2, 3: 1, 4: 1 });
  });

  test('a thread ended because of another task counts as a crash of those beside it', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, tasksPerWorker: 4, graceMs: 5, workerData: gate.workerData });
    const controller = new AbortController();
    const beside = queue.run(its('beatUntilOpen'), 0, retry(1));
    const victim = errorOf(queue.run(its('never'), 1, { signal: controller.signal, ...retry(5) }));
    await gate.entered(2);
    controller.abort();
    expect(await victim).toMatchObject({ code: 'ABORT_ERR' });
    await gate.entered(3);
    gate.open();
    await expect(within(beside, 'the retried')).resolves.toBe('undisturbed');
    await settled(queue);
    expect(gate.ran()).toEqual({ 0: 2, 1: 1 });
  });
});

describe('aborted or late', () => {
  test('in a later attempt: it is given up, and runs no more', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('dieThenIgnore'), 0, { signal: controller.signal, ...retry(9) }));
    await gate.entered();
    controller.abort();
    expect(await victim).toMatchObject({ code: 'ABORT_ERR' });
    gate.open();
    await settled(queue);
    expect(gate.ran()).toEqual({ 0: 1 });
    expect(queue.stats()).toMatchObject({ failed: 1, aborted: 1, workers: { started: 2 } });
  });

  test('between two attempts: it never runs again', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    queue.on('workerExit', () => controller.abort()); // told right after the task was queued again
    const error = await errorOf(queue.run(its('dieTimes'), { times: 9, index: 0 }, { signal: controller.signal, ...retry(9) }));
    expect(error).toMatchObject({ code: 'ABORT_ERR' });
    await settled(queue);
    // The next worker may have been quicker than the event; it then died a second time, and that was all.
    expect(gate.ran()[0]).toBeLessThanOrEqual(2);
    await expect(queue.run((n: number) => n, 1)).resolves.toBe(1);
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 1, aborted: 1 });
  });

  test('and ended with its thread: a time-out is no crash', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: 1, workerData: gate.workerData });
    await loaded(queue, 1, 'loop');
    expect(await errorOf(queue.run(its('loop'), 0, { timeoutMs: 5, ...retry(9) }))).toMatchObject({ code: 'E_TASK_TIMEOUT' });
    await settled(queue);
    await expect(within(queue.run(its('worker')), 'the next')).resolves.toBe(2);
    expect(gate.ran()).toEqual({ 0: 1 });
  });

  test('each attempt has the whole of timeoutMs', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: 1, workerData: gate.workerData });
    const error = await errorOf(queue.run(its('dieThenIgnore'), 0, { timeoutMs: 50, ...retry(9) }));
    expect(error).toMatchObject({ code: 'E_TASK_TIMEOUT' });
    await settled(queue);
    expect(gate.ran()).toEqual({ 0: 1 }); // it got as far as its second attempt
  });

  test('by its deadline, which counts over all attempts', async () => {
    const queue = queueOf({ concurrency: 1 });
    const error = await errorOf(queue.run(() => process.exit(1), undefined, { deadlineMs: 400, ...retry(255) }));
    expect(error).toMatchObject({ code: 'E_TASK_DEADLINE' });
    await settled(queue);
  });
});

describe('stop()', () => {
  test('waits for attempts that are left', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const result = dieTimes(queue, { times: 2, index: 0 }, 2);
    expect(await within(queue.stop(), 'stop')).toEqual({ completed: 1, failed: 0, cut: 0, stuck: [] });
    await expect(result).resolves.toMatchObject({ attempt: 3 });
  });

  test('and once it cuts there are no more', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const cut = errorOf(queue.run(its('loop'), 0, retry(9)));
    await gate.entered();
    expect(await within(queue.stop({ timeoutMs: 0 }), 'stop')).toMatchObject({ completed: 0, failed: 0, cut: 1 });
    expect(await cut).toMatchObject({ code: 'E_QUEUE_STOPPED' });
    expect(gate.ran()).toEqual({ 0: 1 });
    expect({ size: queue.size, pending: queue.pending }).toEqual({ size: 0, pending: 0 });
  });
});

test('no memory is left behind: large arguments of tasks that ran again, gave up, or were aborted', async () => {
  const gate = new Gate();
  const internals = { [INTERNALS]: { maxRegionBytes: 6 * 1024 * 1024 } } as object;
  const queue = queueOf({ concurrency: 1, workerData: gate.workerData, ...internals });
  const value = 'x'.repeat(30_000); // below what would go by another way than the region
  for (let round = 0; round < 30; round++) {
    const all = [dieTimes(queue, { times: 1, value }, 1), ...upTo(9).map(() => queue.run((text: string) => text, value, retry(9)))];
    await within(Promise.all(all), `round ${round}`);
  }
  await errorOf(dieTimes(queue, { times: 9, value }, 1));
  await settled(queue);
});

test('maxPending holds over attempts: the place is kept until the task has settled', async () => {
  const gate = new Gate();
  const queue = queueOf({ concurrency: 1, maxPending: 1, workerData: gate.workerData });
  const result = dieTimes(queue, { times: 2, index: 0 }, 2);
  let room = 0;
  queue.on('workerExit', () => {
    if (queue.submit(of('gate.js', 'count'), 1)) room++;
  });
  await until(() => gate.ran()[0] === 2, 'the second attempt');
  await expect(result).resolves.toMatchObject({ attempt: 3 });
  await settled(queue);
  expect(room).toBe(0);
});
