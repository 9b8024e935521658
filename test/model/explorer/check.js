/** One litmus test at one start sequence: searched, judged by its declared outcomes, and its failure made readable. */
import { encode } from './choice.js';
import { depthFirst } from './dfs.js';
import { direct } from './direct.js';
import { Machine } from './machine.js';
import { byPriorities } from './pct.js';
import { kindOf } from './proof.js';
import { trace } from './trace.js';

/**
 * @typedef {object} Failure
 * @property {'outcome' | 'unseen' | 'race' | 'invariant' | 'assertion' | 'threw' | 'mistake'} kind
 * @property {string} text what went wrong, in full
 * @property {string | null} schedule @property {number} bound preemptions it needed, as searched
 */
/**
 * @typedef {object} Checked
 * @property {number} schedules @property {number} cut @property {boolean} exhausted @property {number} bound
 * @property {number} elapsedMs @property {Map<string, number>} outcomes @property {Failure | null} failure
 */
/**
 * @param {import('./litmus.js').Litmus} litmus @param {number | undefined} sequence
 * @param {{ bound?: number, pct?: number, depth?: number, seed?: number, limitMs?: number, reduce?: boolean, points?: 'all' | 'sync' }} [options]
 * @returns {Checked}
 */
export function check(litmus, sequence, options = {}) {
  const startedAt = performance.now();
  const bound = options.bound ?? litmus.bound ?? 2;
  const deadline = startedAt + (options.limitMs ?? 60_000);
  const machine = new Machine(litmus, sequence, options);
  const outcomes = new Map();
  const judging = judgeOf(litmus, machine, outcomes);
  let search;
  if (options.pct)
    search = byPriorities(machine, { seeds: options.pct, depth: options.depth ?? 3, firstSeed: options.seed, deadline, ...judging });
  else search = depthFirst(machine, { bound, deadline, reduce: options.reduce, ...judging });
  let failure = null;
  if (search.failed !== null) {
    const fewest = options.pct ? null : withFewerPreemptions(litmus, sequence, options, bound);
    failure = explain(litmus, sequence, options, fewest?.failed ?? search.failed, fewest?.bound ?? bound);
  } else if (search.exhausted) {
    const unseen = Object.keys(litmus.outcomes).filter((text) => !outcomes.has(text));
    const text = `declared, but never seen: ${unseen.map(quote).join(', ')}`;
    if (unseen.length > 0) failure = { kind: 'unseen', text, schedule: null, bound };
  }
  const { schedules, cut, exhausted } = search;
  return { schedules, cut, exhausted, bound, elapsedMs: performance.now() - startedAt, outcomes, failure };
}

/** Runs one schedule, and goes on by itself where it ends. @param {number[]} choices @param {(step: object) => void} onStep */
export function replay(litmus, sequence, options, choices, onStep) {
  const machine = new Machine(litmus, sequence, options);
  const { judge, look } = judgeOf(litmus, machine, new Map());
  machine.onStep = onStep;
  machine.begin();
  for (let k = 0, count = machine.offer(); count > 0; k++, count = machine.offer()) {
    const c = k < choices.length ? choices[k] : machine.choices[0];
    if (!machine.choices.subarray(0, count).includes(c)) throw new Error(`The schedule does not fit: choice ${k + 1} is not on offer`);
    machine.take(c);
    look();
  }
  const right = judge();
  return { machine, right };
}

/** How a schedule is judged when it has ended (`judge`), and after each step (`look`). */
function judgeOf(litmus, machine, outcomes) {
  const look = () => {
    if (litmus.invariant === undefined || machine.failure !== null) return;
    try {
      const wrong = direct(litmus.invariant(machine.state), machine.words);
      if (typeof wrong === 'string' || wrong === false) machine.fail('invariant', wrong || 'the invariant does not hold');
    } catch (error) {
      machine.fail(kindOf(error), `invariant threw ${error?.stack ?? error}`);
    }
  };
  const judge = () => {
    if (machine.failure !== null && machine.failure.kind !== 'outcome') return false;
    const text = machine.failure?.text ?? outcomeOf(litmus, machine);
    if (text === null) return false;
    outcomes.set(text, (outcomes.get(text) ?? 0) + 1);
    if (Object.hasOwn(litmus.outcomes, text)) return true;
    machine.failure = { kind: 'outcome', text };
    return false;
  };
  return { judge, look: litmus.invariant === undefined ? () => {} : look };
}

function outcomeOf(litmus, machine) {
  if (machine.stuck().length > 0) return 'deadlock';
  try {
    return String(direct(litmus.outcome(machine.state, machine.results()), machine.words));
  } catch (error) {
    machine.fail(kindOf(error), `outcome threw ${error?.stack ?? error}`);
    return null;
  }
}

/** The same failure, or another one, is easier to read with fewer preemptions. */
function withFewerPreemptions(litmus, sequence, options, bound) {
  for (let fewer = 0; fewer < bound; fewer++) {
    const machine = new Machine(litmus, sequence, options);
    const deadline = performance.now() + 5_000;
    const { failed } = depthFirst(machine, { bound: fewer, deadline, reduce: options.reduce, ...judgeOf(litmus, machine, new Map()) });
    if (failed !== null) return { failed, bound: fewer };
  }
  return null;
}

function explain(litmus, sequence, options, choices, bound) {
  const steps = [];
  const { machine } = replay(litmus, sequence, options, choices, (step) => steps.push(step));
  const { kind, text } = machine.failure;
  const schedule = encode(choices, choices.length);
  if (kind === 'race') return { kind, text: trace(litmus, machine).race(machine.race.found, steps), schedule, bound };
  if (kind !== 'outcome') return { kind, text, schedule, bound };
  const stuck = text === 'deadlock' ? `; blocked: ${machine.stuck().join(', ')}` : '';
  return { kind, text: `undeclared outcome ${quote(text)}${stuck}`, schedule, bound };
}

export const quote = (text) => `'${text}'`;
