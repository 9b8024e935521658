/**
 * Queues for one test, and a gate: tests hold tasks and see what ran through words shared with the workers, so that nothing
 * here waits for time to pass. Used in vitest's fork; its other half is test/fixtures/gate.js.
 */
import { type Handler, handler, type QueueOptions, Task, TaskQueue } from 'railhead';
import { afterEach } from 'vitest';
import { until } from '../support/index.ts';

/** A file of test/fixtures. */
export const fixture = (name: string): URL => new URL(`../fixtures/${name}`, import.meta.url);
/** One export of such a file. */
export const of = (name: string, exportName?: string) => handler(fixture(name), exportName);

const made: (TaskQueue | Task)[] = [];
/** A queue that is stopped after the test, whatever it still runs. */
export function queueOf(options?: number | QueueOptions): TaskQueue {
  const queue = new TaskQueue(options);
  made.push(queue);
  return queue;
}
export function taskOf(its: Handler<unknown, unknown>, options?: number | QueueOptions): Task {
  const task = new Task(its, options);
  made.push(task);
  return task;
}
afterEach(async () => {
  await Promise.all(made.splice(0).map((queue) => queue.stop({ timeoutMs: 0 })));
});

const OPEN = 0;
const ENTERED = 1;
const MOST = 3;

export class Gate {
  readonly words: Int32Array = new Int32Array(new SharedArrayBuffer(64));
  /** By value: how often it ran. */
  readonly ledger: Int32Array;
  /** What the queue is given, so that the fixtures find this gate. */
  readonly workerData: { words: Int32Array; ledger: Int32Array };

  constructor(values = 64) {
    this.ledger = new Int32Array(new SharedArrayBuffer(values * 4));
    this.workerData = { words: this.words, ledger: this.ledger };
  }

  open(): void {
    Atomics.store(this.words, OPEN, 1);
    Atomics.notify(this.words, OPEN);
  }
  /** Resolves when so many held tasks have begun. */
  entered(count = 1): Promise<unknown> {
    return until(() => Atomics.load(this.words, ENTERED) >= count, `${count} held tasks to begin`);
  }
  /** The most that ran at once. */
  get most(): number {
    return Atomics.load(this.words, MOST);
  }
  /** Values that ran, with how often, but for those that did not. */
  ran(): Record<number, number> {
    return Object.fromEntries([...this.ledger.entries()].filter(([, times]) => times !== 0));
  }
}

/** `{ 0: 1, 1: 1, … }`: each value ran exactly once. */
export const onceEach = (values: Iterable<number>): Record<number, number> => Object.fromEntries([...values].map((value) => [value, 1]));
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, k) => k);

/** The error of a promise that is expected to reject. */
export async function errorOf(promise: Promise<unknown>): Promise<Error & { code?: string; reason?: string; exitCode?: number }> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('Expected a rejection');
}

/** How many workers wait for work. */
export const parked = (queue: TaskQueue | Task, count: number): Promise<unknown> =>
  until(() => queue.stats().workers.parked === count, `${count} parked workers`);
export const gone = (queue: TaskQueue | Task): Promise<unknown> => until(() => queue.stats().workers.live === 0, 'no live worker');
