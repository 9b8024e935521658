/** Run time limits, to the millisecond: a made-up clock, and puppets instead of threads. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { INTERNALS } from '#queue';
import { SLOT_GUARD, SLOT_RUN, slotAt } from '#memory';
import { LIBRARY } from '#pool';
import { until } from '../../support/index.ts';
import { echo, end, pass, type Puppet, puppetQueue, puppets, type Seen, watch } from './puppet.ts';

afterEach(end);
const limited = (queue: ReturnType<typeof puppetQueue>, timeoutMs?: number): Seen =>
  watch(queue.run(echo, 1, timeoutMs === undefined ? undefined : { timeoutMs }));
const first = (): Puppet => (puppets[0] as Puppet).boot();

describe('a limit on the run time', () => {
  // Looks come eight times as often as the limit asks, every 1 to 50 ms; a task is timed from the look that first saw it.
  test.each([1, 4, 8, 100, 399, 400, 401, 5_000])('of %d ms is never early, and at most two looks late', async (timeoutMs) => {
    const queue = puppetQueue();
    const lookMs = Math.min(50, Math.max(1, timeoutMs / 8));
    const task = limited(queue, timeoutMs);
    first().start();
    await pass(timeoutMs - 1);
    expect(task).toEqual({});
    await pass(Math.ceil(2 * lookMs) + 2);
    expect(task.code).toBe('E_TASK_TIMEOUT');
  });

  test('18.1 ends a thread that is stuck in the library, a second after its grace and not before', async () => {
    const queue = puppetQueue({ graceMs: 50 });
    const task = limited(queue, 20);
    const worker = first();
    worker.start();
    worker.region.m[slotAt(worker.slot) + SLOT_GUARD] = LIBRARY; // and stays there: a handler has broken what the library calls
    await pass(100);
    expect([task.code, worker.terminated]).toEqual(['E_TASK_TIMEOUT', 0]);
    await pass(900);
    expect(worker.terminated).toBe(0);
    await pass(150);
    await until(() => worker.terminated === 1, 'the end of the thread');
  });

  test('does not run while the task is queued', async () => {
    const queue = puppetQueue();
    const task = limited(queue, 20);
    await pass(5_000);
    expect(task).toEqual({});
    first().start();
    await pass(19);
    expect(task).toEqual({});
    await pass(8);
    expect(task.code).toBe('E_TASK_TIMEOUT');
  });

  test('begins anew with each task in the same place', async () => {
    const queue = puppetQueue({ timeoutMs: 100 });
    for (let k = 0; k < 20; k++) {
      const task = limited(queue);
      const worker = k === 0 ? first() : (puppets[0] as Puppet);
      worker.start();
      await pass(99);
      worker.settle(k);
      await until(() => task.value === k, 'the result');
    }
    expect(queue.stats()).toMatchObject({ failed: 0, completed: 20 });
  });

  test('of one task is not that of another beside it, whatever their order', async () => {
    const queue = puppetQueue({ tasksPerWorker: 4 });
    const tasks = [1_000, 10, 0, 100].map((timeoutMs) => limited(queue, timeoutMs));
    const worker = first();
    for (let place = 0; place < 4; place++) worker.start(place);
    const late = (): number[] => tasks.flatMap(({ code }, k) => (code === 'E_TASK_TIMEOUT' ? [k] : []));
    await pass(9);
    expect(late()).toEqual([]);
    await pass(6);
    expect(late()).toEqual([1]);
    worker.settle('late', 1);
    await pass(80);
    expect(late()).toEqual([1]);
    await pass(20);
    expect(late()).toEqual([1, 3]);
    worker.settle('late', 3);
    worker.settle('in time', 0);
    await until(() => tasks[0]?.value === 'in time', 'the first result');
    await pass(60_000);
    expect(tasks[2]).toEqual({});
    worker.settle('free of limits', 2);
    await until(() => tasks[2]?.value === 'free of limits', 'the last result');
    expect(late()).toEqual([1, 3]);
    expect(worker.terminated).toBe(0);
  });

  test('is told once, and ends the thread once, after graceMs', async () => {
    const queue = puppetQueue({ graceMs: 100 });
    const task = limited(queue, 5);
    const worker = first();
    const entry = worker.start();
    await pass(8);
    expect(task.code).toBe('E_TASK_TIMEOUT');
    await pass(80);
    expect(worker.told()).toMatchObject([{ type: 'abort', entry }]);
    expect(worker.terminated).toBe(0);
    await pass(25);
    expect(worker.terminated).toBe(1);
    await pass(10_000);
    expect(worker.terminated).toBe(1);
    expect(queue.stats()).toMatchObject({ pending: 1, failed: 1, workers: { live: 0, condemned: 1 } });
    worker.exit();
    await pass(0);
    expect(queue.stats()).toMatchObject({ pending: 0, failed: 1, workers: { live: 0, condemned: 0 } });
  });

  test('of pushed and submitted tasks is told to onError, once each', async () => {
    const onError = vi.fn();
    const queue = puppetQueue({ timeoutMs: 5, onError });
    queue.push(echo, 1);
    queue.submit(echo, 2);
    const worker = first();
    for (const left of [1, 0]) {
      worker.start();
      await pass(60);
      worker.settle('late');
      await until(() => queue.pending === left, 'its release');
    }
    expect(onError.mock.calls.map(([{ code }]) => code)).toEqual(['E_TASK_TIMEOUT', 'E_TASK_TIMEOUT']);
    expect(queue.stats()).toMatchObject({ completed: 0, failed: 2, aborted: 0 });
  });

  test('costs one timer for all tasks, and none once they are released', async () => {
    const queue = puppetQueue({ tasksPerWorker: 8 });
    const before = vi.getTimerCount();
    const tasks = [50, 5, 500, 0].map((timeoutMs) => limited(queue, timeoutMs));
    expect(vi.getTimerCount()).toBe(before + 1);
    const worker = first();
    for (let place = 0; place < 4; place++) worker.start(place);
    for (let place = 0; place < 4; place++) worker.settle(place, place);
    await until(() => tasks.every(({ value }, k) => value === k), 'four results');
    expect(vi.getTimerCount()).toBe(before);
  });

  test('of a task that died with its worker is not told', async () => {
    const queue = puppetQueue();
    const task = limited(queue, 1_000);
    first().start();
    await pass(500);
    (puppets[0] as Puppet).exit(7);
    await pass(5_000);
    expect(task.code).toBe('E_WORKER_DIED');
    expect(queue.stats()).toMatchObject({ failed: 1, pending: 0 });
  });

  test('is not held against the next task in the record of one whose worker is slow to let go', async () => {
    const queue = puppetQueue({ ...({ [INTERNALS]: { rotation: 0 } } as object) });
    const one = limited(queue, 10);
    const worker = first();
    const entry = worker.start();
    worker.settle('done');
    Atomics.store(worker.region.m, slotAt(worker.slot) + SLOT_RUN, entry); // its last step is still to come
    await until(() => one.value === 'done', 'the first result');
    const others = [limited(queue, 10), limited(queue, 10)]; // queued: one of them has that record
    await pass(100);
    expect(others).toEqual([{}, {}]);
    Atomics.store(worker.region.m, slotAt(worker.slot) + SLOT_RUN, 0);
  });

  test('is that of each attempt where a task may run again', async () => {
    const queue = puppetQueue();
    const task = watch(queue.run(echo, 1, { timeoutMs: 100, onCrash: { retry: 3 } }));
    for (let attempt = 0; attempt < 3; attempt++) {
      const worker = (puppets[attempt] as Puppet).boot();
      worker.start();
      await pass(95);
      expect(task).toEqual({});
      worker.exit(1);
      await pass(0);
    }
    (puppets[3] as Puppet).boot().start();
    await pass(130);
    expect(task.code).toBe('E_TASK_TIMEOUT');
  });

  test('of 2^31 ms and more is kept, and is none that ends at once', async () => {
    const queue = puppetQueue({ tasksPerWorker: 3, graceMs: 2 ** 40 });
    const tasks = [2 ** 31, 2 ** 32 + 1, 2 ** 40].map((timeoutMs) => limited(queue, timeoutMs));
    const worker = first();
    for (let place = 0; place < 3; place++) worker.start(place);
    await pass(100); // all have been seen
    const late = (): number => tasks.filter(({ code }) => code === 'E_TASK_TIMEOUT').length;
    for (const [time, count] of [
      [2 ** 31 - 100, 0],
      [2 ** 31 + 200, 1],
      [2 ** 32 - 100, 1],
      [2 ** 32 + 200, 2],
      [2 ** 40 - 100, 2],
      [2 ** 40 + 200, 3],
    ] as const) {
      vi.setSystemTime(time);
      await pass(60);
      expect(late(), `at ${time}`).toBe(count);
    }
    for (let place = 0; place < 3; place++) worker.settle('late', place);
    await until(() => queue.pending === 0, 'their release');
    expect(worker.terminated).toBe(0);
  });
});
