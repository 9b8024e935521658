/** Railhead. Its workers stay while others have their turn, as the peers' fixed pools do. */
import { handler, TaskQueue } from 'railhead';

export function create({ workers, module }) {
  const queue = new TaskQueue({ concurrency: workers, maxIdleMs: Number.POSITIVE_INFINITY });
  const work = handler(module, 'default');
  return {
    run: (value) => queue.run(work, value),
    push: (value) => queue.push(work, value),
    close: () => queue.stop(),
  };
}
