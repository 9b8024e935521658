/** Signals: one listener each, and who is ended. A made-up clock, and puppets instead of threads. */
import { getEventListeners } from 'node:events';
import { MessagePort } from 'node:worker_threads';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { until } from '../../support/index.ts';
import { counts, echo, end, pass, type Puppet, puppetQueue, puppets, type Seen, watch } from './puppet.ts';

afterEach(end);
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;
const run = (queue: ReturnType<typeof puppetQueue>, { signal }: AbortController, value: unknown = 1): Seen =>
  watch(queue.run(echo, value, { signal }));
const first = (size = 1): Puppet => (puppets[0] as Puppet).boot(size);

describe('a signal', () => {
  test('has one listener, however many tasks share it, until the last of them is released', async () => {
    const queue = puppetQueue();
    const controller = new AbortController();
    const tasks = Array.from({ length: 5 }, () => run(queue, controller));
    const worker = first();
    for (let k = 0; k < 5; k++) {
      expect(listeners(controller.signal)).toBe(1);
      worker.start();
      worker.settle(k);
      await until(() => tasks[k]?.value === k, 'the result');
    }
    expect(listeners(controller.signal)).toBe(0);
  });

  test('ends its own tasks and no others, queued ones at once', async () => {
    const queue = puppetQueue();
    const [one, two] = [new AbortController(), new AbortController()];
    const tasks = [one, two, one, two].map((controller) => run(queue, controller));
    one.abort('why');
    expect(counts(queue)).toEqual({ size: 2, pending: 2 });
    await pass(0);
    expect(tasks.map(({ code }) => code)).toEqual(['ABORT_ERR', undefined, 'ABORT_ERR', undefined]);
    expect(tasks[0]?.error).toMatchObject({ name: 'AbortError', cause: 'why' });
    expect([one, two].map(({ signal }) => listeners(signal))).toEqual([0, 1]);
    two.abort();
    await pass(0);
    expect(counts(queue)).toEqual({ size: 0, pending: 0 });
    expect(queue.stats()).toMatchObject({ completed: 0, failed: 4, aborted: 4 });
  });

  test('lets none of its queued tasks start any more, however quickly the running one heeds it', async () => {
    const queue = puppetQueue();
    const controller = new AbortController();
    const tasks = Array.from({ length: 8 }, () => run(queue, controller));
    const worker = first();
    worker.start();
    let late = 0;
    // The host has just told the worker, and has not ended all others yet: nothing keeps a worker on another processor from this.
    const tell = vi.spyOn(MessagePort.prototype, 'postMessage').mockImplementation(() => {
      tell.mockRestore();
      worker.settle('late');
      late = worker.start();
      if (late !== 0) worker.settle('started after the abort');
    });
    controller.abort();
    await until(() => queue.pending === 0, 'all to be released');
    expect(late).toBe(0);
    expect(tasks.map(({ value, code }) => value ?? code)).toEqual(Array(8).fill('ABORT_ERR'));
  });

  test('that comes after the result, or twice, ends nothing', async () => {
    const queue = puppetQueue();
    const controller = new AbortController();
    const task = run(queue, controller);
    const worker = first();
    worker.start();
    worker.settle('done');
    controller.abort(); // before the host has looked
    await until(() => task.value === 'done', 'the result');
    controller.abort();
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 0, aborted: 0 });
    expect(listeners(controller.signal)).toBe(0);
  });
});

describe('an abort of a running task', () => {
  test('B02 gives back what its worker had claimed behind it, in order, and to nobody twice', async () => {
    const queue = puppetQueue();
    const controller = new AbortController();
    const victim = run(queue, controller);
    const others = Array.from({ length: 7 }, (_, k) => watch(queue.run(echo, k)));
    const worker = first(8);
    const entry = worker.start(); // a batch of eight, and the first of it
    controller.abort();
    await pass(0);
    expect(victim.code).toBe('ABORT_ERR');
    expect(worker.told()).toMatchObject([{ type: 'abort', entry }]);
    expect(counts(queue)).toEqual({ size: 7, pending: 8 });
    worker.settle('late');
    for (const task of others) {
      expect(task).toEqual({});
      worker.start();
      worker.settle('ran');
      await until(() => task.value === 'ran', 'the next in order');
    }
    expect(worker.start()).toBe(0);
    expect(counts(queue)).toEqual({ size: 0, pending: 0 });
    expect(queue.stats()).toMatchObject({ completed: 7, failed: 1, aborted: 1 });
  });

  test('whose worker dies then loses and repeats nothing of what it had claimed', async () => {
    const queue = puppetQueue();
    const controller = new AbortController();
    const victim = run(queue, controller);
    const others = Array.from({ length: 7 }, (_, k) => watch(queue.run(echo, k)));
    const worker = first(8);
    worker.start();
    controller.abort();
    await pass(0);
    worker.exit(1); // its announcement still names all eight
    await pass(0);
    expect(victim.code).toBe('ABORT_ERR');
    const next = (puppets[1] as Puppet).boot();
    for (const task of others) {
      expect(task).toEqual({});
      next.start();
      next.settle('ran');
      await until(() => task.value === 'ran', 'the next in order');
    }
    expect(next.start()).toBe(0);
    expect(counts(queue)).toEqual({ size: 0, pending: 0 });
  });

  test('ends the thread of one that does not return, graceMs later, and the next is started then', async () => {
    const queue = puppetQueue({ graceMs: 100 });
    const controller = new AbortController();
    const victim = run(queue, controller);
    const next = watch(queue.run(echo, 2));
    const worker = first();
    worker.start();
    controller.abort();
    await pass(98);
    expect(victim.code).toBe('ABORT_ERR');
    expect(worker.terminated).toBe(0);
    expect(puppets.length).toBe(1);
    await pass(4);
    expect(worker.terminated).toBe(1);
    await until(() => puppets.length === 2, 'another');
    expect(queue.stats()).toMatchObject({ pending: 2, workers: { live: 1, condemned: 1 } });
    const second = (puppets[1] as Puppet).boot();
    second.start();
    second.settle('next');
    await until(() => next.value === 'next', 'the next result');
    expect(queue.pending).toBe(1); // until the thread has ended it may write in its record
    worker.exit();
    await pass(0);
    expect(counts(queue)).toEqual({ size: 0, pending: 0 });
  });

  test('B15 does not end the thread of one that heeds it, whatever runs there afterwards', async () => {
    const queue = puppetQueue({ graceMs: 100 });
    const controller = new AbortController();
    const victim = run(queue, controller);
    const worker = first();
    worker.start();
    controller.abort();
    await pass(98);
    worker.settle('late');
    const next = watch(queue.run(echo, 2));
    worker.start();
    await pass(1_000);
    expect(worker.terminated).toBe(0);
    worker.settle('next');
    await until(() => next.value === 'next', 'the next result');
    expect(victim.code).toBe('ABORT_ERR');
    expect(queue.pending).toBe(0);
  });

  test('leaves no timer behind once the task has returned', async () => {
    const queue = puppetQueue({ graceMs: 60_000 });
    const before = vi.getTimerCount();
    const controller = new AbortController();
    run(queue, controller);
    const worker = first();
    worker.start();
    controller.abort();
    worker.settle('late');
    await until(() => queue.pending === 0, 'its release');
    expect(vi.getTimerCount()).toBe(before);
  });
});
