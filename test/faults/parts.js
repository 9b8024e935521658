/**
 * Runs one part of the command in this process, a child of run.js: `node parts.js <part> <options as JSON>`. Its last line is a
 * report for run.js, and it must end by itself: a handle left behind keeps it alive, and is found that way.
 */
import { writeSync } from 'node:fs';
import { Checks } from './checks.js';
import { purposes, surprises } from './surroundings.js';

const [, , part, json] = process.argv;
const options = JSON.parse(json);
const checks = new Checks();
const from = performance.now();
let faults = {};
try {
  const { default: run } = await import(`./${part}.part.js`);
  faults = (await run(options, checks)) ?? {};
} catch (error) {
  checks.that('it came to its end', false, String(error?.stack ?? error));
}
checks.that(
  'what onError throws is an uncaught exception, each once',
  purposes.thrown === purposes.seen,
  `thrown ${purposes.thrown}, seen ${purposes.seen}`,
);
checks.none('no uncaught error at the end', surprises);
const report = { checks: checks.list, notes: checks.notes, faults, seconds: (performance.now() - from) / 1000 };
writeSync(1, `@report ${JSON.stringify(report)}\n`);
if (checks.list.some(({ ok }) => !ok)) setTimeout(() => process.exit(1), 2_000).unref(); // what failed may have left anything behind
