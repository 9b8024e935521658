/** Tinypool as it comes, with a fixed number of worker threads. */
import { fileURLToPath } from 'node:url';
import { Tinypool } from 'tinypool';

export function create({ workers, module }) {
  const pool = new Tinypool({ filename: fileURLToPath(module), runtime: 'worker_threads', minThreads: workers, maxThreads: workers });
  return { run: (value) => pool.run(value), close: () => pool.destroy() };
}
