/** A wake is not given to a thread that is dying while another worker is parked, also while the host is busy. Real worker threads. */
import { threads } from './spy.ts'; // first: it must see the threads start
import type { TaskQueue } from 'railhead';
import { expect, test } from 'vitest';
import { errorOf, of, parked, queueOf } from '../e2e/gate.ts';
import { until } from '../support/index.ts';

const [GO, GONE, RAN] = [0, 1, 2];
/** Longer than a thread takes to wake; it passes only if the job is not run. */
const PATIENCE_MS = 20_000;

const its = (name: string) => of('wakes.js', name);
const blockUntil = (words: Int32Array, word: number): boolean => Atomics.wait(words, word, 0, PATIENCE_MS) !== 'timed-out';

/** Two parked workers that have loaded the fixture and share `words` with the test. */
async function twoParked(words: Int32Array, tasksPerWorker: number): Promise<TaskQueue> {
  const queue = queueOf({ concurrency: 2, parallelism: 2, tasksPerWorker, graceMs: 0, maxIdleMs: 600_000, workerData: { words } });
  await queue.run(its('ran'));
  await queue.warm(2);
  await parked(queue, 2);
  Atomics.store(words, RAN, 0);
  return queue;
}

/** Pushes a job and blocks this thread until it has run. */
function runsWhileBlocked(queue: TaskQueue, words: Int32Array): boolean {
  queue.push(its('ran'));
  return blockUntil(words, RAN);
}

test('17.1 the host pushes as it ends a parked thread: the other worker runs the job while the host is blocked', async () => {
  const words = new Int32Array(new SharedArrayBuffer(16));
  const queue = await twoParked(words, 2);
  let ran: boolean | undefined;
  for (const thread of threads) {
    const terminate = thread.terminate.bind(thread);
    thread.terminate = () => {
      ran ??= runsWhileBlocked(queue, words); // the thread is parked, the hottest, and will never claim again
      return terminate();
    };
  }
  const error = errorOf(queue.run(its('never'), undefined, { timeoutMs: 20 })); // its worker parks beside it, and is ended for it
  expect(await error).toMatchObject({ code: 'E_TASK_TIMEOUT' });
  await until(() => ran !== undefined, 'the thread to be ended');
  expect(ran).toBe(true);
});

test('17.1 a parked worker exits by a timer of its own: the other runs the job while the host is blocked', async () => {
  const words = new Int32Array(new SharedArrayBuffer(16));
  const queue = await twoParked(words, 1);
  await queue.run(its('leaveWhenTold'));
  await parked(queue, 2); // the one that leaves was the last to park: the hottest
  Atomics.store(words, GO, 1);
  expect(blockUntil(words, GONE)).toBe(true); // from here this thread does not turn its loop
  expect(runsWhileBlocked(queue, words)).toBe(true);
});
