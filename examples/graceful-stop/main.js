/**
 * Graceful stop: on SIGTERM the queue finishes what it has, admits nothing new, and says what it did.
 * The package listens to no signals of its own: when to stop is for the program to decide.
 *
 *   node examples/graceful-stop/main.js
 *
 * Output:
 *   40 tasks are in; here comes SIGTERM
 *   a push from now on: false
 *   a run from now on: E_QUEUE_STOPPED
 *   stopped: 40 completed, 0 failed, 0 cut
 */
import { TaskQueue } from 'railhead';

const queue = new TaskQueue(2);

process.once('SIGTERM', async () => {
  const stopping = queue.stop({ timeoutMs: 10_000 }); // at once: refuses new work, drains the old
  console.log(`a push from now on: ${queue.push(spin, 1)}`);
  await queue.run(spin, 1).catch((error) => console.log(`a run from now on: ${error.code}`));
  const { completed, failed, cut } = await stopping;
  console.log(`stopped: ${completed} completed, ${failed} failed, ${cut} cut`);
});

/** Keeps a thread busy for so many milliseconds. */
function spin(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

queue.pushBatch(spin, Array(40).fill(5));
console.log('40 tasks are in; here comes SIGTERM');
process.kill(process.pid, 'SIGTERM');
