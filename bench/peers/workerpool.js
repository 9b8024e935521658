/** workerpool on worker threads, a fixed number of them, with a dedicated worker file. */
import { fileURLToPath } from 'node:url';
import workerpool from 'workerpool';

export function create({ workers, module }) {
  const pool = workerpool.pool(fileURLToPath(new URL('./workerpool-worker.js', import.meta.url)), {
    workerType: 'thread',
    minWorkers: workers,
    maxWorkers: workers,
    workerThreadOpts: { workerData: { module: module.href } },
  });
  return { run: (value) => pool.exec('run', [value]), close: () => pool.terminate(true) };
}
