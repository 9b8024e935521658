/** A storm over one queue, to its calm; then the queue must be as good as new, and stop. */
import { audit, faultsStruck, reasons } from './audit.js';
import { handler, TaskQueue } from 'railhead';
import { countsFor, planOf } from './plan.js';
import { PROFILES } from './profiles.js';
import { Storm } from './storm.js';
import { difference, filesLeftOpen, takeBaseline } from './surroundings.js';
import { ledgerFor } from './ledger.js';

const echo = handler(new URL('./handlers.js', import.meta.url), 'echo');
const TIME_MS = 60_000;

export default async function run({ profile: name, seed, faults, weights }, checks) {
  const profile = PROFILES[name];
  await oneQueueBefore();
  takeBaseline();
  const plan = planOf(profile, seed, countsFor(faults, profile.weight, weights));
  const { concurrency } = profile.queue;
  const last = plan.tasks.length;
  const late = (does, rest = []) => ({
    index: plan.tasks.length,
    does,
    rest,
    options: { timeoutMs: 0 },
    fates: ['answer'],
    retry: 0,
    sync: true,
    verb: undefined,
  });
  for (let k = 0; k < concurrency; k++) plan.tasks.push(late('meet', [concurrency, last + concurrency]));
  plan.tasks.push(late('meeting place'));
  for (let k = 0; k < 100; k++) plan.tasks.push(late('echo'));
  const storm = new Storm(profile, plan);
  await storm.play();
  await storm.calm();
  await withinTime(storm.admitAll(plan.tasks.slice(last, last + concurrency), true), 'as many tasks at once as there may be workers');
  checks.that('as many tasks as ever run at once', true);
  await withinTime(storm.admitAll(plan.tasks.slice(last + concurrency + 1), false), 'the tasks after the storm');
  const report = await withinTime(storm.queue.stop(), 'stop');
  storm.end();
  audit(storm, checks, false, report);
  const { workers } = storm.queue.stats();
  checks.that(
    'all threads have ended',
    workers.live === 0 && workers.condemned === 0 && report.stuck.length === 0,
    JSON.stringify({ workers, stuck: report.stuck }),
  );
  const left = await difference();
  checks.that('threads, handles, listeners and descriptors are back at baseline', left === '', left);
  checks.note(
    `${storm.admitted} tasks admitted, ${storm.refused} refused, ${storm.starts} threads started; at most ${storm.most.live} live, ${storm.most.condemned} condemned, ${storm.most.threads} in all`,
  );
  checks.note(`rejections: ${JSON.stringify(reasons(storm))}`);
  if (filesLeftOpen() > 0) checks.note(`Node left ${filesLeftOpen()} module files open, of threads terminated while they loaded them`);
  return faultsStruck(storm);
}

/** What Node makes once and keeps. */
export async function oneQueueBefore() {
  const queue = new TaskQueue({ concurrency: 1, workerData: { ledger: ledgerFor(1) } });
  await queue.run(echo, 0);
  await queue.stop();
}

export async function withinTime(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${TIME_MS} ms in vain for ${what}`)), TIME_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
