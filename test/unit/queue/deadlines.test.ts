/** Deadlines, to the millisecond: a made-up clock, and puppets instead of threads. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { until } from '../../support/index.ts';
import { counts, echo, end, pass, type Puppet, puppetQueue, puppets, type Seen, watch } from './puppet.ts';

/** The wheel's step: the most that a deadline may be late. */
const TICK_MS = 8;
/** A round of the wheel. */
const ROUND_MS = 256 * TICK_MS;

afterEach(end);
const due = (queue: ReturnType<typeof puppetQueue>, deadlineMs: number): Seen => watch(queue.run(echo, 1, { deadlineMs }));

describe('a deadline of a queued task', () => {
  test.each([0.5, 1, 7, 8, 9, 16, 100, ROUND_MS - 1, ROUND_MS, ROUND_MS + 1, 10_000])(
    'of %d ms is never early, and at most one tick late',
    async (deadlineMs) => {
      const queue = puppetQueue();
      const task = due(queue, deadlineMs);
      await pass(Math.ceil(deadlineMs) - 1);
      expect(task).toEqual({});
      await pass(TICK_MS + 1);
      expect(task.code).toBe('E_TASK_DEADLINE');
      expect(counts(queue)).toEqual({ size: 0, pending: 0 });
    },
  );

  test('is kept also where others share its place and have rounds of the wheel to go', async () => {
    const queue = puppetQueue();
    const tasks = [30, 30 + ROUND_MS, 30 + 2 * ROUND_MS, 31, 2_000].map((ms) => ({ ms, seen: due(queue, ms) }));
    for (let now = 0; now < 4_200; now++) {
      for (const { ms, seen } of tasks) {
        if (now < ms) expect(seen, `${ms} at ${now}`).toEqual({});
        if (now > ms + TICK_MS) expect(seen.code, `${ms} at ${now}`).toBe('E_TASK_DEADLINE');
      }
      await pass(1);
    }
    expect(queue.pending).toBe(0);
  });

  test('is kept by one that is added to a wheel that turns', async () => {
    const queue = puppetQueue();
    due(queue, 5_000);
    for (let k = 0; k < 40; k++) {
      await pass(k % 11);
      const task = due(queue, 20);
      await pass(19);
      expect(task).toEqual({});
      await pass(TICK_MS + 1);
      expect(task.code).toBe('E_TASK_DEADLINE');
    }
  });

  test.each([100, 500, 2_000])('counts from the submission, also where the value was read for %i ms', async (ms) => {
    const queue = puppetQueue();
    const value = {
      get slow() {
        vi.advanceTimersByTime(ms);
        return 1;
      },
    };
    const task = watch(queue.run(echo, value, { deadlineMs: 50 }));
    await pass(2 * TICK_MS);
    expect(task.code).toBe('E_TASK_DEADLINE');
  });

  test('that passed while the event loop was blocked comes at the next tick', async () => {
    const queue = puppetQueue();
    const tasks = [10, 300, 2_500, 60_000].map((ms) => due(queue, ms));
    vi.setSystemTime(70_000); // and no timer has fired
    await pass(TICK_MS);
    expect(tasks.map(({ code }) => code)).toEqual(Array(4).fill('E_TASK_DEADLINE'));
  });

  test('of 2^31 ms and more is kept, and is none that ends at once', async () => {
    const queue = puppetQueue();
    const tasks = [2 ** 31, 2 ** 32 + 1, 2 ** 40].map((ms) => due(queue, ms));
    const late = (): number => tasks.filter(({ code }) => code === 'E_TASK_DEADLINE').length;
    for (const [time, count] of [
      [2 ** 31 - 100, 0],
      [2 ** 31, 1],
      [2 ** 32 - 100, 1],
      [2 ** 32 + 1, 2],
      [2 ** 40 - 100, 2],
      [2 ** 40, 3],
    ] as const) {
      vi.setSystemTime(time);
      await pass(2 * TICK_MS);
      expect(late(), `at ${time}`).toBe(count);
    }
    expect(queue.pending).toBe(0);
  });

  test('costs one timer for all, and none once they are released', async () => {
    const queue = puppetQueue();
    const before = vi.getTimerCount();
    const tasks = [50_000, 10, 60_000].map((ms) => due(queue, ms));
    expect(vi.getTimerCount()).toBe(before + 1);
    await pass(20);
    expect(tasks.map(({ code }) => code)).toEqual([undefined, 'E_TASK_DEADLINE', undefined]);
    const worker = puppets[0]?.boot() as Puppet;
    for (const index of [0, 2]) {
      expect(vi.getTimerCount()).toBe(before + 1);
      worker.start();
      worker.settle('done');
      await until(() => tasks[index]?.value === 'done', 'the result');
    }
    expect(vi.getTimerCount()).toBe(before);
  });
});

test('a deadline of a running task rejects it, tells its worker, and ends the thread after graceMs, not before', async () => {
  const queue = puppetQueue({ graceMs: 100 });
  const task = due(queue, 50);
  const worker = puppets[0]?.boot() as Puppet;
  const entry = worker.start();
  await pass(49);
  expect(worker.told()).toEqual([]);
  await pass(TICK_MS + 1);
  expect(task.code).toBe('E_TASK_DEADLINE');
  expect(worker.told()).toMatchObject([{ type: 'abort', entry }]);
  expect(queue.pending).toBe(1);
  await pass(100 - TICK_MS - 2);
  expect(worker.terminated).toBe(0);
  await pass(TICK_MS + 4);
  expect(worker.terminated).toBe(1);
  worker.exit();
  await pass(0);
  expect(counts(queue)).toEqual({ size: 0, pending: 0 });
});
