/** A schedule in words: one line for each operation, and the two places of a race. */
import { WORDS } from './choice.js';
import * as ops from './ops.js';
import { siteAt } from './sites.js';

/** @param {import('./litmus.js').Litmus} litmus @param {import('./machine.js').Machine} machine */
export function trace(litmus, machine) {
  const width = Math.max(...machine.names.map((name) => name.length));
  const word = (i) => (litmus.describe ? direct(litmus, machine, i) : undefined) ?? `[${i}]`;
  const place = (step) => siteAt(step.site);
  const line = (step, number) => {
    const who = machine.names[step.thread].padEnd(width);
    if (step.kind !== 0) return `     ${who}  ** ${WORDS[step.kind]}`;
    return `${String(number).padStart(4)} ${who}  ${what(step, word).padEnd(44)} ${place(step)}`;
  };
  const race = ({ word: id, thread, clock, other, otherClock }, steps) => {
    const of = (t, c) => steps.find((step) => step.thread === t && step.clock === c);
    const say = (t, c) => {
      const step = of(t, c);
      return step ? `  ${machine.names[t]}: ${what(step, word)}  ${place(step)}` : `  ${machine.names[t]}: its operation ${c}`;
    };
    return `race on ${word(machine.words.where(id).i)}: no edge orders\n${say(other, otherClock)}\n${say(thread, clock)}`;
  };
  return { line, race };
}

function direct(litmus, machine, i) {
  return litmus.describe(i, machine.state);
}

/** The operation with its word and values. */
function what(step, word) {
  const name = ops.NAMES[step.op];
  switch (step.op) {
    case ops.LOAD:
    case ops.PEEK:
    case ops.GLANCE:
      return `${name} ${word(step.i)} = ${step.value}`;
    case ops.STORE:
    case ops.POKE:
      return `${name} ${word(step.i)} = ${step.a} (was ${step.old})`;
    case ops.CAS:
      return `${name} ${word(step.i)} ${step.a} -> ${step.b}: ${step.value === (step.a | 0) ? 'won' : `lost, it is ${step.value}`}`;
    case ops.NOTIFY:
      return `${name} ${word(step.i)}: woke ${step.value}`;
    case ops.WAIT:
    case ops.WAIT_ASYNC:
      return `${name} ${word(step.i)} while ${step.a}: ${waiting(step)}`;
    case ops.AWAIT:
      return `${name}: ${step.value ?? 'blocks'}`;
    case ops.RESUME:
      return `${name}: ${step.value}`;
    case ops.TERMINATE:
      return `${name} another thread`;
    default:
      return `${name} ${word(step.i)} ${step.a}: ${step.old} -> ${step.after}`;
  }
}

function waiting(step) {
  if (step.value === undefined) return 'blocks';
  if (typeof step.value === 'string') return step.value;
  return step.value.async ? 'waits' : step.value.value;
}
