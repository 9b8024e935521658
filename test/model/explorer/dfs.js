/**
 * Depth-first search: every schedule with at most `bound` preemptions, by running each from the start along a prefix of
 * choices. A switch is free when the thread before it cannot go on.
 *
 * Moments already explored with as many preemptions left are cut (`Seen`): same order of dependent operations, same thread
 * running, so the same future. A moment is never its own ancestor, since an order only gets longer; so when it is met again,
 * everything below it has been searched.
 */
import { EXPIRE, kindOf } from './choice.js';
import { Seen } from './seen.js';

/**
 * @typedef {object} Search
 * @property {number} schedules run to their end @property {number} cut cut short, as seen before
 * @property {boolean} exhausted nothing within the bound is left @property {number[] | null} failed choices of the failure
 */
/**
 * @param {import('./machine.js').Machine} machine
 * @param {{ bound: number, deadline: number, reduce?: boolean, judge: () => boolean, look?: () => void }} options `judge` is told
 * that a schedule has ended and says whether it was right; `look` is told of each new step; `deadline` is of `performance.now`
 * @returns {Search}
 */
export function depthFirst(machine, { bound, deadline, reduce = true, judge, look }) {
  const search = { schedules: 0, cut: 0, exhausted: false, failed: null };
  const seen = reduce ? new Seen() : null;
  const path = []; // choices of the schedule in hand
  const costs = []; // what each of them took of the bound
  /** Moments with something left to try: depth, and the choices from there. @type {{ depth: number, left: number, next: number, choices: number[], costs: number[] }[]} */
  const open = [];
  for (let depth = 0; ; ) {
    machine.begin();
    for (let k = 0; k < depth; k++) {
      if (kindOf(path[k]) === EXPIRE) machine.offer(); // tells a time-out when all are at rest from one out of the blue
      machine.take(path[k]);
    }
    let left = bound;
    for (let k = 0; k < depth; k++) left -= costs[k];
    if (depth > 0) look?.();
    let cut = false;
    for (let count = machine.offer(); count > 0; count = machine.offer()) {
      const choices = [];
      const prices = [];
      for (let k = 0; k < count; k++) {
        const price = machine.preempts(machine.choices[k]) ? 1 : 0;
        if (price > left) continue;
        choices.push(machine.choices[k]);
        prices.push(price);
      }
      if (seen !== null) {
        machine.fingerprint();
        cut = seen.visit(machine.marks.high, machine.marks.low, left);
        if (cut) break;
      }
      if (choices.length > 1) open.push({ depth, left, next: 1, choices, costs: prices });
      path[depth] = choices[0];
      costs[depth++] = prices[0];
      left -= prices[0];
      machine.take(choices[0]);
      look?.();
    }
    if (cut) search.cut++;
    else {
      search.schedules++;
      if (!judge()) {
        search.failed = path.slice(0, depth);
        return search;
      }
    }
    while (open.length > 0 && open[open.length - 1].next === open[open.length - 1].choices.length) open.pop();
    if (open.length === 0) {
      search.exhausted = true;
      return search;
    }
    if ((search.schedules + search.cut) % 64 === 0 && performance.now() > deadline) return search;
    const moment = open[open.length - 1];
    path[moment.depth] = moment.choices[moment.next];
    costs[moment.depth] = moment.costs[moment.next++];
    depth = moment.depth + 1;
  }
}
