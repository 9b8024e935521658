/**
 * Dooms aimed at one task never strike the next: tasks whose run times lie about their limit, side by side with tasks without any,
 * on queues whose grace is 0 or 1 ms, so that threads are chosen to be ended at the very moment when a task ends. Main thread of a
 * child process.
 */
import { handler, TaskQueue } from 'railhead';
import { INTERNALS } from '#queue';
import { at, ENDED, ledgerFor, STARTED } from './ledger.js';
import { seeded } from './random.js';
import { oneQueueBefore, withinTime } from './storm.part.js';
import { difference, takeBaseline } from './surroundings.js';
import { answerOf } from './values.js';

const url = new URL('./handlers.js', import.meta.url);
const LIMIT_MS = 6;

export default async function run({ seed, count }, checks) {
  await oneQueueBefore();
  takeBaseline();
  for (const [graceMs, tasksPerWorker] of [
    [0, 1],
    [1, 1],
    [1, 4],
  ]) {
    await doom(seeded(seed + graceMs + tasksPerWorker), { graceMs, tasksPerWorker, count: Math.ceil(count / 3) }, checks);
  }
  const left = await difference();
  checks.that('threads, handles, listeners and descriptors are back at baseline', left === '', left);
}

async function doom(random, { graceMs, tasksPerWorker, count }, checks) {
  const label = `graceMs ${graceMs}, tasksPerWorker ${tasksPerWorker}: `;
  const ledger = ledgerFor(count);
  const queue = new TaskQueue({
    concurrency: 3,
    parallelism: 3,
    graceMs,
    tasksPerWorker,
    workerData: { ledger },
    ...{ [INTERNALS]: { ringCapacity: 2, rotation: 64, firstSequence: 2 ** 31 - 8 } },
  });
  const fates = {};
  const wrong = [];
  let open = 0;
  const settle = (index, fate, allowed) => {
    open--;
    fates[fate] = (fates[fate] ?? 0) + 1;
    if (!allowed.includes(fate)) wrong.push(`#${index} ${fate}, started ${ledger[at(index, STARTED)]}, ended ${ledger[at(index, ENDED)]}`);
  };
  const handlers = { last: handler(url, 'last'), lastAsync: handler(url, 'lastAsync') };
  // Those that co-run with one that must be ended are named so; with one task a worker there are none.
  const struck = tasksPerWorker > 1 ? ['E_WORKER_TERMINATED'] : [];
  for (let index = 0; index < count; index++) {
    const kind = random.int(0, 5); // limited | aborted | neighbours
    const its = random.int(0, 2) === 0 ? handlers.lastAsync : handlers.last;
    const ms = kind < 3 ? LIMIT_MS - 2 + random.next() * 5 : random.next() < 0.2 ? random.next() * 2 : 0;
    const options = {};
    let controller;
    if (kind < 2) options.timeoutMs = LIMIT_MS;
    if (kind === 2) {
      controller = new AbortController();
      options.signal = controller.signal;
      setTimeout(() => controller.abort(), random.int(0, 2 * LIMIT_MS));
    }
    const allowed = ['answer', ...struck, ...(kind < 2 ? ['E_TASK_TIMEOUT'] : []), ...(kind === 2 ? ['ABORT_ERR'] : [])];
    open++;
    queue.run(its, [index, ms], options).then(
      (result) => settle(index, result === answerOf(index) ? 'answer' : 'WRONG', allowed),
      (error) => settle(index, `${error.code}${error.reason ? ` ${error.reason}` : ''}`, allowed),
    );
    while (open > 24) await new Promise((resolve) => setImmediate(resolve));
  }
  await withinTime(queue.idle(), `${label}idle`);
  await new Promise((resolve) => setImmediate(resolve));
  const { started } = queue.stats().workers;
  await withinTime(queue.stop(), `${label}stop`);
  let repeated = 0;
  for (let k = 0; k < count; k++) if (ledger[at(k, STARTED)] > 1) repeated++;
  checks.none(`${label}each task ends as it may, and no doom strikes another`, wrong, count);
  checks.none(`${label}none has run twice`, repeated, count);
  checks.that(`${label}all have settled`, open === 0, open);
  checks.note(`${label}${count} tasks, ${JSON.stringify(fates)}; ${started - 3} threads ended because of them`);
}
