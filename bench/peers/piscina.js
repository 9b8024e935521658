/** Piscina as it comes, with a fixed number of workers. */
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

export function create({ workers, module }, options = {}) {
  const pool = new Piscina({ filename: fileURLToPath(module), minThreads: workers, maxThreads: workers, ...options });
  return { run: (value) => pool.run(value), close: () => pool.destroy() };
}
