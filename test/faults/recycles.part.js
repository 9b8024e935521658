/**
 * Memory over 1,000 recycled workers: RSS after all of them is at most 1.1 times that after half. `kind`: how they are recycled, or
 * `bare` for the same number of plain Workers without this package, for comparison. A child process with --expose-gc of its own.
 */
import { Worker } from 'node:worker_threads';
import { TaskQueue } from 'railhead';

const MIB = 2 ** 20;
const ALLOWED = 1.1;

/** Threads at a time: one after another takes minutes on a loaded machine. */
const WAVE = 4;
const VALUE = Array(100).fill('some value');
const once = (emitter, event) => new Promise((resolve) => emitter.once(event, resolve));

/** A queue all of whose workers end in each wave. */
function queueOf(options, afterTasks) {
  const queue = new TaskQueue({ concurrency: WAVE, parallelism: WAVE, ...options });
  return {
    queue,
    wave: async () => {
      const before = queue.stats().workers.started - queue.stats().workers.live;
      await Promise.all(Array.from({ length: WAVE }, () => queue.run((list) => list.length, VALUE)));
      afterTasks(queue);
      while (queue.stats().workers.live > 0) await once(queue, 'workerExit');
      return queue.stats().workers.started - before;
    },
    stop: () => queue.stop(),
  };
}

/** Each wave ends some threads, waits until they are gone, and says how many they were. */
const KINDS = {
  'maxJobs 1': () => queueOf({ maxJobs: 1 }, () => {}),
  'recycle()': () => queueOf({}, (queue) => queue.recycle()),
  bare: () => {
    const program =
      "const { parentPort } = require('node:worker_threads'); parentPort.on('message', (list) => { parentPort.postMessage(list.length); process.exit(0); });";
    const one = async () => {
      const worker = new Worker(program, { eval: true });
      const gone = once(worker, 'exit');
      worker.postMessage(VALUE);
      await gone;
    };
    return {
      wave: async () => {
        await Promise.all(Array.from({ length: WAVE }, one));
        return WAVE;
      },
      stop: async () => {},
    };
  },
};

/** The least of several looks: what can be collected, is. */
async function rss() {
  let least = Number.POSITIVE_INFINITY;
  for (let k = 0; k < 5; k++) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
    least = Math.min(least, process.memoryUsage.rss());
  }
  return least;
}

export default async function run({ kind, count }, checks) {
  const { wave, stop } = KINDS[kind]();
  const at = [];
  const hold = setInterval(() => {}, 60_000); // an idle queue does not keep the process alive
  for (let ended = 0; at.length < 10; ) {
    ended += await wave();
    if (ended >= ((at.length + 1) * count) / 10) at.push(await rss());
  }
  await stop();
  clearInterval(hold);
  const ratio = at[9] / at[4];
  checks.note(`${kind}: RSS after each tenth of ${count} threads: ${at.map((bytes) => (bytes / MIB).toFixed(1)).join(', ')} MiB`);
  if (kind !== 'bare')
    checks.that(
      `${kind}: RSS after ${count} recycles is at most ${ALLOWED} times that after ${count / 2}`,
      ratio <= ALLOWED,
      `${ratio.toFixed(3)} times`,
    );
  else checks.note(`bare Workers, for comparison: ${ratio.toFixed(3)} times`);
}
