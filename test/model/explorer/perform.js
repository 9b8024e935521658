/** What each operation does when its turn comes: to the words, to the waiters, to the clocks of the race check and to the marks. */
import * as ops from './ops.js';
import { BLOCKED, READY } from './status.js';

/**
 * Carries out the operation that thread `t` stands before, and returns its value; a RangeError is to be thrown into the thread.
 * @param {import('./machine.js').Machine} machine @param {number} stolen wake-ups that somebody else absorbs
 */
export function perform(machine, t, stolen) {
  const { race, marks } = machine;
  const op = machine.op[t];
  if (op >= ops.AWAIT) return ofExplorer(machine, t, op);
  const m = machine.m[t];
  const i = machine.i[t];
  const a = machine.a[t];
  if (!(i >= 0 && i < m.length && i === Math.floor(i))) return outside(machine, t, op);
  const w = machine.words.of(m, i);
  const old = m[i];
  let value = old;
  switch (op) {
    case ops.LOAD:
      race.atomic(t, w, true, false);
      marks.read(t, w);
      break;
    case ops.PEEK:
      race.plainRead(t, w);
      marks.read(t, w);
      break;
    case ops.GLANCE:
      race.glance(t, w);
      marks.read(t, w);
      break;
    case ops.POKE:
      m[i] = a;
      race.plainWrite(t, w);
      marks.write(t, w);
      value = undefined;
      break;
    case ops.STORE:
      m[i] = a;
      race.atomic(t, w, false, true);
      marks.write(t, w);
      value = undefined;
      break;
    case ops.CAS: {
      const won = old === (a | 0);
      if (won) m[i] = machine.b[t];
      race.atomic(t, w, true, won); // one that fails is a read
      race.judge(t, won);
      if (won) marks.write(t, w);
      else marks.read(t, w);
      break;
    }
    case ops.NOTIFY:
      value = notify(machine, t, w, a, stolen);
      break;
    case ops.WAIT:
    case ops.WAIT_ASYNC:
      value = wait(machine, t, w, op, old === (a | 0));
      break;
    default:
      m[i] = op === ops.EXCHANGE ? a : op === ops.ADD ? old + a : op === ops.OR ? old | a : old & a;
      race.atomic(t, w, true, true);
      marks.write(t, w);
  }
  if (m[i] !== old) machine.version++;
  if (machine.onStep) told(machine, t, old, value);
  return value;
}

/** Takes up to `count` waiters off the queue; who is woken is ready, and runs when it is chosen. */
function notify(machine, t, w, count, stolen) {
  machine.race.tick(t);
  machine.marks.write(t, w); // the queue of the word counts as the word
  const woken = machine.waiters.wake(w, Math.max(0, count - stolen));
  for (const waiter of woken) {
    machine.marks.pass(t, waiter.thread);
    if (machine.status[waiter.thread] === BLOCKED && machine.m[waiter.thread] === waiter) {
      machine.status[waiter.thread] = READY;
      machine.recent |= 1 << waiter.thread;
    }
  }
  if (woken.length > 0) machine.version++;
  return woken.length + stolen;
}

function wait(machine, t, w, op, equal) {
  machine.race.atomic(t, w, true, false); // the comparison is an atomic read
  machine.marks.write(t, w);
  const sync = op === ops.WAIT;
  const timeoutMs = sync ? machine.b[t] : Number.POSITIVE_INFINITY;
  if (!equal) return sync ? 'not-equal' : { async: false, value: 'not-equal' };
  if (timeoutMs <= 0) return 'timed-out';
  const waiter = machine.waiters.add(w, t, timeoutMs !== Number.POSITIVE_INFINITY);
  if (!sync) return { async: true, value: waiter };
  block(machine, t, waiter);
  return undefined;
}

function block(machine, t, waiter) {
  machine.status[t] = BLOCKED;
  machine.op[t] = ops.RESUME;
  machine.m[t] = waiter;
}

function ofExplorer(machine, t, op) {
  machine.race.tick(t);
  machine.marks.note(t, op);
  let value;
  if (op === ops.TERMINATE) {
    const target = machine.index(machine.m[t]);
    machine.doomed |= 1 << target;
    machine.recent |= 1 << target;
    machine.marks.pass(t, target);
  } else if (machine.m[t].value === null) {
    block(machine, t, machine.m[t]);
  } else {
    value = machine.m[t].value;
  }
  if (machine.onStep) machine.onStep({ thread: t, kind: 0, op, site: machine.site[t], value, clock: machine.race.now(t) });
  return value;
}

/** Beyond the view an atomic access throws, and a plain one reads undefined and writes nothing. */
function outside(machine, t, op) {
  machine.race.tick(t);
  machine.marks.note(t, op);
  const value = ops.isPlain(op) || op === ops.GLANCE ? undefined : new RangeError(`Word ${machine.i[t]} lies beyond the view`);
  if (machine.onStep) told(machine, t, undefined, value);
  return value;
}

function told(machine, t, old, value) {
  const op = machine.op[t] === ops.RESUME ? ops.WAIT : machine.op[t]; // a wait that blocks has become a resume already
  const { a, b, m, i, site } = machine;
  const after = m[t] instanceof Int32Array ? m[t][i[t]] : old;
  machine.onStep({ thread: t, kind: 0, op, site: site[t], i: i[t], a: a[t], b: b[t], old, after, value, clock: machine.race.now(t) });
}
