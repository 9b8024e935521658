/** Odd things that users hand in, which once stopped a worker, a queue or the process. Real worker threads. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { handler } from 'railhead';
import { expect, test } from 'vitest';
import { errorOf, queueOf } from '../e2e/gate.ts';
import { within } from '../support/index.ts';

const good = (n: number): number => n;

test('a value that travels by port starts though every turn of the host takes longer than a worker’s patience', async () => {
  const queue = queueOf({ concurrency: 2, parallelism: 2 });
  await queue.warm(2);
  const busy = setInterval(() => {
    for (const until = performance.now() + 15; performance.now() < until; );
  }, 1);
  try {
    const results = Promise.all(Array.from({ length: 20 }, () => queue.run(() => 1, new SharedArrayBuffer(8))));
    await within(results, '20 tasks');
  } finally {
    clearInterval(busy);
  }
});

test('P5 a worker that leaves and never gets to the end of it is ended and replaced', async () => {
  const queue = queueOf({ concurrency: 1, maxJobs: 1, graceMs: 100 });
  await queue.run(() => {
    process.on('exit', () => {
      while (true);
    });
  });
  await expect(within(queue.run(good, 2), 'the next task')).resolves.toBe(2);
});

test.each([
  [
    'throws',
    () =>
      Object.assign(Promise.resolve(1), {
        // biome-ignore lint/suspicious/noThenProperty: that is the oddity.
        then: () => {
          throw new Error('then');
        },
      }),
  ],
  [
    'calls back twice',
    () =>
      Object.assign(Promise.resolve(1), {
        // biome-ignore lint/suspicious/noThenProperty: that is the oddity.
        then: (call: (n: number) => void) => {
          call(1);
          setTimeout(call, 20, 2);
        },
      }),
  ],
])('P1 a promise whose own `then` %s settles its task once, and the worker goes on', async (_what, odd) => {
  const queue = queueOf(1);
  await queue.run(odd as () => unknown).catch(() => {});
  await expect(within(queue.run(good, 2), 'the next task')).resolves.toBe(2);
  await within(queue.idle(), 'idle');
});

test('an export that is a getter and throws fails its task, and the worker stays', async () => {
  const file = join(tmpdir(), `railhead-getter-${process.pid}.cjs`);
  writeFileSync(file, "Object.defineProperty(exports, 'old', { enumerable: true, get() { throw new Error('removed'); } });");
  const queue = queueOf(1);
  expect(await errorOf(queue.run(handler(file, 'old'), 1))).toMatchObject({ code: 'E_HANDLER_EXPORT', cause: { message: 'removed' } });
  await expect(queue.run(good, 2)).resolves.toBe(2);
  expect(queue.stats().workers.started).toBe(1);
});

test.each([
  [
    'a Proxy whose prototype cannot be asked for',
    () => {
      throw new Proxy(
        {},
        {
          getPrototypeOf() {
            throw new Error('trap');
          },
        },
      );
    },
  ],
  [
    'an error whose message throws',
    () => {
      throw Object.defineProperty(new ReferenceError('x'), 'message', {
        get() {
          throw 9;
        },
      });
    },
  ],
  [
    'an error whose message is a symbol',
    () => {
      throw Object.assign(new ReferenceError('x'), { message: Symbol('x') });
    },
  ],
])('whatever is thrown rejects its task alone: %s', async (_what, throws) => {
  const queue = queueOf(1);
  await expect(queue.run(throws as () => unknown)).rejects.toBeDefined();
  await expect(queue.run(good, 2)).resolves.toBe(2);
  expect(queue.stats().workers.started).toBe(1);
});

test('P1 a task that is refused because its signal throws never starts, and counts nowhere', async () => {
  const queue = queueOf(1);
  const { signal } = new AbortController();
  signal.addEventListener = () => {
    throw new Error('no listeners');
  };
  await expect(
    queue.run(() => Promise.reject(new Error('it started')), undefined, { signal, timeoutMs: 50, deadlineMs: 50 }),
  ).rejects.toThrow('no listeners');
  expect(queue).toMatchObject({ pending: 0, size: 0 });
  await expect(queue.run(good, 2)).resolves.toBe(2);
  expect(queue.stats()).toMatchObject({ completed: 1, failed: 0 });
});
