/** Life goes on in a worker: its event loop turns while the queue is full, and while the worker is parked. Real worker threads. */
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { once, until, within } from '../support/index.ts';
import { errorOf, Gate, of, parked, queueOf, upTo } from './gate.ts';

describe('in a saturated worker', () => {
  test('microtasks, rejections, timers and immediates of a task run before the 2,000th later task starts', async () => {
    const queue = queueOf(1);
    await queue.warm(1);
    const began = queue.run(of('turns.js', 'begin'));
    queue.pushBatch(of('turns.js', 'tick'), Array(6_000).fill(undefined));
    const seen = (await queue.run(of('turns.js', 'end'))) as Record<string, number>;
    await began;
    expect(seen.later).toBe(6_000);
    for (const name of ['microtask', 'rejection', 'timer', 'immediate']) {
      expect(seen[name], name).toBeTypeOf('number');
      expect(seen[name], name).toBeLessThan(2_000);
    }
  });

  test('the same holds when every task is async', async () => {
    const queue = queueOf(1);
    const began = queue.run(of('turns.js', 'begin'));
    const tick = of('turns.js', 'tick');
    queue.pushBatch(
      upTo(3_000).flatMap(
        () =>
          [
            [tick, undefined],
            [async () => {}, undefined],
          ] as [typeof tick, undefined][],
      ),
    );
    const seen = (await queue.run(of('turns.js', 'end'))) as Record<string, number>;
    await began;
    for (const name of ['microtask', 'rejection', 'timer', 'immediate']) expect(seen[name], name).toBeLessThan(2_000);
  });

  test('the host’s event loop turns too while round trips follow each other', async () => {
    const queue = queueOf(1);
    let turns = 0;
    let more = true;
    const turn = (): void => {
      turns++;
      if (more) setImmediate(turn);
    };
    setImmediate(turn);
    for (let k = 0; k < 20_000; k++) await queue.run((n: number) => n, k);
    more = false;
    expect(turns).toBeGreaterThan(5);
  });
});

describe('in a parked worker', () => {
  test('B51 the server that a task left behind answers', async () => {
    const queue = queueOf(1);
    const port = (await queue.run(of('alive.js', 'listen'))) as number;
    await parked(queue, 1);
    for (let k = 0; k < 3; k++) {
      const socket = connect(port, '127.0.0.1');
      const [said] = (await once(socket, 'data')) as [Buffer];
      expect(said.toString()).toBe('alive');
      socket.destroy();
    }
    expect(queue.stats().workers.started).toBe(1);
  });

  test('B51 the timer that a task left behind fires', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    await queue.run(of('alive.js', 'beat'));
    await parked(queue, 1);
    const before = Atomics.load(gate.ledger, 0);
    await until(() => Atomics.load(gate.ledger, 0) > before + 3, 'beats');
    expect(queue.stats().workers.parked).toBe(1);
  });
});

describe('an uncaught exception in a worker', () => {
  test('P3 fails what ran there with E_WORKER_DIED and its cause, and nothing else', async () => {
    const queue = queueOf({ concurrency: 2, parallelism: 2, onError: () => {} });
    const dies = errorOf(
      queue.run(() => {
        setTimeout(() => {
          throw new RangeError('leaked from a timer');
        }, 1);
        return new Promise(() => {});
      }),
    );
    const others = upTo(200).map((k) => queue.run((n: number) => n + 1, k));
    const error = await within(dies, 'the rejection');
    expect(error).toMatchObject({ name: 'RailheadError', code: 'E_WORKER_DIED', reason: 'crash', exitCode: 1 });
    expect(error.cause).toMatchObject({ name: 'RangeError', message: 'leaked from a timer' });
    await expect(within(Promise.all(others), 'the others')).resolves.toEqual(upTo(200).map((k) => k + 1));
  });

  test('outside any task it goes to error, with its worker, and the next task runs elsewhere', async () => {
    const queue = queueOf(1);
    const told = once(queue, 'error');
    await queue.run(
      () =>
        void setTimeout(() => {
          throw new RangeError('leaked');
        }, 20),
    );
    const [error, job] = (await told) as [Error, unknown];
    expect(error).toMatchObject({ name: 'RangeError', message: 'leaked' });
    expect(job).toMatchObject({ handler: undefined, workerId: 1 });
    await expect(
      within(
        queue.run((_: undefined, task) => task.workerId, undefined),
        'the next task',
      ),
    ).resolves.toBe(2);
  });

  test('an unhandled rejection is one too', async () => {
    const queue = queueOf({ concurrency: 1, onError: () => {} });
    const error = await errorOf(
      queue.run(() => {
        void Promise.reject(new RangeError('nobody catches'));
        return new Promise(() => {});
      }),
    );
    expect(error).toMatchObject({ code: 'E_WORKER_DIED', reason: 'crash' });
    expect(error.cause).toMatchObject({ message: 'nobody catches' });
  });
});
