/** What the tests of signals, time limits and retries share. Used in vitest's fork; its handlers are test/fixtures/abort.js. */
import type { TaskQueue } from 'railhead';
import { expect } from 'vitest';
import { within } from '../support/index.ts';
import { errorOf, of } from './gate.ts';

/** So long that no test sees its end. */
export const LONG_MS = 600_000;
export const its = (name: string) => of('abort.js', name);

/** Words of the gate that those handlers write. */
export const BEATS = 4;
export const HEEDED = 5;
export const NOTED = 6;
/** Place in the ledger from which on `note` says what ran in which order. */
export const NOTES = 100;

/** Nothing is left of what ran. */
export async function settled(queue: TaskQueue): Promise<void> {
  await within(queue.idle(), 'idle');
  expect({ size: queue.size, pending: queue.pending, running: queue.stats().running }).toEqual({ size: 0, pending: 0, running: 0 });
}

/** Which worker runs the next task. */
export const workerOf = (queue: TaskQueue): Promise<number> =>
  within(
    queue.run((_: undefined, task) => task.workerId, undefined),
    'the next task',
  );

/** So many workers that have loaded these handlers: an import counts as run time, and tests with short limits mean the handler. */
export async function loaded(queue: TaskQueue, workers: number, ...names: string[]): Promise<void> {
  for (const name of names) await errorOf(queue.run(its(name), undefined, { signal: AbortSignal.abort() })); // known from here, and not run
  await within(queue.warm(workers), 'warm');
}
