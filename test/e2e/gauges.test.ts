/** What a queue says of itself, and what can be awaited. Real worker threads. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { once, until, within } from '../support/index.ts';
import { errorOf, fixture, Gate, of, parked, queueOf, taskOf, upTo } from './gate.ts';

describe('needsDrain, drain and ready()', () => {
  test('above backlogMax it needs drain, and at half of it that ends', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, backlogMax: 10, maxBatchSize: 1, workerData: gate.workerData });
    let needs = 0;
    queue.on('needsDrain', () => needs++);
    queue.pushBatch(of('gate.js'), upTo(10));
    expect(queue.needsDrain).toBe(false);
    await within(queue.ready(), 'ready() of a queue with room');
    await gate.entered();
    queue.push(of('gate.js'), 10);
    expect(queue).toMatchObject({ needsDrain: false, size: 10 });
    queue.push(of('gate.js'), 11);
    expect(queue).toMatchObject({ needsDrain: true, size: 11 });
    const drain = once(queue, 'drain');
    let sizeWhenReady = -1;
    const ready = queue.ready().then(() => {
      sizeWhenReady = queue.size;
    });
    gate.open();
    await within(ready, 'ready()');
    await drain;
    expect(sizeWhenReady).toBeLessThanOrEqual(5);
    expect(queue.needsDrain).toBe(false);
    await queue.idle();
    expect(needs).toBe(1);
  });

  test('a refusal by maxPending ends with drain and ready(), which need no further verb', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, maxPending: 1, workerData: gate.workerData });
    queue.submit(of('gate.js'), 0);
    expect(queue.submit(of('gate.js'), 1)).toBe(false);
    expect(queue.needsDrain).toBe(false);
    const drain = once(queue, 'drain');
    const ready = queue.ready();
    await gate.entered();
    gate.open();
    await within(Promise.all([drain, ready]), 'drain and ready');
    expect(queue.submit(of('gate.js'), 2)).toBe(true);
    await queue.idle();
  });

  test('a producer that waits for ready() never exceeds the bound', async () => {
    const gate = new Gate(2_000);
    const queue = queueOf({ concurrency: 2, maxPending: 50, workerData: gate.workerData });
    for (let k = 0; k < 2_000; k++) {
      while (!queue.submit(of('gate.js', 'count'), k)) await within(queue.ready(), 'ready()');
      if (queue.pending > 50) throw new Error(`${queue.pending} are pending`);
    }
    await within(queue.idle(), 'idle');
    expect(gate.ledger.every((times) => times === 1)).toBe(true);
  });
});

describe('idle()', () => {
  test('resolves at once when there is nothing, and otherwise after the last task', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    await within(queue.idle(), 'idle() of a new queue');
    queue.push(of('gate.js'), 0);
    let isIdle = false;
    const idle = queue.idle().then(() => {
      isIdle = true;
    });
    await gate.entered();
    expect(isIdle).toBe(false);
    gate.open();
    await within(idle, 'idle()');
    expect(queue.pending).toBe(0);
  });

  test('waits for work that a reaction adds', async () => {
    const queue = queueOf(1);
    const chain = queue.run((n: number) => n, 1).then((n) => queue.run((m: number) => m + 1, n));
    await expect(chain).resolves.toBe(2);
    await within(queue.idle(), 'idle');
    expect(queue.stats().completed).toBe(2);
  });

  test('is resolved by a death, too', async () => {
    const queue = queueOf({ concurrency: 1, onError: () => {} });
    queue.push(() => process.exit(1));
    await within(queue.idle(), 'idle');
    expect(queue.stats()).toMatchObject({ failed: 1, pending: 0 });
  });
});

describe('warm()', () => {
  test('resolves when so many workers claim, and loads known handlers', async () => {
    const queue = queueOf({ concurrency: 3, parallelism: 1 });
    await within(queue.warm(3), 'warm(3)');
    expect(queue.stats().workers).toMatchObject({ live: 3, starting: 0, started: 3 });
    await within(queue.warm(2), 'warm(2)');
    await within(queue.warm(0), 'warm(0)');
    expect(queue.stats().workers.started).toBe(3);
  });

  test('resolves also when workers leave as soon as they have nothing to do, and starts no more than it must', async () => {
    const queue = queueOf({ concurrency: 4, parallelism: 4, maxIdleMs: 0 });
    await within(queue.warm(4), 'warm(4)', 10_000);
    expect(queue.stats().workers.started).toBeLessThanOrEqual(8);
  });

  test('gives up after `timeoutMs` where a module never finishes loading, and the queue goes on', async () => {
    const queue = queueOf({ concurrency: 1, graceMs: 10 });
    const lost = errorOf(queue.run(fixture('never-loads.js'), 1, { deadlineMs: 1 })); // known from here
    expect(await lost).toMatchObject({ code: 'E_TASK_DEADLINE' });
    const { signal } = new AbortController();
    const error = await within(errorOf(queue.warm(1, { timeoutMs: 50, signal })), 'warm');
    expect(error).toMatchObject({
      name: 'RailheadError',
      code: 'E_TASK_TIMEOUT',
      message: "Only 0 of 1 workers were warm after the 50 ms of `timeoutMs`: look for a handler's module that does not finish loading",
    });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    await expect(
      within(
        queue.run((n: number) => n + 1, 1),
        'a task',
      ),
    ).resolves.toBe(2);
    expect(queue.stats().pending).toBe(0);
  });

  test('gives up when its signal is aborted, and ends the threads that are not ready', async () => {
    const task = taskOf(fixture('never-loads.js'), 2);
    const controller = new AbortController();
    const warming = errorOf(task.warm(2, { signal: controller.signal }));
    const others = errorOf(task.warm(1, { timeoutMs: 20_000 }));
    await until(() => task.stats().workers.starting === 2, 'two threads');
    controller.abort('enough');
    expect(await within(warming, 'warm')).toMatchObject({ name: 'AbortError', code: 'ABORT_ERR', cause: 'enough' });
    expect(await errorOf(task.warm(1, { signal: controller.signal }))).toMatchObject({ code: 'ABORT_ERR' });
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    await until(() => task.stats().workers.started === 3, 'a thread for the other warm()');
    await task.stop({ timeoutMs: 0 });
    expect(await others).toMatchObject({ code: 'E_QUEUE_STOPPED' });
    expect(task.stats().workers).toMatchObject({ live: 0, condemned: 0 });
  });

  test('with room in its `timeoutMs` leaves nothing behind', async () => {
    const queue = queueOf(2);
    const { signal } = new AbortController();
    await within(queue.warm(2, { timeoutMs: 60_000, signal }), 'warm');
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    expect(await errorOf(queue.warm(2, { timeout: 1 } as never))).toMatchObject({
      message: 'Expected `options` to hold known options only, got `"timeout"` (string); did you mean `timeoutMs`?',
    });
  });

  test('several at once share the workers', async () => {
    const queue = queueOf(2);
    await within(Promise.all([queue.warm(1), queue.warm(2), queue.warm(2)]), 'three warm()');
    expect(queue.stats().workers.started).toBe(2);
  });

  test.each([
    [-1, RangeError],
    [3, RangeError],
    [1.5, RangeError],
    [Number.NaN, RangeError],
    ['1', TypeError],
    [undefined, TypeError],
  ])('rejects for %o', async (count, kind) => {
    const queue = queueOf(2);
    expect(await errorOf(queue.warm(count as number))).toBeInstanceOf(kind);
    expect(queue.stats().workers.started).toBe(0);
  });
});

describe('stats(), size and pending', () => {
  test('a new queue has nothing', () => {
    expect(queueOf({ concurrency: 4, parallelism: 2 }).stats()).toEqual({
      queued: 0,
      pending: 0,
      running: 0,
      completed: 0,
      failed: 0,
      aborted: 0,
      workers: { live: 0, condemned: 0, starting: 0, busy: 0, parked: 0, target: 2, started: 0 },
    });
  });

  test('say what is queued, runs and is done', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData, onError: () => {} });
    queue.pushBatch(of('gate.js'), upTo(5));
    expect(queue).toMatchObject({ pending: 5 });
    await gate.entered();
    expect(queue.stats()).toMatchObject({ queued: 4, running: 1, pending: 5, workers: { live: 1, busy: 1, parked: 0 } });
    expect(queue.size).toBe(4);
    gate.open();
    queue.push(() => {
      throw new Error('expected');
    });
    await queue.idle();
    await parked(queue, 1);
    expect(queue.stats()).toMatchObject({ queued: 0, running: 0, pending: 0, completed: 5, failed: 1, workers: { busy: 0, parked: 1 } });
  });

  test('no more run than are pending, whenever it is asked', async () => {
    const queue = queueOf(2);
    for (let k = 0; k < 2_000; k++) {
      await queue.run((n: number) => n, k);
      const { running, pending } = queue.stats();
      if (running > pending) throw new Error(`${running} run and ${pending} are pending`);
    }
  });

  test('tasks cut and failed unstarted leave none behind', async () => {
    const queue = queueOf({ concurrency: 1, execArgv: ['--no-such-flag'], onError: () => {} });
    queue.pushBatch((n: number) => n, upTo(10));
    await within(queue.idle(), 'idle');
    await until(() => queue.stats().failed === 10, 'ten failures');
    expect(queue.stats()).toMatchObject({ queued: 0, pending: 0, running: 0, completed: 0 });
    expect(queue.size).toBe(0);
  });
});
