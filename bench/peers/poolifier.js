/** poolifier's fixed pool as it comes. */
import { fileURLToPath } from 'node:url';
import { FixedThreadPool } from 'poolifier';

export function create({ workers, module }) {
  const pool = new FixedThreadPool(workers, fileURLToPath(new URL('./poolifier-worker.js', import.meta.url)), {
    workerOptions: { workerData: { module: module.href } },
  });
  return { run: (value) => pool.execute(value), close: () => pool.destroy() };
}
