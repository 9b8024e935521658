/**
 * number -> number, and for a path: holds this worker until the file `<path>` exists. It tells that it holds by creating
 * `<path>.<thread>`. The thread sleeps meanwhile (its event loop does not turn), so it takes nothing and uses no CPU.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { threadId } from 'node:worker_threads';

export default (value) => {
  if (typeof value === 'number') return value + 1;
  writeFileSync(`${value}.${threadId}`, '');
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(value)) Atomics.wait(never, 0, 0, 50);
  return threadId;
};
