/** Signals: one listener for all tasks that share one, gone with the last of them. Real worker threads. */
import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { within } from '../support/index.ts';
import { errorOf, Gate, of, onceEach, queueOf, upTo } from './gate.ts';
import { its, LONG_MS, settled } from './limits.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;
const ABORTED = { name: 'AbortError', code: 'ABORT_ERR' };

describe('one signal', () => {
  test('of many tasks has one listener, ends all of them, and keeps none', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 2, parallelism: 2, graceMs: LONG_MS, workerData: gate.workerData });
    const all = new AbortController();
    const victims = [
      ...upTo(2).map((k) => errorOf(queue.run(its('heedAsync'), k, { signal: all.signal }))),
      ...upTo(20).map((k) => errorOf(queue.run(of('gate.js', 'count'), 10 + k, { signal: all.signal }))),
    ];
    const spared = queue.run(of('gate.js', 'count'), 40);
    await gate.entered(2);
    expect(listeners(all.signal)).toBe(1);
    all.abort();
    expect(listeners(all.signal)).toBe(0);
    for (const error of await within(Promise.all(victims), '22 rejections')) expect(error).toMatchObject(ABORTED);
    await expect(spared).resolves.toBe(40);
    await settled(queue);
    expect(gate.ran()).toEqual(onceEach([0, 1, 40]));
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 22, aborted: 22 });
  });

  test('keeps its listener until the last of its tasks has settled, and no longer', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const { signal } = new AbortController();
    const quick = queue.run(of('gate.js', 'count'), 0, { signal });
    const held = queue.run(of('gate.js'), 1, { signal });
    await quick;
    await gate.entered();
    expect(listeners(signal)).toBe(1);
    gate.open();
    await held;
    expect(listeners(signal)).toBe(0);
    expect(await errorOf(queue.run(() => process.exit(1), undefined, { signal }))).toMatchObject({ code: 'E_WORKER_DIED' });
    expect(listeners(signal)).toBe(0);
    await queue.run(of('gate.js', 'count'), 2, { signal });
    expect(listeners(signal)).toBe(0);
    await settled(queue);
  });

  test('of 2,000 tasks brings no warning of a leak, and loses its listener however they end', async () => {
    const warned = vi.fn();
    process.on('warning', warned);
    try {
      const queue = queueOf({ concurrency: 2, onError: () => {} });
      const { signal } = new AbortController();
      const fails = (n: number): number => {
        if (n % 2) throw new Error('expected');
        return n;
      };
      await Promise.allSettled(upTo(2_000).map((k) => queue.run(fails, k, { signal })));
      expect(listeners(signal)).toBe(0);
      await new Promise((resolve) => setImmediate(resolve));
      expect(warned).not.toHaveBeenCalled();
      await settled(queue);
    } finally {
      process.off('warning', warned);
    }
  });

  test('has no listener left after stop() has cut its tasks', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const { signal } = new AbortController();
    const cut = upTo(3).map((k) => errorOf(queue.run(of('gate.js'), k, { signal })));
    await gate.entered();
    await queue.stop({ timeoutMs: 0 });
    for (const error of await Promise.all(cut)) expect(error).toMatchObject({ code: 'E_QUEUE_STOPPED' });
    expect(listeners(signal)).toBe(0);
  });

  test('may be AbortSignal.timeout', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const error = await errorOf(queue.run(its('heedAsync'), 1, { signal: AbortSignal.timeout(20) }));
    expect(error).toMatchObject({ ...ABORTED, cause: { name: 'TimeoutError' } });
    await settled(queue);
    if (gate.ran()[1] !== 1) return; // it was over before the first worker was there
    const [seen] = (await queue.run(its('takeReasons'))) as { reason: Error }[];
    expect(seen?.reason.name).toBe('TimeoutError');
  });

  test('may be AbortSignal.any, of which each part ends the task', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    for (const which of [0, 1]) {
      const parts = [new AbortController(), new AbortController()] as const;
      const victim = errorOf(queue.run(its('heedSync'), which, { signal: AbortSignal.any(parts.map(({ signal }) => signal)) }));
      await gate.entered(which + 1);
      parts[which as 0 | 1].abort(`part ${which}`);
      expect(await victim).toMatchObject({ ...ABORTED, cause: `part ${which}` });
      await settled(queue);
    }
  });

  test('whose earlier listener submits more: what comes after the abort is refused', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const { signal } = controller;
    let late: Promise<Error> | undefined;
    signal.addEventListener('abort', () => {
      late = errorOf(queue.run(of('gate.js', 'count'), 5, { signal }));
    });
    const victim = errorOf(queue.run(its('heedSync'), 1, { signal }));
    await gate.entered();
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    expect(await late).toMatchObject(ABORTED);
    await settled(queue);
    expect(gate.ran()).toEqual({ 1: 1 });
  });
});
