/** Run time limits and deadlines. Real worker threads; times too long to wait are jumped over on the host's clock. */
import { describe, expect, test, vi } from 'vitest';
import { inChild, until, within } from '../support/index.ts';
import { jumpableClock } from './clock.ts';
import { errorOf, Gate, of, onceEach, queueOf, upTo } from './gate.ts';
import { BEATS, HEEDED, its, loaded, LONG_MS, settled, workerOf } from './limits.ts';

/** Beyond what one timer of Node reaches. */
const BEYOND_MS = 2 ** 31 + LONG_MS;

const TIMED_OUT = { name: 'RailheadError', code: 'E_TASK_TIMEOUT' };
const TOO_LATE = { name: 'RailheadError', code: 'E_TASK_DEADLINE' };

describe('timeoutMs', () => {
  test('P4 a handler that heeds within the grace keeps its worker: sync and async', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    await loaded(queue, 1, 'heedSync', 'heedAsync');
    const error = await errorOf(queue.run(its('heedSync'), 1, { timeoutMs: 10 }));
    expect(error).toMatchObject({ ...TIMED_OUT, message: expect.stringContaining('10') });
    expect(await errorOf(queue.run(its('heedAsync'), 2, { timeoutMs: 10 }))).toMatchObject(TIMED_OUT);
    await settled(queue);
    expect(Atomics.load(gate.words, HEEDED)).toBe(2);
    await expect(workerOf(queue)).resolves.toBe(1);
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 2, aborted: 0, workers: { started: 1, live: 1 } });
  });

  test('the reason of task.signal is the time-out itself', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    await loaded(queue, 1, 'heedAsync');
    await errorOf(queue.run(its('heedAsync'), 1, { timeoutMs: 10 }));
    await settled(queue);
    const [seen] = (await queue.run(its('takeReasons'))) as { reason: { name: string; message: string } }[];
    expect(seen?.reason).toMatchObject({ name: 'RailheadError', message: expect.stringContaining('timeoutMs') });
  });

  test.each(['loop', 'waitForEver', 'never'])('B07 ends the thread of one that does not heed it, and no other: %s', async (name) => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 3, parallelism: 3, maxBatchSize: 1, graceMs: 5, workerData: gate.workerData });
    await loaded(queue, 3, name);
    const wedged = errorOf(queue.run(its(name), 0, { timeoutMs: 10 }));
    const held = queue.run(of('gate.js'), 1);
    const others = upTo(30).map((k) => queue.run(of('gate.js', 'count'), k + 2));
    expect(await within(wedged, 'the time-out')).toMatchObject(TIMED_OUT);
    await expect(within(Promise.all(others), 'the others')).resolves.toEqual(upTo(32).slice(2));
    gate.open();
    await expect(held).resolves.toBe(1);
    await settled(queue);
    expect(gate.ran()).toEqual(onceEach(upTo(32)));
    await until(() => queue.stats().workers.condemned === 0, 'the thread to end');
    expect(queue.stats()).toMatchObject({ completed: 31, failed: 1 });
  });

  test('B10 ten time-outs of the only worker, then a good task: capacity is back each time', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: 1, timeoutMs: 5, workerData: gate.workerData });
    const names = ['loop', 'waitForEver', 'never'];
    const wedged = upTo(10).map((k) => errorOf(queue.run(its(names[k % 3] as string), k)));
    const good = queue.run(its('worker'), undefined, { timeoutMs: 0 });
    for (const error of await within(Promise.all(wedged), 'ten time-outs')) expect(error).toMatchObject(TIMED_OUT);
    const workerId = await within(good, 'the good task');
    expect(workerId).toBeGreaterThan(1); // threads were ended
    expect(workerId).toBeLessThanOrEqual(11); // fewer than ten, where a task was late while its module was still being imported
    await settled(queue);
    await until(() => queue.stats().workers.condemned === 0, 'the threads to end');
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 10, workers: { live: 1 } });
    expect(Math.max(...gate.ledger)).toBe(1); // some may have been late while their module was imported
  });

  test('P5 while threads are being ended there are never more live ones than allowed', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 2, parallelism: 2, graceMs: 1, timeoutMs: 5, workerData: gate.workerData });
    const seen = { live: 0, condemned: 0 };
    let watching = true;
    const watch = (): void => {
      const { live, condemned } = queue.stats().workers;
      seen.live = Math.max(seen.live, live);
      seen.condemned = Math.max(seen.condemned, condemned);
      if (watching) setImmediate(watch);
    };
    watch();
    const wedged = upTo(16).map((k) => errorOf(queue.run(its('loop'), k)));
    for (const error of await within(Promise.all(wedged), '16 time-outs')) expect(error).toMatchObject(TIMED_OUT);
    await settled(queue);
    watching = false;
    expect(seen.live).toBeLessThanOrEqual(2);
    expect(seen.condemned).toBeLessThanOrEqual(2);
  });

  test('counts run time only: time in the queue is not held against a task', async () => {
    const clock = jumpableClock();
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS, workerData: gate.workerData });
    const held = queue.run(of('gate.js'), 0);
    const queued = queue.run(of('gate.js', 'count'), 1, { timeoutMs: LONG_MS });
    const witness = errorOf(queue.run(of('gate.js', 'count'), 2, { deadlineMs: 2 * LONG_MS }));
    await gate.entered();
    clock.jump(3 * LONG_MS);
    expect(await witness).toMatchObject(TOO_LATE);
    gate.open();
    await expect(Promise.all([held, queued])).resolves.toEqual([0, 1]);
    await settled(queue);
  });

  test('the limit of the queue holds where a task has none of its own, and 0 lifts it', async () => {
    const gate = new Gate();
    const queue = queueOf({
      concurrency: 2,
      parallelism: 2,
      maxBatchSize: 1,
      tasksPerWorker: 8,
      timeoutMs: 20,
      graceMs: LONG_MS,
      workerData: gate.workerData,
    });
    await loaded(queue, 2, 'heedAsync', 'beatUntilOpen');
    const lifted = [{ timeoutMs: 0 }, { timeoutMs: LONG_MS }].map((options, k) => queue.run(its('beatUntilOpen'), k, options));
    await gate.entered(2);
    const limited = [undefined, {}, { timeoutMs: undefined }, { signal: new AbortController().signal }, { timeoutMs: 5 }];
    for (const [k, options] of limited.entries())
      expect(await errorOf(queue.run(its('heedAsync'), k + 2, options))).toMatchObject(TIMED_OUT);
    gate.open();
    await expect(Promise.all(lifted)).resolves.toEqual(['undisturbed', 'undisturbed']);
    await settled(queue);
    expect(queue.stats()).toMatchObject({ completed: 2, failed: 5 });
  });

  test('of the queue, for pushed and submitted tasks: onError is told, once each', async () => {
    const gate = new Gate();
    const onError = vi.fn();
    // Long enough for the last one to import its module in a new thread of a loaded machine.
    const queue = queueOf({ concurrency: 1, timeoutMs: 400, graceMs: 1, onError, workerData: gate.workerData });
    queue.push(its('loop'), 0);
    queue.submit(its('never'), 1);
    queue.pushBatch(its('waitForEver'), [2]);
    queue.submitBatch(its('loop'), [3]);
    queue.push(of('gate.js', 'count'), 4);
    await settled(queue);
    expect(onError.mock.calls.map(([error, { handler }]) => [error.code, handler])).toEqual(
      ['loop', 'never', 'waitForEver', 'loop'].map((name) => ['E_TASK_TIMEOUT', `abort.js#${name}`]),
    );
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 4, aborted: 0 });
    expect(Math.max(...gate.ledger)).toBe(1); // some may have been late while their module was imported
    expect(gate.ran()[4]).toBe(1);
  });

  test('of a pushed task that goes on for many times its limit: told once', async () => {
    const gate = new Gate();
    const onError = vi.fn();
    const queue = queueOf({ concurrency: 1, timeoutMs: 2, graceMs: LONG_MS, onError, workerData: gate.workerData });
    await loaded(queue, 1, 'ignore');
    queue.push(its('ignore'), 0);
    await until(() => onError.mock.calls.length > 0, 'the report');
    const beats = Atomics.load(gate.words, BEATS);
    await until(() => Atomics.load(gate.words, BEATS) > beats + 30, 'more beats than its limit'); // each takes 1 ms or more
    gate.open();
    await settled(queue);
    expect(onError).toHaveBeenCalledTimes(1);
    expect(queue.stats()).toMatchObject({ completed: 0, failed: 1 });
  });

  test('counts from the start of each task, not of what ran in its place before', async () => {
    const gate = new Gate(2_000);
    const queue = queueOf({ concurrency: 1, timeoutMs: 5_000, graceMs: 1, workerData: gate.workerData });
    const clock = jumpableClock();
    for (let k = 0; k < 20; k++) {
      await expect(queue.run(its('busy'), { us: 2_000, index: k })).resolves.toBe(2_000);
      clock.jump(10_000);
    }
    await settled(queue);
    expect(queue.stats()).toMatchObject({ completed: 20, failed: 0, workers: { started: 1 } });
  });

  test('beyond 2^31 ms is kept, and not taken for none or for one', async () => {
    const clock = jumpableClock();
    const gate = new Gate();
    const queue = queueOf({ concurrency: 2, parallelism: 2, maxBatchSize: 1, graceMs: BEYOND_MS, workerData: gate.workerData });
    await loaded(queue, 2, 'heedAsync');
    const long = errorOf(queue.run(its('heedAsync'), 0, { timeoutMs: BEYOND_MS }));
    let over = false;
    void long.then(() => {
      over = true;
    });
    await gate.entered();
    /** Looks are taken at all that runs together: when this one is timed out, so would the other have been. */
    const witness = (): Promise<unknown> => errorOf(queue.run(its('heedAsync'), 1, { timeoutMs: 1 }));
    await witness();
    clock.jump(2 ** 31);
    await witness();
    await witness();
    expect(over).toBe(false);
    clock.jump(2 * LONG_MS);
    expect(await within(long, 'the time-out')).toMatchObject(TIMED_OUT);
    await settled(queue);
    expect(queue.stats().workers.started).toBe(2);
  });

  test('P4 spares tasks that overlap with the late one if it heeds, and tells them apart', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, tasksPerWorker: 8, graceMs: LONG_MS, workerData: gate.workerData });
    await loaded(queue, 1, 'heedAsync', 'beatUntilOpen');
    const beside = upTo(3).map((k) => queue.run(its('beatUntilOpen'), k));
    await gate.entered(3);
    for (let k = 3; k < 6; k++) expect(await errorOf(queue.run(its('heedAsync'), k, { timeoutMs: 5 }))).toMatchObject(TIMED_OUT);
    gate.open();
    await expect(Promise.all(beside)).resolves.toEqual(Array(3).fill('undisturbed'));
    await settled(queue);
  });

  test('includes the import of its module', async () => {
    const queue = queueOf({ concurrency: 1, graceMs: 1 });
    expect(await errorOf(queue.run(of('never-loads.js'), 1, { timeoutMs: 10 }))).toMatchObject(TIMED_OUT);
    await expect(workerOf(queue)).resolves.toBe(2);
    await settled(queue);
  });
});

describe('deadlineMs', () => {
  test('of a queued task: it is gone and never runs', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const held = queue.run(of('gate.js'), 0);
    await gate.entered();
    expect(await errorOf(queue.run(of('gate.js', 'count'), 1, { deadlineMs: 10 }))).toMatchObject(TOO_LATE);
    expect({ size: queue.size, pending: queue.pending }).toEqual({ size: 0, pending: 1 });
    gate.open();
    await held;
    await settled(queue);
    expect(gate.ran()).toEqual({ 0: 1 });
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 1, aborted: 0 });
  });

  test('of a running task: it is told, and keeps its worker if it heeds', async () => {
    const gate = new Gate();
    const clock = jumpableClock();
    const queue = queueOf({ concurrency: 1, graceMs: LONG_MS * 10, workerData: gate.workerData });
    const late = errorOf(queue.run(its('heedAsync'), 1, { deadlineMs: LONG_MS }));
    await gate.entered();
    clock.jump(LONG_MS);
    expect(await late).toMatchObject(TOO_LATE);
    await settled(queue);
    const [seen] = (await queue.run(its('takeReasons'))) as { reason: { message: string } }[];
    expect(seen?.reason.message).toContain('deadlineMs');
    await expect(workerOf(queue)).resolves.toBe(1);
  });

  test('of a running task that does not heed: its thread is ended', async () => {
    const gate = new Gate();
    const clock = jumpableClock();
    const queue = queueOf({ concurrency: 1, graceMs: 1, workerData: gate.workerData });
    const late = errorOf(queue.run(its('loop'), 1, { deadlineMs: LONG_MS }));
    await gate.entered();
    clock.jump(LONG_MS);
    expect(await late).toMatchObject(TOO_LATE);
    await expect(workerOf(queue)).resolves.toBe(2);
    await settled(queue);
  });

  test('beyond 2^31 ms is kept, and not taken for none or for one', async () => {
    const clock = jumpableClock();
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const held = queue.run(of('gate.js'), 0);
    await gate.entered();
    const outcomes: number[] = [];
    const due = [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32, 2 ** 32 + 1, 2 ** 40].map((deadlineMs, k) =>
      errorOf(queue.run(of('gate.js', 'count'), k + 1, { deadlineMs: deadlineMs + LONG_MS })).then((error) => {
        outcomes.push(k);
        return error;
      }),
    );
    const witness = (): Promise<Error> => errorOf(queue.run(of('gate.js', 'count'), 9, { deadlineMs: 1 }));
    await witness();
    expect(outcomes).toEqual([]);
    clock.jump(2 ** 31 - LONG_MS);
    await witness();
    expect(outcomes).toEqual([]);
    clock.jump(3 * LONG_MS);
    await until(() => outcomes.length === 3, 'the first three');
    expect(outcomes.toSorted()).toEqual([0, 1, 2]);
    clock.jump(2 ** 31);
    await until(() => outcomes.length === 5, 'the next two');
    await witness();
    expect(outcomes.length).toBe(5);
    clock.jump(2 ** 40);
    for (const error of await Promise.all(due)) expect(error).toMatchObject(TOO_LATE);
    gate.open();
    await held;
    await settled(queue);
    expect(gate.ran()).toEqual({ 0: 1 });
  });

  test('counts from the submission, also where the value took long to read', async () => {
    const clock = jumpableClock();
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const held = queue.run(of('gate.js'), 0);
    await gate.entered();
    const slow = {
      get x() {
        clock.jump(1_000); // as if it had taken a second
        return 1;
      },
    };
    const late = errorOf(queue.run(of('gate.js', 'count'), slow, { deadlineMs: 500 }));
    // The deadline had passed when the task was admitted, so it is the first to go: at the next look, before what is due a second later.
    const later = errorOf(queue.run(of('gate.js', 'count'), 2, { deadlineMs: 1_000 }));
    expect(await Promise.race([late.then(() => 'late'), later.then(() => 'later')])).toBe('late');
    await later;
    gate.open();
    await held;
    await settled(queue);
  });

  test('has no effect on a task that settled in time, whatever the clock does later', async () => {
    const clock = jumpableClock();
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    await expect(queue.run(of('gate.js', 'count'), 1, { deadlineMs: LONG_MS })).resolves.toBe(1);
    const held = queue.run(of('gate.js'), 0);
    await gate.entered();
    clock.jump(2 * LONG_MS);
    await errorOf(queue.run(of('gate.js', 'count'), 2, { deadlineMs: 1 }));
    gate.open();
    await held;
    await settled(queue);
    expect(queue.stats()).toMatchObject({ completed: 2, failed: 1 });
  });

  test('many at once: each once, and none before its time', async () => {
    const clock = jumpableClock();
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const held = queue.run(of('gate.js'), 0);
    await gate.entered();
    const due: number[] = [];
    const from = performance.now();
    const all = upTo(3_000).map((k) => {
      const deadlineMs = LONG_MS + ((k * 7_919) % 3_000) * 1_000;
      return errorOf(queue.run(of('gate.js', 'count'), 1, { deadlineMs })).then((error) => {
        expect(error).toMatchObject(TOO_LATE);
        expect(performance.now() - from).toBeGreaterThanOrEqual(deadlineMs);
        due.push(k);
      });
    });
    clock.jump(LONG_MS - 1_000);
    for (let step = 0; due.length < 3_000 && step < 400; step++) {
      clock.jump(10_000);
      await new Promise((resolve) => setTimeout(resolve, 10)); // a tick of the wheel; late ones only make the steps larger
    }
    await within(Promise.all(all), 'all 3,000');
    expect(new Set(due).size).toBe(3_000);
    gate.open();
    await held;
    await settled(queue);
    expect(gate.ran()).toEqual({ 0: 1 });
  }, 120_000);
});

test('B40 limits and signals of settled tasks keep no process alive', async () => {
  const { code, stdout, stderr } = await inChild(`
    import { TaskQueue } from 'railhead';
    const queue = new TaskQueue({ concurrency: 1, timeoutMs: 180_000, maxIdleMs: Infinity, graceMs: 180_000 });
    const { signal } = new AbortController();
    const options = { timeoutMs: 170_000, deadlineMs: 180_000, signal: AbortSignal.any([signal, AbortSignal.timeout(180_000)]) };
    console.log(await queue.run((n) => n + 1, 1, options), await queue.run((n) => n + 1, 2));
  `);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '2 3\n', stderr: '' });
});
