/** Runs what a protocol's file declares: its litmus tests, its planted faults, or one schedule. Prints as it goes; returns counts. */
import { check } from './check.js';
import { decode } from './choice.js';
import { load } from './link.js';
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

/** Each planted fault must make a litmus test of the protocol fail. @param {Protocol} protocol @param {Options} options @param {(line: string) => void} print */
export async function runFaults(protocol, options, print) {
  const { mutants } = await load(protocol.file);
  let failed = 0;
  for (const mutant of mutants) {
    const { litmuses } = await load(protocol.file, mutant);
    const meant = litmuses.flatMap(runsOf).filter(({ litmus }) => mutant.by === undefined || litmus.name === mutant.by);
    if (meant.length === 0) throw new Error(`The fault '${mutant.name}' is meant for a litmus that does not exist: ${mutant.by}`);
    const found = catches(meant, options);
    if (found.checked === null) failed++;
    if (found.checked === null) print(`NOT CAUGHT: ${mutant.name}, in ${found.schedules.toLocaleString('en-US')} schedules`);
    else {
      const { litmus, sequence, at, checked } = found;
      print(`caught: ${mutant.name} by ${titleOf(litmus, sequence)} after ${found.schedules.toLocaleString('en-US')} schedules`);
      print(failureText(checked.failure, `${commandFor(protocol, options)} --fault '${mutant.name}'`, at));
    }
  }
  return { passed: mutants.length - failed, failed };
}

/** The first litmus test that fails. One that fails for a wrong result comes before one that only misses an outcome. */
function catches(runs, options) {
  const deadline = performance.now() + options.seconds * 1000;
  let schedules = 0;
  let unseen = null;
  for (const [k, run] of runs.entries()) {
    const checked = check(run.litmus, run.sequence, { ...options, limitMs: (deadline - performance.now()) / (runs.length - k) });
    schedules += checked.schedules + checked.cut;
    if (checked.failure === null) continue;
    const found = { ...run, checked, schedules };
    if (checked.failure.kind !== 'unseen') return found;
    unseen ??= found;
  }
  return unseen ?? { checked: null, schedules };
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
