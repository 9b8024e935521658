/** When `stop` tells running tasks, and when it cuts. A made-up clock, and puppets instead of threads. */
import { afterEach, expect, test } from 'vitest';
import { until } from '../../support/index.ts';
import { counts, echo, end, pass, type Puppet, puppetQueue, puppets, watch } from './puppet.ts';

afterEach(end);

// graceMs before the deadline, but never before half of the time is over.
test.each([
  [30_000, 1_000, 29_000],
  [2_000, 1_000, 1_000],
  [1_000, 60_000, 500],
  [100, 0, 100],
])(
  'a stop within %i ms with a grace of %i ms fires task.signal after %i ms, and ends threads at its deadline',
  async (timeoutMs, graceMs, toldAt) => {
    const queue = puppetQueue({ graceMs });
    const task = watch(queue.run(echo, 1));
    const worker = (puppets[0] as Puppet).boot();
    const entry = worker.start();
    const report = watch(queue.stop({ timeoutMs }));
    await pass(toldAt - 1);
    expect(worker.told()).toEqual([]);
    await pass(2);
    if (toldAt < timeoutMs) expect(worker.told()).toMatchObject([{ type: 'abort', entry }]);
    if (toldAt < timeoutMs - 2) expect(worker.terminated).toBe(0);
    await pass(timeoutMs - toldAt + 2);
    expect(worker.terminated).toBe(1);
    expect(task).toEqual({});
    worker.exit();
    await pass(0);
    await until(() => report.value, 'the report');
    expect(report.value).toEqual({ completed: 0, failed: 0, cut: 1, stuck: [] });
    expect(task.code).toBe('E_QUEUE_STOPPED');
    expect(counts(queue)).toEqual({ size: 0, pending: 0 });
  },
);

test('a task that heeds the signal of a stop is completed, not cut', async () => {
  const queue = puppetQueue({ graceMs: 1_000 });
  const task = watch(queue.run(echo, 1));
  const worker = (puppets[0] as Puppet).boot();
  worker.start();
  const report = watch(queue.stop({ timeoutMs: 10_000 }));
  await pass(9_001);
  expect(worker.told()).toMatchObject([{ type: 'abort' }]);
  worker.settle('in good order');
  await until(() => task.value, 'the result');
  worker.exit(0);
  await until(() => report.value, 'the report');
  expect(task.value).toBe('in good order');
  expect(report.value).toEqual({ completed: 1, failed: 0, cut: 0, stuck: [] });
});

test('a task that was given up is waited for like a running one, and is told no second reason', async () => {
  const queue = puppetQueue({ graceMs: 60_000 });
  const controller = new AbortController();
  const task = watch(queue.run(echo, 1, { signal: controller.signal }));
  const worker = (puppets[0] as Puppet).boot();
  const entry = worker.start();
  controller.abort();
  await pass(0);
  expect(task.code).toBe('ABORT_ERR');
  expect(worker.told()).toMatchObject([{ type: 'abort', entry }]);
  const report = watch(queue.stop({ timeoutMs: 10_000 }));
  await pass(4_000);
  expect(report).toEqual({});
  worker.settle('late');
  await until(() => queue.pending === 0, 'its release');
  worker.exit(0);
  await until(() => report.value, 'the report');
  expect(report.value).toEqual({ completed: 0, failed: 1, cut: 0, stuck: [] });
});
