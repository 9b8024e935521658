/**
 * The fault storm's command: faults at random moments, and the ledger afterwards. Runs in a process of its own, each part in
 * another, so that what one leaves behind or breaks is its own.
 *
 *   node test/faults/run.js                        1,450 faults, 1,000 terminations, 3,000 dooms, 1,000 recycles
 *   … --seed 7                                     the same plan of faults again; the seed is printed first
 *   … --faults 300                                 fewer, or more
 *   … --minutes 60                                 storms with one seed after another for so long
 *   … --full                                       3,000 terminations, 9,000 dooms, and recycling by recycle() too
 *   … storm:plain dooms                            some parts only
 *
 * Needs a build. Ends with `N passed, N failed`; each invariant of each part is one.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { LEAST, SUMS, SHARES } from './plan.js';
import { PROFILES } from './profiles.js';

const CLOSING = (passed, failed) => console.log(`${passed} passed, ${failed} failed`);
if (!existsSync(new URL('../../dist/index.js', import.meta.url))) {
  console.log('The package is not built: run npm run build first.');
  CLOSING(0, 1);
  process.exit(1);
}

/** Planned; some are forestalled by others and do not strike. At least 1,000 must. */
const FAULTS = 1_450;

const text = { type: 'string' };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: text, faults: text, minutes: text, full: { type: 'boolean' } },
});
const number = (name, otherwise) => {
  const value = values[name] === undefined ? otherwise : Number(values[name]);
  if (Number.isFinite(value) && value >= 0) return value;
  console.log(`Expected --${name} to be a number from 0, got ${values[name]}.`);
  CLOSING(0, 1);
  process.exit(1);
};
const firstSeed = number('seed', Date.now() % 1_000_000_000);
const faults = number('faults', FAULTS);
const minutes = number('minutes', 0);
const terminations = values.full ? 3_000 : 1_000;

/** A part over this is ended, and has failed. */
const PART_LIMIT_MS = 15 * 60_000;

/** What is stopped in the midst of its faults comes on top: most of those never strike. */
const weights = Object.values(PROFILES).reduce((sum, { weight, rounds }) => sum + (rounds === undefined ? weight : 0), 0);
/** Children at a time. More: threads start so slowly that tasks run into limits before they begin. */
const LANES = 2;
const recycles = (kind) => ({ part: 'recycles', options: { kind, count: 1_000 }, flags: ['--expose-gc'] });
/** The longest first: what runs beside the last ones is then short. */
const partsOf = (seed) => ({
  'recycles:maxJobs': recycles('maxJobs 1'),
  ...(values.full ? { 'recycles:recycle()': recycles('recycle()') } : {}),
  ...Object.fromEntries(
    Object.entries(PROFILES).map(([profile, { rounds }], k) => [
      `storm:${profile}`,
      { part: rounds === undefined ? 'storm' : 'stopping', options: { profile, seed: (seed * 16 + k) | 0, faults, weights } },
    ]),
  ),
  terminations: { part: 'terminations', options: { seed, count: Math.ceil(terminations / 2), small: false } },
  'terminations:small rings': { part: 'terminations', options: { seed: seed + 1, count: Math.floor(terminations / 2), small: true } },
  'recycles:bare': recycles('bare'),
  dooms: { part: 'dooms', options: { seed, count: values.full ? 9_000 : 3_000 } },
});
const names = Object.keys(partsOf(0));
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.log(`There is no part ${unknown.join(', ')}. Parts: ${names.join(', ')}.`);
  CLOSING(0, 1);
  process.exit(1);
}

const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const child of running) child.kill('SIGKILL');
    process.exit(130);
  });
}

/** One part in a child process: its report, with what the process itself did wrong as one more check. */
function run({ part, options, flags = [] }) {
  return new Promise((resolve) => {
    const file = fileURLToPath(new URL('./parts.js', import.meta.url));
    const child = spawn(process.execPath, [...flags, file, part, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    let report = { checks: [], notes: [], faults: {}, seconds: 0 };
    let reportedAt = 0;
    let said = '';
    let late = false;
    const limit = setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
    }, PART_LIMIT_MS);
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.startsWith('@report ')) return report.notes.push(line);
      report = JSON.parse(line.slice(8));
      reportedAt = performance.now();
    });
    child.stderr.setEncoding('utf8').on('data', (some) => {
      said = (said + some).slice(-4_000);
    });
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      running.delete(child);
      const lingered = reportedAt === 0 ? 0 : performance.now() - reportedAt;
      const how = late ? `ended after ${PART_LIMIT_MS / 60_000} minutes` : (signal ?? `exit status ${code}`);
      const well = reportedAt > 0 && !late && signal === null && (code === 0 || report.checks.some(({ ok }) => !ok)) && lingered < 10_000;
      report.checks.push({
        name: 'its process ended by itself, and in good order',
        ok: well,
        detail: `${how}, ${Math.round(lingered)} ms after its report`,
      });
      report.checks.push({ name: 'it said nothing on stderr', ok: said === '', detail: said });
      resolve(report);
    });
  });
}

let [passed, failed] = [0, 0];
const struck = {};
const from = performance.now();
const judge = ({ name, ok, detail }) => {
  if (ok) passed++;
  else failed++;
  if (!ok) console.log(`  FAILED ${name}: ${detail}`);
};

function tell(name, seed, report) {
  const wrong = report.checks.filter(({ ok }) => !ok).length;
  console.log(`${name} (seed ${seed}): ${report.checks.length - wrong} of ${report.checks.length} hold, ${report.seconds.toFixed(1)} s`);
  for (const note of report.notes) console.log(`  ${note}`);
  for (const check of report.checks) judge(check);
  for (const [kind, count] of Object.entries(report.faults)) struck[kind] = (struck[kind] ?? 0) + count;
}

console.log(
  `seed ${firstSeed} (the same plan again: node test/faults/run.js --seed ${firstSeed}${faults === FAULTS ? '' : ` --faults ${faults}`}${values.full ? ' --full' : ''})`,
);
if (!values.full) console.log('1,000 terminations; 3,000 with --full');
let rounds = 0;
for (let seed = firstSeed; rounds === 0 || performance.now() - from < minutes * 60_000; seed++, rounds++) {
  const queue = Object.entries(partsOf(seed)).filter(
    ([name, { part }]) => (positionals.length === 0 || positionals.includes(name)) && (rounds === 0 || part !== 'recycles'),
  );
  const lane = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) tell(next[0], seed, await run(next[1]));
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

console.log('\nFaults that struck:');
for (const [kind, count] of Object.entries(struck)) console.log(`  ${String(count).padStart(6)}  ${kind}`);
if (positionals.length === 0 && faults >= FAULTS) {
  const sums = Object.entries(SUMS).map(([kind, kinds]) => [kind, kinds.reduce((sum, each) => sum + (struck[each] ?? 0), 0)]);
  const parts = Object.values(SUMS).flat();
  for (const [kind, count] of [
    ...Object.keys(SHARES)
      .filter((kind) => !parts.includes(kind))
      .map((kind) => [kind, struck[kind] ?? 0]),
    ...sums,
  ]) {
    judge({ name: `at least ${LEAST} of: ${kind}`, ok: count >= LEAST, detail: String(count) });
  }
  const all = Object.values(struck).reduce((a, b) => a + b, 0) - (struck.terminate ?? 0);
  judge({ name: 'at least 1,000 faults beside the terminations', ok: all >= 1_000, detail: String(all) });
}
console.log(`\n${((performance.now() - from) / 1_000).toFixed(0)} s`);
CLOSING(passed, failed);
process.exitCode = failed > 0 ? 1 : 0;
