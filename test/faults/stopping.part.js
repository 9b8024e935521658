/** Queues that are stopped in the midst of their faults, with little time or none: everything settles, nothing starts afterwards. */
import { audit, faultsStruck } from './audit.js';
import { at, STARTED } from './ledger.js';
import { countsFor, planOf } from './plan.js';
import { PROFILES } from './profiles.js';
import { seeded } from './random.js';
import { oneQueueBefore, withinTime } from './storm.part.js';
import { Storm } from './storm.js';
import { difference, filesLeftOpen, takeBaseline } from './surroundings.js';

/** P5 promises 250 ms and 2 ms a worker beyond the time given; a loaded machine may take this much longer to run our timers. */
const PATIENCE_MS = 2_000;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export default async function run({ seed, faults, weights }, checks) {
  const profile = PROFILES.stopping;
  await oneQueueBefore();
  takeBaseline();
  const random = seeded(seed);
  const rounds = Math.max(4, Math.round((profile.rounds * faults) / 1_000));
  const counts = countsFor(faults, profile.weight, weights);
  delete counts.terminate;
  const kinds = random.shuffle(Object.entries(counts).flatMap(([kind, count]) => Array(count).fill(kind)));
  const perRound = Math.ceil(kinds.length / rounds);
  const struck = {};
  const all = new Map();
  const late = [];
  let worst = 0;
  let after = 0;
  let tasks = 0;
  let cut = 0;
  let stuck = 0;
  for (let round = 0; round < rounds; round++) {
    const its = {};
    for (const kind of [...kinds.splice(0, perRound), ...Array(random.int(0, 3)).fill('terminate')]) its[kind] = (its[kind] ?? 0) + 1;
    const graceMs = random.pick([0, 5, 100]);
    const plan = planOf(profile, random.int(0, 2 ** 31), its);
    const storm = new Storm({ ...profile, queue: { ...profile.queue, graceMs, tasksPerWorker: random.pick([1, 1, 4]) } }, plan);
    const timeoutMs = random.pick([0, 0, 1, 20, 200]);
    const sooner = random.int(0, 3) === 0; // before any thread is there, perhaps
    const stopAt = random.int(0, sooner ? 60 : 400);
    const playing = storm.play();
    if (!sooner) for (const until = performance.now() + 5_000; !storm.begun && performance.now() < until; ) await sleep(1);
    await Promise.race([playing, sleep(stopAt)]);
    storm.stopping = true;
    const from = performance.now();
    const report = await withinTime(storm.queue.stop({ timeoutMs }), `stop of round ${round}`);
    const over = performance.now() - from - timeoutMs - 250 - 2 * profile.queue.concurrency;
    worst = Math.max(worst, over);
    if (over > PATIENCE_MS) late.push(`round ${round}: ${Math.round(over)} ms`);
    const starts = storm.ledger.slice();
    await withinTime(playing, `the rest of round ${round}`);
    await storm.calm();
    storm.end();
    const one = new checks.constructor();
    audit(storm, one, true, report);
    stuck += report.stuck.length;
    one.that('no thread is live', storm.queue.stats().workers.live === 0);
    for (let index = 0; index < plan.tasks.length; index++) if (storm.ledger[at(index, STARTED)] !== starts[at(index, STARTED)]) after++;
    for (const { name, ok, detail } of one.list) {
      if (!all.has(name)) all.set(name, []);
      if (!ok) all.get(name).push(`round ${round} (stopped ${stopAt} ms after its first task with ${timeoutMs}): ${detail}`);
    }
    for (const [kind, count] of Object.entries(faultsStruck(storm))) struck[kind] = (struck[kind] ?? 0) + count;
    tasks += storm.admitted;
    cut += report.cut;
  }
  for (const [name, wrong] of all) checks.none(name, wrong, rounds);
  checks.none('no task has started after stop', after);
  checks.none('stop returns in time', late, rounds);
  checks.note(
    `${rounds} queues stopped, ${tasks} tasks admitted, ${cut} cut, ${stuck} threads not ended in that time (named in the report); beyond the time promised at worst: ${Math.max(0, Math.round(worst))} ms`,
  );
  const left = await difference();
  checks.that('threads, handles, listeners and descriptors are back at baseline', left === '', left);
  if (filesLeftOpen() > 0) checks.note(`Node left ${filesLeftOpen()} module files open, of threads terminated while they loaded them`);
  return struck;
}
