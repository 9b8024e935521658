/** Aborts: what one does to a task in each state that it can be in. Real worker threads. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { seeded, until, within } from '../support/index.ts';
import { jumpableClock } from './clock.ts';
import { errorOf, fixture, Gate, of, onceEach, queueOf } from './gate.ts';
import { HEEDED, its, loaded, LONG_MS, NOTED, settled, workerOf } from './limits.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;
const ABORTED = { name: 'AbortError', code: 'ABORT_ERR' };

describe('P4 an abort while the task is', () => {
  test('not yet submitted: nothing is admitted, and the handler never runs', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const reason = new RangeError('before');
    const signal = AbortSignal.abort(reason);
    const error = await errorOf(queue.run(of('gate.js', 'count'), 1, { signal }));
    expect(error).toMatchObject(ABORTED);
    expect(error.cause).toBe(reason);
    expect(queue.stats()).toMatchObject({ pending: 0, queued: 0, aborted: 0, failed: 0, workers: { started: 0 } });
    await queue.run(of('gate.js', 'count'), 2);
    expect(gate.ran()).toEqual({ 2: 1 });
    expect(listeners(signal)).toBe(0);
    await settled(queue);
  });

  test('being read: a getter of its value aborts it', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const controller = new AbortController();
    const value = {
      get x() {
        controller.abort();
        return 1;
      },
    };
    expect(await errorOf(queue.run(of('gate.js', 'count'), value, { signal: controller.signal }))).toMatchObject(ABORTED);
    expect(listeners(controller.signal)).toBe(0);
    await settled(queue);
  });

  test('queued: it is gone at once and never runs', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const held = queue.run(of('gate.js'), 0);
    await gate.entered();
    const controller = new AbortController();
    const reason = { why: 'any value' };
    const victim = errorOf(queue.run(of('gate.js', 'count'), 1, { signal: controller.signal }));
    const next = queue.run(of('gate.js', 'count'), 2);
    expect(queue.size).toBe(2);
    controller.abort(reason);
    expect({ size: queue.size, pending: queue.pending, aborted: queue.stats().aborted }).toEqual({ size: 1, pending: 2, aborted: 1 });
    const error = await victim; // while the worker is still held
    expect(error).toMatchObject(ABORTED);
    expect(error.cause).toBe(reason);
    gate.open();
    await expect(Promise.all([held, next])).resolves.toEqual([0, 2]);
    expect(gate.ran()).toEqual(onceEach([0, 2]));
    await settled(queue);
    expect(queue.stats()).toMatchObject({ completed: 2, failed: 1, aborted: 1 });
  });

  test('queued, with room for it under maxPending: the room is there at once', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, maxPending: 2, workerData: gate.workerData });
    void queue.run(of('gate.js'), 0);
    await gate.entered();
    const controller = new AbortController();
    const victim = errorOf(queue.run(of('gate.js'), 1, { signal: controller.signal }));
    expect(queue.submit(of('gate.js'), 2)).toBe(false);
    const ready = queue.ready();
    controller.abort();
    await within(ready, 'ready');
    expect(queue.submit(of('gate.js'), 3)).toBe(true);
    await victim;
    gate.open();
    await settled(queue);
    expect(gate.ran()).toEqual(onceEach([0, 3]));
  });

  test('being imported: its handler is never called', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(fixture('slow-module.js'), 1, { signal: controller.signal }));
    await gate.entered();
    const next = queue.run(fixture('slow-module.js'), 2);
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    expect(queue.pending).toBe(2); // its record is kept until the import is over
    gate.open();
    await next;
    await settled(queue);
    expect(gate.ran()).toEqual({ 2: 1 });
    await expect(workerOf(queue)).resolves.toBe(1);
  });

  test('being imported for ever: the thread is ended, and the next task runs', async () => {
    const queue = queueOf({ concurrency: 1, graceMs: 5 });
    const controller = new AbortController();
    const victim = errorOf(queue.run(fixture('never-loads.js'), 1, { signal: controller.signal }));
    await until(() => queue.stats().running === 1, 'the import');
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    await expect(workerOf(queue)).resolves.toBe(2);
    await settled(queue);
  });

  test('running without ever yielding: task.aborted is true, and its worker is kept', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('heedSync'), 1, { signal: controller.signal }));
    await gate.entered();
    expect(Atomics.load(gate.words, HEEDED)).toBe(0);
    const reason = new Error('the reason');
    controller.abort(reason);
    const error = await victim;
    expect(error).toMatchObject(ABORTED);
    expect(error.cause).toBe(reason);
    await settled(queue);
    expect(Atomics.load(gate.words, HEEDED)).toBe(1);
    await expect(workerOf(queue)).resolves.toBe(1);
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 1, aborted: 1 });
  });

  test('running without ever yielding, with the host blocked from the abort on: task.aborted needs no turn of any event loop', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('heedSync'), 1, { signal: controller.signal }));
    await gate.entered();
    controller.abort();
    const end = performance.now() + 20_000;
    while (Atomics.load(gate.words, HEEDED) === 0 && performance.now() < end);
    expect(Atomics.load(gate.words, HEEDED)).toBe(1);
    await victim;
    await settled(queue);
  });

  test.each([
    ['an error', new RangeError('why')],
    ['a string', 'why'],
    ['an object', { code: 7 }],
    ['null', null],
    ['nothing', undefined],
  ])('awaiting: task.signal fires with the reason: %s', async (_what, reason) => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('heedAsync'), 1, { signal: controller.signal }));
    await gate.entered();
    controller.abort(reason);
    expect(await victim).toMatchObject({ ...ABORTED, cause: controller.signal.reason });
    await settled(queue);
    const [seen] = (await queue.run(its('takeReasons'))) as { reason: unknown; aborted: boolean }[];
    expect(seen?.aborted).toBe(true);
    if (reason === undefined) expect(seen?.reason).toMatchObject({ name: 'AbortError' });
    else expect(seen?.reason).toEqual(reason instanceof Error ? { name: 'RangeError', message: 'why' } : reason);
    await expect(workerOf(queue)).resolves.toBe(1);
  });

  test('awaiting, and asks for task.signal only afterwards: it has the reason too', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('heedLate'), 1, { signal: controller.signal }));
    await gate.entered();
    controller.abort(new RangeError('why'));
    await victim;
    await settled(queue);
    const [seen] = (await queue.run(its('takeReasons'))) as { reason: unknown; aborted: boolean }[];
    expect(seen).toMatchObject({ aborted: true, reason: { name: 'RangeError', message: 'why' } });
  });

  test.each(['a function', 'a symbol', 'a revoked proxy', 'a getter that throws'])(
    'awaiting, with a reason that cannot be sent: %s',
    async (what) => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      const bad = {
        get x(): never {
          throw new Error('a getter');
        },
      };
      const reason = { 'a function': () => {}, 'a symbol': Symbol('why'), 'a revoked proxy': proxy, 'a getter that throws': bad }[what];
      const gate = new Gate();
      const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
      const controller = new AbortController();
      const victim = errorOf(queue.run(its('heedAsync'), 1, { signal: controller.signal }));
      await gate.entered();
      controller.abort(reason);
      const error = await victim;
      expect(error.code).toBe('ABORT_ERR');
      expect(error.cause === reason).toBe(true);
      await settled(queue);
      await expect(workerOf(queue)).resolves.toBe(1);
    },
  );

  test('settling: whoever comes first decides, and the books are right', async () => {
    const gate = new Gate(300);
    const queue = queueOf({ concurrency: 2, parallelism: 2, graceMs: LONG_MS, workerData: gate.workerData });
    await queue.warm(2);
    const random = seeded();
    let aborted = 0;
    for (let k = 0; k < 300; k++) {
      const controller = new AbortController();
      const result = queue.run(its('busy'), { us: 20, index: k }, { signal: controller.signal }).catch((error) => error.code);
      const end = performance.now() + random.int(0, 120) / 1000;
      while (performance.now() < end);
      controller.abort();
      const outcome = await result;
      expect([20, 'ABORT_ERR']).toContain(outcome);
      if (outcome === 'ABORT_ERR') aborted++;
      expect(listeners(controller.signal)).toBe(0);
    }
    await settled(queue);
    expect(queue.stats()).toMatchObject({ completed: 300 - aborted, failed: aborted, aborted });
    expect(queue.stats().workers.started).toBe(2);
  });

  test('settled, and the host has not looked yet: the result stands', async () => {
    const gate = new Gate(300);
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    await queue.warm(1);
    await queue.run(of('gate.js', 'count'), 0);
    const controller = new AbortController();
    const result = queue.run(its('note'), 1, { signal: controller.signal });
    const end = performance.now() + 20_000;
    while (Atomics.load(gate.words, NOTED) === 0 && performance.now() < end);
    // It has run. Whether it has handed over is for the worker's speed; both outcomes are right, and agree with the counts.
    controller.abort();
    const outcome = await result.catch((error: { code: string }) => error.code);
    expect([outcome, queue.stats().aborted]).toEqual(outcome === 1 ? [1, 0] : ['ABORT_ERR', 1]);
    await settled(queue);
  });

  test('settled: it has no effect', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const controller = new AbortController();
    await expect(queue.run(of('gate.js', 'count'), 1, { signal: controller.signal })).resolves.toBe(1);
    expect(listeners(controller.signal)).toBe(0);
    controller.abort();
    await expect(workerOf(queue)).resolves.toBe(1);
    expect(queue.stats()).toMatchObject({ completed: 2, failed: 0, aborted: 0 });
    await settled(queue);
  });

  test('given up for another reason already: it changes nothing', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    await loaded(queue, 1, 'ignore');
    const victim = errorOf(queue.run(its('ignore'), 1, { signal: controller.signal, timeoutMs: 1 }));
    expect(await victim).toMatchObject({ code: 'E_TASK_TIMEOUT' });
    expect(listeners(controller.signal)).toBe(0);
    controller.abort();
    gate.open();
    await settled(queue);
    expect(queue.stats()).toMatchObject({ failed: 1, aborted: 0, workers: { started: 1 } });
  });

  test('given up by an abort already: its time limits change nothing', async () => {
    const gate = new Gate();
    const clock = jumpableClock();
    const queue = queueOf({ concurrency: 2, parallelism: 2, maxBatchSize: 1, graceMs: 60_000_000, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('ignore'), 1, { signal: controller.signal, timeoutMs: LONG_MS, deadlineMs: LONG_MS }));
    await gate.entered();
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    const others = [{ deadlineMs: LONG_MS }, { timeoutMs: 1 }].map((options) => errorOf(queue.run(its('heedAsync'), 2, options)));
    await gate.entered(2);
    clock.jump(LONG_MS + 1_000); // past the limits of all: those of the others show that the looks have been taken
    for (const error of await Promise.all(others)) expect(error.code).toMatch(/^E_TASK_(DEADLINE|TIMEOUT)$/);
    gate.open();
    await settled(queue);
    expect(queue.stats()).toMatchObject({ failed: 3, aborted: 1 });
  });
});
