/** Runs what a protocol's file declares: its litmus tests, its planted faults, or one schedule. Prints as it goes; returns counts. */
import { check } from './check.js';
import { decode } from './choice.js';
import { load } from './link.js';
import { BADLY_PLANTED, CAUGHT, NOTHING, proofOf, sortOf } from './proof.js';
import { failureText, printReplay, summary, titleOf } from './report.js';

/** @typedef {{ name: string, file: string }} Protocol */
/** @typedef {{ bound?: number, pct?: number, depth?: number, seed?: number, seconds: number, points?: 'all' | 'sync' }} Options */

/** @param {Protocol} protocol @param {Options} options @param {(line: string) => void} print */
export async function runLitmuses(protocol, options, print) {
  const { litmuses } = await load(protocol.file);
  const runs = litmuses.flatMap(runsOf);
  const deadline = performance.now() + options.seconds * 1000;
  let failed = 0;
  for (const [k, { litmus, sequence, at }] of runs.entries()) {
    const limitMs = (deadline - performance.now()) / (runs.length - k); // what the others left is shared out again
    const checked = check(litmus, sequence, { ...options, limitMs });
    print(summary(litmus, sequence, checked, options));
    if (checked.failure === null) continue;
    failed++;
    print(failureText(checked.failure, commandFor(protocol, options), at));
  }
  return { passed: runs.length - failed, failed };
}

/**
 * Each planted fault must make a litmus test of the protocol fail, and in a way that proves something.
 * @param {Protocol} protocol @param {Options} options @param {(line: string) => void} print
 */
export async function runFaults(protocol, options, print) {
  const { mutants } = await load(protocol.file);
  let failed = 0;
  for (const mutant of mutants) {
    const { name } = mutant;
    let litmuses;
    try {
      ({ litmuses } = await load(protocol.file, mutant));
    } catch (error) {
      failed++;
      print(`BADLY PLANTED: ${name}: it cannot be loaded\n       ${error}`);
      continue;
    }
    const meant = litmuses.flatMap(runsOf).filter(({ litmus }) => mutant.by === undefined || litmus.name === mutant.by);
    if (meant.length === 0) throw new Error(`The fault '${name}' is meant for a litmus that does not exist: ${mutant.by}`);
    const { proof, found, schedules } = catches(meant, mutant.expects, options);
    const how = found === null ? '' : ` by ${titleOf(found.litmus, found.sequence)}`;
    const after = `${schedules.toLocaleString('en-US')} schedules`;
    if (proof === CAUGHT) print(`caught: ${name}${how} after ${after}`);
    else if (proof === BADLY_PLANTED) print(`BADLY PLANTED: ${name}${how}: an error proves nothing`);
    else print(`NOT CAUGHT: ${name}, in ${after}`);
    if (found !== null) print(failureText(found.checked.failure, `${commandFor(protocol, options)} --fault '${name}'`, found.at));
    if (proof !== CAUGHT) failed++;
  }
  return { passed: mutants.length - failed, failed, sorts: mutants.map(sortOf) };
}

/** The first litmus test that fails for a wrong result, or by an error; only then one that misses an outcome. */
function catches(runs, expects, options) {
  const deadline = performance.now() + options.seconds * 1000;
  let schedules = 0;
  let unseen = null;
  for (const [k, run] of runs.entries()) {
    const checked = check(run.litmus, run.sequence, { ...options, limitMs: (deadline - performance.now()) / (runs.length - k) });
    schedules += checked.schedules + checked.cut;
    if (checked.failure === null) continue;
    const found = { ...run, checked };
    if (checked.failure.kind !== 'unseen') return { proof: proofOf(checked.failure, expects), found, schedules };
    unseen ??= found;
  }
  return { proof: unseen === null ? NOTHING : proofOf(unseen.checked.failure, expects), found: unseen, schedules };
}

/** @param {Protocol} protocol @param {string} text litmus, start sequence and schedule, as a failure prints them */
export async function runReplay(protocol, text, fault, options, print) {
  const loaded = await load(protocol.file);
  const mutant = fault === undefined ? undefined : loaded.mutants.find(({ name }) => name === fault);
  if (fault !== undefined && mutant === undefined) throw new Error(`${protocol.name} plants no fault '${fault}'`);
  const { litmuses } = mutant === undefined ? loaded : await load(protocol.file, mutant);
  const [, at, schedule] = /^(\d+\.\d+)\.(.*)$/.exec(text) ?? [null, '1.1', text];
  const run = litmuses.flatMap(runsOf).find((one) => one.at === at);
  if (run === undefined) throw new Error(`${protocol.name} has no litmus ${at}`);
  return printReplay(run.litmus, run.sequence, options, decode(schedule), print);
}

/** A litmus test runs once for each of its start sequences. `at` names the run in a replay. */
function runsOf(litmus, index) {
  const sequences = litmus.sequences.length > 0 ? litmus.sequences : [undefined];
  return sequences.map((sequence, k) => ({ litmus, sequence, at: `${index + 1}.${k + 1}` }));
}

function commandFor(protocol, options) {
  return `npm run test:model -- ${protocol.name}${options.points ? ` --points ${options.points}` : ''}`;
}
