/** Worker threads as others see them: a test that imports this file first can end them from outside. Used in vitest's fork. */
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { type WorkerOptions } from 'node:worker_threads';

const RealWorker = workerThreads.Worker;
/** Those that have not exited, in the order of their start. */
export const threads = new Set<InstanceType<typeof RealWorker>>();

class SpiedWorker extends RealWorker {
  constructor(file: string | URL, options?: WorkerOptions) {
    super(file, options);
    threads.add(this);
    this.once('exit', () => threads.delete(this));
    this.unref(); // the listener refs it
  }
}
(workerThreads as { Worker: unknown }).Worker = SpiedWorker;
syncBuiltinESMExports();
