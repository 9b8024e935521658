/** Threads that somebody else ends, at any moment. Real worker threads. */
import { threads } from './spy.ts'; // first
import { expect, test } from 'vitest';
import { errorOf, Gate, of, parked, queueOf, upTo } from '../e2e/gate.ts';
import { its, settled, workerOf } from '../e2e/limits.ts';
import { seeded, until, within } from '../support/index.ts';

const endAll = (): void => {
  for (const thread of threads) void thread.terminate();
};

test('B05 a thread terminated from outside fails its task, and the error says that it was', async () => {
  const gate = new Gate();
  const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
  for (const [k, name] of ['loop', 'waitForEver', 'never'].entries()) {
    const victim = errorOf(queue.run(its(name), 0));
    await gate.entered(k + 1);
    endAll();
    expect(await within(victim, name)).toMatchObject({ name: 'RailheadError', code: 'E_WORKER_DIED', reason: 'terminated', exitCode: 1 });
  }
  await expect(workerOf(queue)).resolves.toBe(4);
  await settled(queue);
});

test('B05 a thread terminated from outside while it imports a module: the module is not to blame', async () => {
  const gate = new Gate();
  const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
  const victim = errorOf(queue.run(of('slow-module.js'), 0));
  await gate.entered();
  endAll();
  expect(await within(victim, 'the rejection')).toMatchObject({ code: 'E_WORKER_DIED', reason: 'terminated' });
  await expect(workerOf(queue)).resolves.toBe(2);
  await settled(queue);
});

test('B45 parked threads that are terminated are replaced as work comes', async () => {
  const gate = new Gate();
  const queue = queueOf({ concurrency: 3, parallelism: 3, maxIdleMs: Number.POSITIVE_INFINITY, workerData: gate.workerData });
  for (let round = 0; round < 5; round++) {
    await queue.warm(3);
    await parked(queue, 3);
    endAll();
    if (round % 2) await until(() => queue.stats().workers.live === 0, 'them to be gone'); // or while they go
    const ran = await within(Promise.allSettled(upTo(10).map((k) => queue.run(of('gate.js', 'count'), round * 10 + k))), `round ${round}`);
    for (const each of ran)
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'E_WORKER_DIED', reason: 'terminated' });
  }
  await within(queue.idle(), 'idle');
  expect(Math.max(...gate.ledger)).toBe(1);
  await expect(queue.run(of('gate.js', 'count'), 60)).resolves.toBe(60);
  expect(await within(queue.stop(), 'stop')).toMatchObject({ cut: 0 });
});

test('B04 threads terminated before they are ready, or while others retire, lose nothing', async () => {
  const gate = new Gate(200);
  const queue = queueOf({ concurrency: 3, parallelism: 3, maxJobs: 5, workerData: gate.workerData });
  const random = seeded();
  const all = Promise.all(
    upTo(120).map((k) =>
      queue.run(of('gate.js', 'count'), k).then(
        () => 'ran',
        (error) => error.code as string,
      ),
    ),
  );
  let over = false;
  void all.then(() => {
    over = true;
  });
  let ended = 0;
  await until(() => {
    if (ended < 12 && threads.size > 0 && random.next() < 0.05) {
      ended++;
      void random.pick([...threads]).terminate();
    }
    return over;
  }, 'all to settle');
  const codes = await all;
  for (const code of codes) expect(['ran', 'E_WORKER_DIED']).toContain(code);
  await within(queue.idle(), 'idle');
  expect(queue.pending).toBe(0);
  expect(Math.max(...gate.ledger)).toBe(1); // those that failed have run, or not
  expect(codes.every((code, k) => code !== 'ran' || gate.ledger[k] === 1)).toBe(true);
  await expect(queue.run(of('gate.js', 'count'), 150)).resolves.toBe(150);
});

test('B04 workers are told apart by a number that no two ever share, whoever comes and goes', async () => {
  const queue = queueOf({ concurrency: 3, parallelism: 3, maxJobs: 2 });
  const left: number[] = [];
  queue.on('workerExit', ({ workerId }) => left.push(workerId));
  const ids = await Promise.all(upTo(20).map(() => queue.run((_: undefined, task) => task.workerId, undefined)));
  await queue.stop();
  await until(() => left.length === queue.stats().workers.started, 'all to be told');
  expect(left.toSorted((a, b) => a - b)).toEqual(upTo(left.length).map((k) => k + 1));
  for (const id of ids) expect(left).toContain(id);
});
