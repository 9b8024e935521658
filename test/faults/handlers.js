/**
 * What the tasks of the storm do, good ones and faults. Each notes that it began before anything else, and a fault that it struck
 * just before it does. Runs in worker threads.
 */
import { threadId, workerData } from 'node:worker_threads';
import { at, ENDED, STARTED, STRUCK, threadRow, WHERE } from './ledger.js';
import { answerOf } from './values.js';

const { ledger } = workerData;
const never = new Int32Array(new SharedArrayBuffer(4));

/** The number of the task: its value, or the first part of it. */
function begin(value, task) {
  const index = typeof value === 'number' ? value : value[0];
  Atomics.add(ledger, at(index, STARTED), 1);
  Atomics.store(ledger, at(index, WHERE), task.workerId);
  return index;
}
function end(index) {
  Atomics.add(ledger, at(index, ENDED), 1);
}
function strike(index) {
  Atomics.add(ledger, at(index, STRUCK), 1);
}
function spinFor(ms) {
  for (const until = performance.now() + ms; performance.now() < until; );
}
function answer(index, value) {
  end(index);
  return answerOf(index, typeof value === 'number' ? undefined : value[1]);
}

// ---- good ones

export function echo(value, task) {
  return answer(begin(value, task), value);
}
export async function echoAsync(value, task) {
  const index = begin(value, task);
  if (index % 2 === 0) await new Promise((resolve) => setTimeout(resolve, index % 4));
  else await new Promise((resolve) => setImmediate(resolve));
  return answer(index, value);
}
/** Keeps the processor for a while: [index, body, ms]. */
export function spin(value, task) {
  const index = begin(value, task);
  spinFor(value[2]);
  return answer(index, value);
}
export function fail(value, task) {
  const index = begin(value, task);
  end(index);
  throw new RangeError(`own ${index}`);
}
export async function failAsync(value, task) {
  const index = begin(value, task);
  await new Promise((resolve) => setImmediate(resolve));
  end(index);
  throw new RangeError(`own ${index}`);
}

/** Comes back when so many are here at once, each on a thread of its own: [index, how many, row of the ledger]. */
export function meet(value, task) {
  const index = begin(value, task);
  const [, people, row] = value;
  Atomics.add(ledger, at(row, STARTED), 1);
  Atomics.notify(ledger, at(row, STARTED));
  for (let here = 0; here < people; ) {
    here = Atomics.load(ledger, at(row, STARTED));
    if (here < people) Atomics.wait(ledger, at(row, STARTED), here);
  }
  return answer(index, index);
}

// ---- ends of threads: [index, exit code or ms]

export function exitNow(value, task) {
  const index = begin(value, task);
  strike(index);
  process.exit(value[1]);
}
export function exitByTimer(value, task) {
  const index = begin(value, task);
  setTimeout(() => {
    strike(index);
    process.exit(value[1]);
  }, value[1] % 4);
  return answer(index, index);
}
export function exitByMicrotask(value, task) {
  const index = begin(value, task);
  queueMicrotask(() => {
    strike(index);
    process.exit(value[1]);
  });
  return answer(index, index);
}
export function throwLate(value, task) {
  const index = begin(value, task);
  setTimeout(() => {
    strike(index);
    throw new Error(`late ${index}`);
  }, value[1]);
  return answer(index, index);
}
export function rejectUnheard(value, task) {
  const index = begin(value, task);
  const refuse = () => {
    strike(index);
    Promise.reject(new Error(`unheard ${index}`));
  };
  if (value[1] === 0) refuse();
  else setTimeout(refuse, value[1]);
  return answer(index, index);
}
export function outOfMemory(value, task) {
  const index = begin(value, task);
  strike(index);
  let list = null;
  for (let k = 0; ; k++) list = { list, k, more: [k, k + 1, k + 2] }; // many small things: one huge one would end the process
}

// ---- tasks that never end by themselves

export function loop(value, task) {
  strike(begin(value, task));
  for (;;);
}
export function waitForEver(value, task) {
  strike(begin(value, task));
  Atomics.wait(never, 0, 0);
}
export function hang(value, task) {
  strike(begin(value, task));
  return new Promise(() => {});
}

// ---- results that cannot be sent

export function uncloneable(value, task) {
  const index = begin(value, task);
  strike(index);
  end(index);
  const long = Array.from({ length: 1_000 }, (_, k) => ({ k }));
  const results = [
    () => {},
    { inside: Symbol('no') },
    { get trap() { throw new Error('a getter of the result'); } },
    new WeakMap(),
    [...long, () => {}],
    { promise: Promise.resolve(1) },
  ]; // biome-ignore format: one a line
  return results[index % results.length];
}

// ---- tasks that are aborted

/** Looks whether it was aborted, without ever yielding. */
export function heed(value, task) {
  const index = begin(value, task);
  for (const until = performance.now() + value[1]; performance.now() < until && !task.aborted; );
  return answer(index, index);
}
export async function heedAsync(value, task) {
  const index = begin(value, task);
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, value[1]);
    task.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  end(index);
  task.signal.throwIfAborted();
  return answerOf(index);
}

let first = true;

/** A string of 60 to 2,000 bytes goes both ways: the pace of the terminations. */
export function tiny([index, body]) {
  if (first) Atomics.store(ledger, at(threadRow(ledger, threadId), STARTED), 1);
  first = false;
  Atomics.add(ledger, at(index, STARTED), 1);
  return [index, body];
}
/** Runs for about so long: [index, ms]. A neighbour of tasks that run into their limit. */
export function last(value, task) {
  const index = begin(value, task);
  spinFor(value[1]);
  return answer(index, index);
}
export async function lastAsync(value, task) {
  const index = begin(value, task);
  await new Promise((resolve) => setTimeout(resolve, value[1]));
  return answer(index, index);
}
