/** What the runner prints: a line or two for each litmus test, and for a failure all that is needed to see it again. */
import { quote, replay } from './check.js';
import { trace } from './trace.js';

const count = (n) => n.toLocaleString('en-US');
export const titleOf = (litmus, sequence) => (sequence === undefined ? litmus.name : `${litmus.name}, from ${count(sequence)}`);

/** @param {import('./check.js').Checked} checked @param {{ pct?: number }} options */
export function summary(litmus, sequence, checked, options) {
  const { schedules, cut, exhausted, bound, elapsedMs, outcomes, failure } = checked;
  const how = options.pct
    ? 'by priorities'
    : exhausted
      ? `bound ${bound} exhausted`
      : failure
        ? `bound ${bound}`
        : `bound ${bound} NOT exhausted`;
  const also = cut > 0 ? ` and ${count(cut)} cut short` : '';
  const lines = [
    `${failure ? 'FAIL' : 'ok  '} ${titleOf(litmus, sequence)}: ${count(schedules)} schedules${also}, ${how}, ${(elapsedMs / 1000).toFixed(1)} s`,
  ];
  for (const [text, n] of outcomes) lines.push(`       ${count(n).padStart(9)}  ${quote(text)}`);
  return lines.join('\n');
}

/** @param {import('./check.js').Failure} failure @param {string} command without the schedule @param {string} at litmus and sequence */
export function failureText(failure, command, at) {
  const text = failure.text.replaceAll('\n', '\n       ');
  if (failure.schedule === null) return `       ${text}`;
  return `       ${text}\n       again: ${command} --replay ${at}.${failure.schedule}`;
}

/** Runs the schedule once more and prints every step. */
export function printReplay(litmus, sequence, options, choices, print) {
  const steps = [];
  const { machine, right } = replay(litmus, sequence, options, choices, (step) => steps.push(step));
  const { line, race } = trace(litmus, machine);
  print(titleOf(litmus, sequence));
  let number = 0;
  for (const step of steps) print(line(step, step.kind === 0 ? ++number : number));
  const { failure } = machine;
  if (right) print('This schedule ends in a declared outcome.');
  else print(failure.kind === 'race' ? race(machine.race.found, steps) : `${failure.kind}: ${failure.text}`);
  print(`results: ${JSON.stringify(machine.results())}`);
  return right;
}
