/** Tasks that do not heed their abort: the grace, and the end of their thread. Real worker threads. */
import { INTERNALS } from '#queue';
import { describe, expect, test, vi } from 'vitest';
import { until, within } from '../support/index.ts';
import { errorOf, Gate, of, onceEach, queueOf, upTo } from './gate.ts';
import { its, LONG_MS, settled, workerOf } from './limits.ts';

const ABORTED = { name: 'AbortError', code: 'ABORT_ERR' };

describe('a handler that does not heed its abort', () => {
  test.each(['loop', 'waitForEver', 'never'])('B07 is ended with its thread, and the next task runs on another: %s', async (name) => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: 5, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its(name), 1, { signal: controller.signal }));
    const next = queue.run(its('worker'));
    await gate.entered();
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    await expect(within(next, 'the next task')).resolves.toBe(2);
    await settled(queue);
    await until(() => queue.stats().workers.condemned === 0, 'the thread to end');
    expect(queue.stats()).toMatchObject({ failed: 1, aborted: 1, completed: 1, workers: { live: 1, started: 2 } });
    expect(gate.ran()).toEqual({ 1: 1 });
  });

  test('graceMs of 0 is no grace', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: 0, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('loop'), 1, { signal: controller.signal }));
    await gate.entered();
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    await expect(workerOf(queue)).resolves.toBe(2);
    await settled(queue);
  });

  test('keeps its place under maxPending until it returns, and its late result is dropped', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, maxPending: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('ignore'), 1, { signal: controller.signal }));
    await gate.entered();
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    expect(queue.submit(of('gate.js', 'count'), 2)).toBe(false);
    expect(await errorOf(queue.run(of('gate.js', 'count'), 2))).toMatchObject({ code: 'E_QUEUE_FULL' });
    expect(queue.stats()).toMatchObject({ pending: 1, running: 1, failed: 1, aborted: 1 });
    const [ready, idle] = [queue.ready(), queue.idle()];
    gate.open();
    await within(Promise.all([ready, idle]), 'room');
    await expect(queue.run(of('gate.js', 'count'), 3)).resolves.toBe(3);
    await settled(queue);
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 1, aborted: 1 });
    expect(gate.ran()).toEqual(onceEach([1, 3]));
    await expect(workerOf(queue)).resolves.toBe(1);
  });

  test('keeps it until its thread has ended', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, maxPending: 1, graceMs: 5, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('loop'), 1, { signal: controller.signal }));
    await gate.entered();
    controller.abort();
    await victim;
    expect(queue.submit(of('gate.js', 'count'), 2)).toBe(false);
    await within(queue.ready(), 'ready');
    expect(queue.submit(of('gate.js', 'count'), 3)).toBe(true);
    await settled(queue);
    expect(gate.ran()).toEqual(onceEach([1, 3]));
  });

  test('that throws late: nobody is told', async () => {
    const told = vi.fn();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, onError: told });
    queue.on('error', told);
    const controller = new AbortController();
    const victim = errorOf(
      queue.run(
        (_: undefined, task) => {
          while (!task.aborted);
          throw new Error('late');
        },
        undefined,
        { signal: controller.signal },
      ),
    );
    await until(() => queue.stats().running === 1, 'the task to run');
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    await settled(queue);
    await expect(workerOf(queue)).resolves.toBe(1);
    expect(told).not.toHaveBeenCalled();
  });

  test('leaves no memory behind: arguments of tasks aborted while queued or running, and late results', async () => {
    const gate = new Gate();
    const internals = { [INTERNALS]: { maxRegionBytes: 6 * 1024 * 1024 } } as object;
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData, ...internals });
    const bytes = 'x'.repeat(30_000); // below what would go by another way than the region
    const heeds = (text: string, task: { aborted: boolean }): string => {
      while (!task.aborted);
      return text;
    };
    for (let round = 0; round < 60; round++) {
      const controller = new AbortController();
      const victims = upTo(10).map(() => errorOf(queue.run(heeds, bytes, { signal: controller.signal })));
      await until(() => queue.stats().running === 1, 'one to run');
      controller.abort();
      for (const error of await Promise.all(victims)) expect(error).toMatchObject(ABORTED);
    }
    await settled(queue);
    await expect(queue.run((text: string) => text.length, bytes)).resolves.toBe(30_000);
  });
});
