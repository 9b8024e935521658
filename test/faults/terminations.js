/**
 * Terminations at random instants, while workers run tiny tasks with payloads in blocks at full rate, so that about half strike in
 * library code: nothing is lost, nothing repeated. Main thread of a child process.
 *
 * Where each one struck is read off the guard word, after the thread's `exit` and before the queue repairs its slot. For that this
 * file puts its own `Worker` in place of Node's before the package is loaded; the package itself is as it always is.
 */
import { syncBuiltinESMExports } from 'node:module';
import workerThreads from 'node:worker_threads';
import { at, ledgerFor, STARTED, threadRow } from './ledger.js';
import { seeded } from './random.js';

/** By Worker: the region and its slot. */
const places = new WeakMap();
workerThreads.Worker = class extends workerThreads.Worker {
  constructor(url, options) {
    super(url, options);
    const { buffer, settings } = options.workerData ?? {};
    if (settings !== undefined) places.set(this, { buffer, slot: settings.slot });
  }
};
syncBuiltinESMExports();
const { handler, TaskQueue } = await import('railhead');
const { slotAt, SLOT_GUARD } = await import('#memory');
const { LIBRARY } = await import('#pool');
const { INTERNALS } = await import('#queue');

const WORKERS = 4;
const FULL = 1_500;
const tiny = handler(new URL('./handlers.js', import.meta.url), 'tiny');
const turn = () => new Promise((resolve) => setImmediate(resolve));
const SILENCE_MS = 60_000;

/** Strings of 60 to 2,000 bytes: all in blocks. */
const bodies = Array.from({ length: 64 }, (_, k) => 'railhead '.repeat(7 + k * 3));

export async function terminations({ seed, count, internals }, checks) {
  const random = seeded(seed);
  const ledger = ledgerFor(4_000_000);
  const settled = new Uint8Array(4_000_000);
  const struck = { library: 0, outside: 0 };
  const threads = new Set();
  const perWorker = new Map();
  const wrong = [];
  let [index, open, done, died, neverBegan, terminations, ready] = [0, 0, 0, 0, 0, 0, 0];
  const onThread = (worker) => {
    worker.prependListener('exit', () => {
      threads.delete(worker);
      if (!worker.struck) return;
      const { buffer, slot } = places.get(worker);
      struck[new Int32Array(buffer, 0, slotAt(slot) + SLOT_GUARD + 1)[slotAt(slot) + SLOT_GUARD] === LIBRARY ? 'library' : 'outside']++;
    });
  };
  process.on('worker', onThread);
  const queue = new TaskQueue({
    concurrency: WORKERS,
    parallelism: WORKERS,
    workerData: { ledger },
    ...(internals === undefined ? {} : { [INTERNALS]: internals }),
  });
  const order = [];
  process.on('worker', (worker) => order.push(worker));
  queue.on('workerStart', ({ workerId }) => {
    ready++;
    const worker = order[workerId - 1];
    worker.its = worker.threadId; // -1 once it has ended
    if (random.int(0, 5) === 0) worker.strikeAt = 0; // while it still loads its handler, perhaps
    threads.add(worker);
  });
  const fill = () => {
    for (; open < FULL; index++) {
      const mine = index;
      const body = bodies[(mine * 7) % bodies.length];
      open++;
      queue.run(tiny, [mine, body]).then(
        (result) => {
          open--;
          done++;
          settled[mine]++;
          if (result[0] !== mine || result[1] !== body) wrong.push(`#${mine} got the result of #${result[0]}`);
          if (Atomics.load(ledger, at(mine, STARTED)) !== 1)
            wrong.push(`#${mine} has a result and ran ${Atomics.load(ledger, at(mine, STARTED))} times`);
        },
        (error) => {
          open--;
          died++;
          settled[mine]++;
          const times = Atomics.load(ledger, at(mine, STARTED));
          if (error.code !== 'E_WORKER_DIED' || error.reason !== 'terminated')
            wrong.push(`#${mine} ran ${times} times: ${error.code} ${error.reason} ${error.message}`);
          if (times === 0) neverBegan++;
          if (times > 1) wrong.push(`#${mine} ran ${times} times and died`);
          const worker = /^Worker (\d+)/.exec(error.message)?.[1];
          perWorker.set(worker, (perWorker.get(worker) ?? 0) + 1);
        },
      );
    }
  };
  const grown = [];
  let silence = performance.now();
  while (terminations < count) {
    fill();
    await turn();
    const now = performance.now();
    for (const worker of threads) {
      if (worker.strikeAt === undefined && Atomics.load(ledger, at(threadRow(ledger, worker.its), STARTED)) === 1)
        worker.strikeAt = now + random.int(0, 15);
    }
    const victim = [...threads].find((worker) => !worker.struck && worker.strikeAt <= now);
    if (victim !== undefined) {
      // To the microsecond: the main thread is busy until then, while the workers go on.
      for (const until = performance.now() + random.next() * 0.5; performance.now() < until; );
      victim.struck = true;
      terminations++;
      void victim.terminate();
      silence = performance.now();
      if (terminations % Math.ceil(count / 4) === 0) grown.push(places.get(victim).buffer.byteLength);
    } else if (performance.now() - silence > SILENCE_MS)
      throw new Error(
        `No worker became ready for ${SILENCE_MS} ms, after ${terminations} terminations: ${JSON.stringify(queue.stats())}; wrong so far: ${wrong.length}, ${wrong.slice(-3).join(' | ')}`,
      );
  }
  const last = performance.now();
  while (open > 0 && performance.now() - last < SILENCE_MS) await turn();
  const { completed, failed, pending } = queue.stats();
  await queue.stop();
  process.removeAllListeners('worker');
  let [lost, twice, repeated] = [0, 0, 0];
  for (let k = 0; k < index; k++) {
    if (settled[k] === 0) lost++;
    if (settled[k] > 1) twice++;
    if (ledger[at(k, STARTED)] > 1) repeated++;
  }
  checks.that(`${count} terminations have struck`, terminations >= count, terminations);
  checks.that('at least a quarter of them in library code', struck.library * 4 >= terminations, `${struck.library} of ${terminations}`);
  checks.none('no task is lost', lost, index);
  checks.none('no task has settled twice', twice, index);
  checks.none('no task has run twice', repeated, index);
  checks.none('no result is wrong, and nothing failed but by a termination', wrong, index);
  checks.that(
    'a termination fails one task at most',
    died <= terminations && Math.max(0, ...perWorker.values()) <= 1,
    `${died} failed, ${terminations} terminations`,
  );
  checks.that('counts add up', completed === done && failed === died && pending === 0 && done + died === index, {
    completed,
    done,
    failed,
    died,
    pending,
    index,
  });
  checks.note(
    `${terminations} terminations, ${struck.library} in library code, ${struck.outside} in handlers, event loop or boot; ${index} tasks, ${died} failed, ${neverBegan} of them had been claimed and had not reached their handler; ${ready} threads`,
  );
  checks.note(`shared memory after each quarter: ${grown.map((bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`).join(', ')}`);
  return { terminate: terminations };
}
