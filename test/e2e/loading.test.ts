/** Modules and workers that will not start: what waits is told, other work goes on, and nothing is spawned without end. Real worker threads. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { QueueEvents } from 'railhead';
import { describe, expect, test } from 'vitest';
import { projectFolder, until, within } from '../support/index.ts';
import { errorOf, fixture, of, queueOf, upTo } from './gate.ts';

describe('a module that keeps throwing on load', () => {
  test('B22 fails its waiting tasks with the cause, once says crashLoop, and spawns at most 5 + concurrency', async () => {
    const concurrency = 2;
    const queue = queueOf(concurrency);
    const loops: QueueEvents['crashLoop'][0][] = [];
    queue.on('crashLoop', (event) => loops.push(event));
    const broken = upTo(30).map((k) => errorOf(queue.run(fixture('throws.js'), k)));
    for (const error of await within(Promise.all(broken), '30 rejections')) {
      expect(error).toMatchObject({ name: 'RailheadError', code: 'E_HANDLER_LOAD' });
      expect(error.cause).toMatchObject({ name: 'RangeError', message: 'this module never loads' });
    }
    await until(() => loops.length > 0, 'crashLoop');
    expect(loops).toHaveLength(1);
    expect(loops[0]).toMatchObject({ handler: 'throws.js', error: { code: 'E_HANDLER_LOAD' } });
    expect(queue.stats().workers.started).toBeLessThanOrEqual(5 + concurrency);
    expect(queue.pending).toBe(0);
    await expect(queue.run(of('double.js'), 2)).resolves.toBe(4);
  });

  test('B22 and other handlers go on meanwhile', async () => {
    const queue = queueOf(2);
    const broken = upTo(30).map((k) => errorOf(queue.run(fixture('throws.js'), k)));
    const others = upTo(100).map((k) => queue.run((n: number) => n + 1, k));
    await expect(within(Promise.all(others), 'the others')).resolves.toEqual(upTo(100).map((k) => k + 1));
    for (const error of await within(Promise.all(broken), '30 rejections')) expect(error).toMatchObject({ code: 'E_HANDLER_LOAD' });
  });

  test('a worker that was started in its back-off tries it when the back-off is over', async () => {
    const project = await projectFolder({});
    try {
      const flag = join(project.path, 'flag');
      const queue = queueOf({ concurrency: 1, workerData: { flag } });
      for (let k = 0; k < 5; k++) await errorOf(queue.run(fixture('flagged.js'), k));
      await queue.run((n: number) => n, 1); // the fresh worker has booted, and knows of the back-off
      await writeFile(flag, '');
      // At most one refusal each time a back-off is met; none once it is over and the module loads.
      await until(
        async () => (await queue.run(fixture('flagged.js'), 4).catch((error: Error) => error.message)) === 8,
        'the module to be tried again',
      );
      for (let k = 0; k < 20; k++) await expect(queue.run(fixture('flagged.js'), k)).resolves.toBe(k * 2);
    } finally {
      await project.remove();
    }
  });

  test('one success resets the count: five more failures are needed before it is refused untried', async () => {
    const project = await projectFolder({});
    try {
      const flag = join(project.path, 'flag');
      const queue = queueOf({ concurrency: 1, maxJobs: 1, workerData: { flag } });
      for (let k = 0; k < 4; k++)
        expect((await errorOf(queue.run(fixture('flagged.js'), k))).cause).toMatchObject({ message: 'the flag is not there yet' });
      await writeFile(flag, '');
      await expect(queue.run(fixture('flagged.js'), 3)).resolves.toBe(6);
      let loops = 0;
      queue.on('crashLoop', () => loops++);
      const { rm } = await import('node:fs/promises');
      await rm(flag);
      for (let k = 0; k < 4; k++) expect((await errorOf(queue.run(fixture('flagged.js'), k))).message).toContain('could not be loaded');
      expect(loops).toBe(0);
      expect((await errorOf(queue.run(fixture('flagged.js'), 5))).message).toContain('could not be loaded');
      await until(() => loops === 1, 'crashLoop');
    } finally {
      await project.remove();
    }
  });
});

describe('a module that ends its thread on load', () => {
  test('P3 fails its own tasks, and no other', async () => {
    const queue = queueOf(2);
    await queue.warm(2);
    const broken = upTo(10).map((k) => errorOf(queue.run(fixture('exits.js'), k)));
    const others = upTo(50).map((k) => queue.run((n: number) => n + 1, k));
    await expect(within(Promise.all(others), 'the other tasks')).resolves.toEqual(upTo(50).map((k) => k + 1));
    for (const error of await within(Promise.all(broken), '10 rejections')) expect(error.name).toBe('RailheadError');
    await expect(within(queue.run(of('double.js'), 2), 'a task afterwards')).resolves.toBe(4);
  });
});

describe.each([
  ['an option of Node that does not exist', ['--no-such-flag']],
  ['a module to preload that does not exist', ['--import', 'file:///no/such/module.mjs']],
])('workers that cannot boot: %s', (_what, execArgv) => {
  test('B21 waiting tasks reject with the cause, and the queue can be stopped', async () => {
    const queue = queueOf({ concurrency: 2, execArgv });
    let loops = 0;
    queue.on('crashLoop', () => loops++);
    const errors = await within(Promise.all(upTo(10).map((k) => errorOf(queue.run((n: number) => n, k)))), '10 rejections');
    for (const error of errors) {
      expect(error).toMatchObject({ name: 'RailheadError', code: 'E_WORKER_DIED' });
      expect(error.cause).toBeInstanceOf(Error);
    }
    await until(() => loops > 0, 'crashLoop');
    expect(queue.pending).toBe(0);
    expect(queue.size).toBe(0);
    await within(queue.idle(), 'idle');
    // Later tasks are told too, when the next attempt has failed.
    expect(await within(errorOf(queue.run((n: number) => n, 1)), 'a later rejection')).toMatchObject({ code: 'E_WORKER_DIED' });
    expect(await within(queue.stop(), 'stop')).toMatchObject({ completed: 0, cut: 0, stuck: [] });
  });

  test('warm() rejects with the cause', async () => {
    const queue = queueOf({ concurrency: 2, execArgv });
    expect(await within(errorOf(queue.warm(2)), 'warm', 10_000)).toMatchObject({ code: 'E_WORKER_DIED' });
  });

  test('stop() cuts tasks that wait for them', async () => {
    const queue = queueOf({ concurrency: 1, execArgv });
    const waiting = errorOf(queue.run((n: number) => n, 1));
    expect(await within(queue.stop({ timeoutMs: 0 }), 'stop')).toMatchObject({ stuck: [] });
    expect(['E_QUEUE_STOPPED', 'E_WORKER_DIED']).toContain((await waiting).code);
  });
});
