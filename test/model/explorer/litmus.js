/**
 * What a protocol's file declares: litmus tests, and planted faults that they must catch. The rewriter loads the file; `run.js`
 * takes what it declared.
 */
import { pending, TERMINATE } from './ops.js';
import { EXPECTED } from './proof.js';

/**
 * @typedef {object} Litmus
 * @property {string} name
 * @property {(sequence?: number) => unknown} setup what the threads share; run once, put back before each schedule
 * @property {Record<string, (state: any) => unknown>} threads at most 26; in the order of the schedule's letters
 * @property {(state: any, results: Record<string, unknown>) => string} outcome names the result, at the end of a schedule
 * @property {Record<string, string>} outcomes every legal result, and why it may be; one never seen fails too
 * @property {((state: any) => unknown) | undefined} invariant after every step: a text (or an error) says what is wrong
 * @property {Faults} faults
 * @property {Record<string, string>} exit thread that starts when another one dies: `{ worker: 'recovery' }`
 * @property {string[]} mayBlock threads that may be blocked at the end: without this, that is a deadlock
 * @property {number[]} sequences start values given to `setup`, each explored in full
 * @property {number | undefined} bound preemptions in a schedule, instead of the runner's
 * @property {'sync' | 'all'} points where threads may be switched: before atomic operations, or before plain ones too
 * @property {((index: number, state: any) => string | undefined) | undefined} describe name of a word, for traces
 * @property {number} spinLimit steps in a row that changed nothing before a thread counts as spinning
 * @property {number} maxSteps operations in a schedule before it is called a livelock
 */
/**
 * @typedef {object} Faults how often in a schedule, or to which threads
 * @property {number} spuriousWake @property {number} timeout @property {number} stolenNotify
 * @property {string[]} stop @property {string[]} die
 */
/**
 * @typedef {object} Mutant
 * @property {string} name @property {string} module @property {[string | RegExp, string]} replace
 * @property {string | undefined} by @property {'unseen' | 'threw' | undefined} expects
 */

// Shared by all copies of this module in the process: a test runner may hold two.
const KEY = Symbol.for('railhead.model.declared');
globalThis[KEY] ??= { litmuses: [], mutants: [] };
/** @type {{ litmuses: Litmus[], mutants: Mutant[] }} */
const declared = globalThis[KEY];

/** Declares a litmus test. @param {string} name @param {Partial<Litmus>} given */
export function litmus(name, given) {
  for (const key of Object.keys(given)) if (!KEYS.includes(key)) throw new Error(`${name}: a litmus has no \`${key}\``);
  for (const key of ['setup', 'threads', 'outcome', 'outcomes'])
    if (given[key] === undefined) throw new Error(`${name}: \`${key}\` is missing`);
  const once = (value) => (value === true ? 1 : (value ?? 0));
  const { spuriousWake, timeout, stolenNotify, stop = [], die = [], ...other } = given.faults ?? {};
  if (Object.keys(other).length > 0) throw new Error(`${name}: no such fault: ${Object.keys(other)}`);
  declared.litmuses.push({
    invariant: undefined,
    bound: undefined,
    describe: undefined,
    exit: {},
    mayBlock: [],
    sequences: [],
    points: 'sync',
    spinLimit: 16,
    maxSteps: 5000,
    ...given,
    name,
    faults: { spuriousWake: once(spuriousWake), timeout: once(timeout), stolenNotify: once(stolenNotify), stop, die },
  });
}
const KEYS = 'setup threads outcome outcomes invariant faults exit mayBlock sequences bound points describe spinLimit maxSteps'.split(' ');

/**
 * Plants a fault: a change of the text of a compiled module (`ring/lane.js`, in `dist`), where the pattern must match exactly
 * once. The file's litmus tests must then fail; with `by`, that one must. `expects`: it shows by an outcome that is never seen, or by
 * an error; without, neither counts (`proof.js`). @param {string} name
 * @param {{ module: string, replace: [string | RegExp, string], by?: string, expects?: 'unseen' | 'threw' }} given
 */
export function mutant(name, { module, replace, by, expects, ...other }) {
  if (Object.keys(other).length > 0) throw new Error(`${name}: a mutant has no \`${Object.keys(other)}\``);
  if (expects !== undefined && !EXPECTED.includes(expects)) throw new Error(`${name}: nothing is caught as \`${expects}\``);
  declared.mutants.push({ name, module, replace, by, expects });
}

/** @thread of the model. Ends another thread, as `worker.terminate()` does: at any of its steps from here on. @param {string} name */
export function terminate(name) {
  pending.op = TERMINATE;
  pending.m = name;
}

/** Everything declared since the last call. */
export function takeDeclared() {
  return { litmuses: declared.litmuses.splice(0), mutants: declared.mutants.splice(0) };
}
