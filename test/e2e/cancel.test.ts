/** Signals: what an abort does to a task in each state it can be in, and to nobody else. Real worker threads. */
import { getEventListeners } from 'node:events';
import { INTERNALS } from '#queue';
import { describe, expect, test, vi } from 'vitest';
import { inChild, seeded, until, within } from '../support/index.ts';
import { jumpableClock } from './clock.ts';
import { errorOf, fixture, Gate, of, onceEach, parked, queueOf, upTo } from './gate.ts';
import { BEATS, HEEDED, its, loaded, LONG_MS, NOTED, NOTES, settled, workerOf } from './limits.ts';

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

describe('others', () => {
  test('B02 claimed in a batch behind an aborted task go back in order, and run exactly once', async () => {
    // Batches form only where workers have met at the ring, so a crowd first, then as many rounds as it takes to see one.
    const rounds = 30;
    let formed = 0;
    for (let round = 0; round < rounds && formed < 2; round++) {
      const gate = new Gate(300);
      const queue = queueOf({ concurrency: 2, parallelism: 2, maxBatchSize: 8, graceMs: LONG_MS, workerData: gate.workerData });
      Atomics.store(gate.words, 0, 1);
      await Promise.all([queue.run(of('gate.js'), 50), queue.run(its('note'), 51)]); // known from here, so that `warm` loads them:
      Atomics.store(gate.words, 0, 0); // what is claimed behind a task whose module is still to be imported is given back at once
      Atomics.store(gate.words, NOTED, 0);
      await queue.warm(2);
      queue.pushBatch((n: number) => n, upTo(20_000));
      await within(queue.idle(), 'the crowd');
      await parked(queue, 2);
      const controller = new AbortController();
      const victim = errorOf(queue.run(of('gate.js'), 0, { signal: controller.signal }));
      const others = upTo(15).map((k) => queue.run(its('note'), k + 1));
      await gate.entered(2);
      await until(() => queue.stats().workers.parked === 1 || queue.size === 0, 'the other worker to run what it can get');
      if (queue.size > 0) formed++;
      const before = Atomics.load(gate.words, NOTED);
      controller.abort();
      expect(await victim).toMatchObject(ABORTED);
      await expect(within(Promise.all(others), 'what was claimed behind it')).resolves.toEqual(upTo(16).slice(1));
      expect([...gate.ledger.subarray(0, 16)]).toEqual(Array(16).fill(1));
      const givenBack = [...gate.ledger.subarray(NOTES + before, NOTES + 15)];
      expect(givenBack).toEqual(givenBack.toSorted((a, b) => a - b));
      gate.open();
      await settled(queue);
      await queue.stop();
    }
    console.log(`${formed} batches were given back`);
  }, 120_000);

  test('P4 that overlap with it on its thread are spared if it heeds', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, tasksPerWorker: 4, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const beside = upTo(3).map((k) => queue.run(its('beatUntilOpen'), k));
    const victim = errorOf(queue.run(its('heedAsync'), 3, { signal: controller.signal }));
    await gate.entered(4);
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    await until(() => queue.stats().running === 3, 'it to have heeded');
    gate.open();
    await expect(Promise.all(beside)).resolves.toEqual(Array(3).fill('undisturbed'));
    await expect(workerOf(queue)).resolves.toBe(1);
    await settled(queue);
  });

  test('P4 that overlap with it fail with E_WORKER_TERMINATED, which says that they may be retried, once the thread has to end', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, tasksPerWorker: 4, graceMs: 5, workerData: gate.workerData });
    const controller = new AbortController();
    const beside = upTo(3).map((k) => errorOf(queue.run(its('never'), k)));
    const victim = errorOf(queue.run(its('never'), 3, { signal: controller.signal }));
    await gate.entered(4);
    const queued = queue.run(its('worker'));
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    for (const error of await within(Promise.all(beside), 'three rejections'))
      expect(error).toMatchObject({ name: 'RailheadError', code: 'E_WORKER_TERMINATED', retryable: true });
    await expect(within(queued, 'what had not started')).resolves.toBe(2);
    await settled(queue);
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 4, aborted: 1 });
  });

  test('P4 that end within the grace keep their results', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, tasksPerWorker: 4, graceMs: 2_000, workerData: gate.workerData });
    const controller = new AbortController();
    const beside = upTo(3).map((k) => queue.run(its('beatUntilOpen'), k));
    const victim = errorOf(queue.run(its('never'), 3, { signal: controller.signal }));
    await gate.entered(4);
    controller.abort();
    gate.open();
    expect(await victim).toMatchObject(ABORTED);
    await expect(Promise.all(beside)).resolves.toEqual(Array(3).fill('undisturbed'));
    await expect(workerOf(queue)).resolves.toBe(2); // nothing new begins on a thread that may be ended
    await settled(queue);
  });

  test('P4 on other workers are not touched', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 3, parallelism: 3, maxBatchSize: 1, graceMs: 5, workerData: gate.workerData });
    const controller = new AbortController();
    const beside = upTo(2).map((k) => queue.run(of('gate.js', 'holdAsync'), k));
    const victim = errorOf(queue.run(its('loop'), 2, { signal: controller.signal }));
    await gate.entered(3);
    controller.abort();
    await victim;
    await until(() => queue.stats().workers.live === 2 && queue.stats().workers.condemned === 0, 'the thread to end');
    gate.open();
    await expect(Promise.all(beside)).resolves.toEqual([0, 1]);
    await settled(queue);
  });

  test('B15 next on the same worker are never struck by an end that was meant for the one before', async () => {
    const random = seeded();
    const rounds = 200;
    const gate = new Gate(2 * rounds);
    const queue = queueOf({ concurrency: 1, graceMs: 1, workerData: gate.workerData });
    await queue.warm(1);
    let ended = 0;
    let near = 2_000;
    for (let k = 0; k < rounds; k++) {
      const controller = new AbortController();
      // Where half of the first ones are ended: longer after one that got away, shorter after one that was struck.
      const struck = queue.stats().workers.started - 1;
      near = Math.min(20_000, Math.max(500, near + (struck > ended ? -300 : 100)));
      ended = struck;
      const us = near + random.int(-300, 300);
      const first = queue.run(its('busy'), { us, index: 2 * k }, { signal: controller.signal }).catch((error) => error.code);
      await gate.entered(2 * k + 1);
      controller.abort();
      const second = queue.run(its('busy'), { us: 300, index: 2 * k + 1 });
      expect(await within(second, `task B of round ${k}`)).toBe(300);
      expect(['ABORT_ERR', us]).toContain(await first);
    }
    await settled(queue);
    ended = queue.stats().workers.started - 1;
    console.log(`${ended} of ${rounds} threads were ended`);
    expect(gate.ran()).toEqual(onceEach(upTo(2 * rounds)));
  }, 180_000);
});

describe('stop() and tasks that were given up', () => {
  test('waits for one that heeds', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('ignore'), 1, { signal: controller.signal }));
    await gate.entered();
    controller.abort();
    await victim;
    let over = false;
    const stopping = queue.stop({ timeoutMs: LONG_MS }).finally(() => {
      over = true;
    });
    const beats = Atomics.load(gate.words, BEATS);
    await until(() => Atomics.load(gate.words, BEATS) > beats + 5, 'more beats');
    expect(over).toBe(false);
    gate.open();
    expect(await within(stopping, 'stop')).toEqual({ completed: 0, failed: 1, cut: 0, stuck: [] });
    expect({ size: queue.size, pending: queue.pending }).toEqual({ size: 0, pending: 0 });
  });

  test('ends the thread of one that does not, at its deadline, and counts it as failed, not as cut', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const controller = new AbortController();
    const victim = errorOf(queue.run(its('loop'), 1, { signal: controller.signal }));
    await gate.entered();
    controller.abort();
    expect(await victim).toMatchObject(ABORTED);
    const queued = errorOf(queue.run(of('gate.js'), 2));
    expect(await within(queue.stop({ timeoutMs: 20 }), 'stop')).toMatchObject({ completed: 0, failed: 1, cut: 1 });
    expect(await queued).toMatchObject({ code: 'E_QUEUE_STOPPED' });
    expect(queue.stats()).toMatchObject({ pending: 0, queued: 0, workers: { live: 0 } });
    await until(() => queue.stats().workers.condemned === 0, 'the thread to end');
  });

  test('an abort during the drain of stop() ends its task as ever', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: 5, workerData: gate.workerData });
    const controller = new AbortController();
    const victims = [its('loop'), of('gate.js')].map((handler, k) => errorOf(queue.run(handler, k, { signal: controller.signal })));
    const last = queue.run(its('worker'));
    await gate.entered();
    const stopping = queue.stop({ timeoutMs: LONG_MS });
    controller.abort();
    for (const error of await Promise.all(victims)) expect(error).toMatchObject(ABORTED);
    await expect(last).resolves.toBe(2);
    expect(await within(stopping, 'stop')).toEqual({ completed: 1, failed: 2, cut: 0, stuck: [] });
    expect(gate.ran()).toEqual({ 0: 1 });
  });
});

describe('the process', () => {
  test.each([
    ['queued', '(n) => n', ''],
    ['running, heeded', '(n, task) => { while (!task.aborted); }', ''],
    ['running, not heeded', '() => { for (;;); }', ''],
    ['awaiting for ever', '() => new Promise(() => {})', ''],
  ])('ends by itself after an abort, without stop(): %s', async (what, handler) => {
    const { code, stdout, stderr } = await inChild(`
      import { TaskQueue } from 'railhead';
      const queue = new TaskQueue({ concurrency: 1, graceMs: 20, maxIdleMs: Infinity });
      const controller = new AbortController();
      const result = queue.run(${handler}, 1, { signal: controller.signal });
      if (${JSON.stringify(what)} !== 'queued') while (queue.stats().running === 0) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      console.log((await result.catch((error) => error)).code);
    `);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'ABORT_ERR\n', stderr: '' });
  });

  test('is kept by a task that was given up and is about to return', async () => {
    const { code, stdout } = await inChild(`
      import { TaskQueue } from 'railhead';
      const queue = new TaskQueue({ concurrency: 1, graceMs: 60_000 });
      const controller = new AbortController();
      queue.run(async () => { await new Promise((resolve) => setTimeout(resolve, 300)); console.log('returned'); }, 1, { signal: controller.signal }).catch(() => {});
      while (queue.stats().running === 0) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      queue.idle().then(() => console.log('idle'));
    `);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'returned\nidle\n' });
  });
});
