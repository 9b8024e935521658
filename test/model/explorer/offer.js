/** What can happen next: which threads can go on, and which faults can strike. Filled into the machine's `choices`. */
import * as kinds from './choice.js';
import { isPlain, NOTIFY } from './ops.js';
import { BLOCKED, READY } from './status.js';

/** @param {import('./machine.js').Machine} machine @returns {number} how many choices; 0 when the schedule is over */
export function offer(machine) {
  const { last, n, status } = machine;
  machine.count = 0;
  machine.atRest = false;
  const goesOn = last >= 0 && status[last] === READY;
  if (goesOn && !machine.everyAccess && isPlain(machine.op[last])) {
    // It may die between plain accesses, but nobody else can tell when they were made.
    machine.lastGoesOn = true;
    offerStep(machine, last);
    offerEnd(machine, last);
    return machine.count;
  }
  machine.lastGoesOn = goesOn && !spins(machine, last);
  if (machine.lastGoesOn) offerStep(machine, last);
  for (let t = 0; t < n; t++) if (t !== last && status[t] === READY && !spins(machine, t)) offerStep(machine, t);
  // Only spinners are left: they go on, since a bounded spin ends by itself.
  if (machine.count === 0) for (let t = 0; t < n; t++) if (status[t] === READY) offerStep(machine, t);
  machine.atRest = machine.count === 0;
  for (let t = 0; t < n; t++) {
    if (status[t] === BLOCKED) offerFaults(machine, t);
    offerEnd(machine, t);
  }
  if (machine.atRest && machine.count > 0 && !isCertain(machine)) add(machine, kinds.END, 0);
  return machine.count;
}

function add(machine, kind, t) {
  machine.choices[machine.count++] = kinds.choice(kind, t);
}

function offerStep(machine, t) {
  add(machine, kinds.RUN, t);
  if (machine.left.steal === 0 || machine.op[t] !== NOTIFY) return;
  if (machine.waiters.count(machine.words.of(machine.m[t], machine.i[t])) > 0) add(machine, kinds.STEAL, t);
}

/** Of a blocked thread. */
function offerFaults(machine, t) {
  if (machine.left.wake > 0) add(machine, kinds.WAKE, t);
  if (machine.left.expire > 0 || (machine.atRest && machine.m[t].timed)) add(machine, kinds.EXPIRE, t);
  if (machine.atRest && machine.doomed & (1 << t) & ~machine.recent) add(machine, kinds.DIE, t);
}

/** A thread that did nothing between two moments may as well have died at the first: so only after a change. */
function offerEnd(machine, t) {
  const bit = 1 << t;
  const { status } = machine;
  if (!(machine.recent & bit) || (status[t] !== READY && status[t] !== BLOCKED)) return;
  if ((machine.canDie | machine.doomed) & bit) add(machine, kinds.DIE, t);
  if (machine.canStop & bit && status[t] === READY) add(machine, kinds.STOP, t);
}

/** Nobody can run, but time passes: a wait with a time-out ends, and so does a thread told to terminate. */
function isCertain(machine) {
  for (let t = 0; t < machine.n; t++) {
    if (machine.status[t] === BLOCKED && (machine.m[t].timed || machine.doomed & (1 << t))) return true;
  }
  return false;
}

/** It has done nothing but read for a while, and nothing has changed: reading on would show the same. */
const spins = (machine, t) => machine.idle[t] > machine.spinLimit && machine.seenVersion[t] === machine.version;
