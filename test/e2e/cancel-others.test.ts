/** What an abort does to everybody else: tasks beside it and behind it, stop(), and the process. Real worker threads. */
import { describe, expect, test } from 'vitest';
import { inChild, seeded, until, within } from '../support/index.ts';
import { errorOf, Gate, of, onceEach, parked, queueOf, upTo } from './gate.ts';
import { BEATS, its, LONG_MS, NOTED, NOTES, settled, workerOf } from './limits.ts';

const ABORTED = { name: 'AbortError', code: 'ABORT_ERR' };

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
