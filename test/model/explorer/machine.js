/**
 * The machine: runs model threads one choice at a time. A thread is a generator that stops before each operation; a choice
 * carries out that operation and runs the thread up to its next one.
 *
 * It knows nothing of searching: `offer` says what can happen now, `take` makes one of it happen.
 */
import * as kinds from './choice.js';
import { Marks } from './marks.js';
import { offer } from './offer.js';
import * as ops from './ops.js';
import { perform } from './perform.js';
import { kindOf } from './proof.js';
import { Race } from './race.js';
import { isRunning } from './seam.js';
import { ASLEEP, BLOCKED, DEAD, DONE, FATE, READY, STOPPED } from './status.js';
import { Waiters } from './waiters.js';
import { World } from './world.js';

export class Machine {
  /** @param {import('./litmus.js').Litmus} litmus @param {number | undefined} sequence @param {{ points?: 'all' | 'sync' }} [options] */
  constructor(litmus, sequence, options = {}) {
    const { faults } = litmus;
    this.names = Object.keys(litmus.threads);
    this.bodies = Object.values(litmus.threads);
    const n = this.names.length;
    const bits = (names) => names.reduce((mask, name) => mask | (1 << this.index(name)), 0);
    this.n = n;
    this.race = new Race(n);
    this.marks = new Marks(n);
    this.waiters = new Waiters();
    this.world = new World(
      () => litmus.setup(sequence),
      (id) => {
        this.race.clear(id);
        this.marks.clear(id);
      },
    );
    this.words = this.world.words;
    this.everyAccess = (options.points ?? litmus.points) === 'all';
    this.canDie = bits(faults.die);
    this.canStop = bits(faults.stop);
    this.mayBlock = bits(litmus.mayBlock);
    this.heirs = this.names.map((name) => (litmus.exit[name] === undefined ? -1 : this.index(litmus.exit[name])));
    this.budgets = { wake: faults.spuriousWake, expire: faults.timeout, steal: faults.stolenNotify };
    this.spinLimit = litmus.spinLimit;
    this.maxSteps = litmus.maxSteps;
    this.choices = new Int32Array(8 * n + 1);
    for (const key of ['op', 'i', 'a', 'b', 'site', 'status', 'idle', 'seenVersion']) this[key] = new Array(n).fill(0);
    this.m = new Array(n).fill(null);
    this.generators = new Array(n).fill(null);
    this.values = new Array(n);
    /** @type {((step: object) => void) | null} told of each operation: only in a replay */
    this.onStep = null;
  }

  index(name) {
    const t = this.names.indexOf(name);
    if (t < 0) throw new Error(`No thread is called ${name}`);
    return t;
  }

  /** A new schedule: the state as setup left it, and every thread before its first operation. */
  begin() {
    this.race.begin();
    this.marks.begin();
    this.waiters.begin();
    this.state = this.world.fresh();
    this.failure = null;
    this.ended = false;
    this.last = -1;
    this.steps = 0;
    this.version = 0; // changes whenever a word does
    this.doomed = 0;
    this.recent = ~0; // threads that may die now: later would be the same
    this.left = { ...this.budgets };
    for (let t = 0; t < this.n; t++) {
      this.idle[t] = 0;
      this.seenVersion[t] = 0;
      this.values[t] = undefined;
      this.status[t] = ASLEEP;
    }
    for (let t = 0; t < this.n; t++) if (!this.heirs.includes(t)) this.#start(t);
  }

  /** Fills `choices`, the one that goes on as before first, and returns how many; 0 when the schedule is over. */
  offer() {
    return this.ended || this.failure !== null ? 0 : offer(this);
  }

  /** Whether the choice takes the processor from a thread that could go on. Valid after `offer`. */
  preempts(c) {
    return this.lastGoesOn && kinds.executes(c) && kinds.threadOf(c) !== this.last;
  }

  take(c) {
    const t = kinds.threadOf(c);
    const kind = kinds.kindOf(c);
    if (kind !== kinds.RUN) {
      this.onStep?.({ thread: t, kind });
      if (kind === kinds.END) {
        this.ended = true;
        return;
      }
      this.marks.note(t, kind);
      if (kind >= kinds.STOP) {
        this.#leave(t, kind);
        return;
      }
      if (kind === kinds.STEAL) this.left.steal--;
      else this.#unblock(t, kind);
    }
    this.last = t;
    this.recent = 1 << t;
    this.#run(t, kind === kinds.STEAL ? 1 : 0);
    if (this.version === this.seenVersion[t]) this.idle[t]++;
    else this.idle[t] = 0;
    this.seenVersion[t] = this.version;
  }

  /** Fingerprint of this moment and of all that the future depends on, but the preemptions left; in `marks`. */
  fingerprint() {
    let more = this.last + 1;
    for (let t = 0; t < this.n; t++) {
      const idle = this.seenVersion[t] === this.version ? this.idle[t] : 0;
      if (idle * 2 > this.spinLimit) more = Math.imul(more, 31) + idle * 32 + t + 64;
    }
    this.marks.take(more);
  }

  /** Threads that are blocked and should not be, at the end: a deadlock. */
  stuck() {
    return this.names.filter((_, t) => this.status[t] === BLOCKED && !(this.mayBlock & (1 << t)));
  }

  /** What each thread returned; for one that did not return, what became of it. */
  results() {
    const results = {};
    for (let t = 0; t < this.n; t++) results[this.names[t]] = this.status[t] === DONE ? this.values[t] : FATE[this.status[t]];
    return results;
  }

  fail(kind, text) {
    this.failure ??= { kind, text };
  }

  #unblock(t, kind) {
    const waiter = this.m[t];
    this.waiters.leave(waiter, kind === kinds.WAKE ? 'ok' : 'timed-out');
    if (kind === kinds.WAKE) this.left.wake--;
    else if (!(this.atRest && waiter.timed)) this.left.expire--;
    this.status[t] = READY;
  }

  #start(t) {
    this.status[t] = READY;
    this.generators[t] = null;
    ops.pending.op = 0;
    try {
      const value = this.bodies[t](this.state);
      if (isRunning(value)) this.generators[t] = value;
      else this.#finish(t, value);
    } catch (error) {
      this.#threw(t, error);
    }
    if (this.generators[t] === null || this.failure !== null) return;
    this.#resume(t, undefined);
    if (this.#rides(t)) this.#run(t, 0);
  }

  /** Plain accesses go with the operation before them: nobody can tell, unless there is a race, and that is looked for. */
  #rides(t) {
    const mortal = (this.canDie | this.canStop | this.doomed) & (1 << t);
    return this.failure === null && this.status[t] === READY && !this.everyAccess && !mortal && ops.isPlain(this.op[t]);
  }

  #run(t, stolen) {
    do {
      if (++this.steps > this.maxSteps) {
        this.fail('outcome', 'livelock');
        return;
      }
      const outcome = perform(this, t, stolen);
      if (this.status[t] === BLOCKED) return;
      if (this.race.found !== null) {
        this.fail('race', '');
        return;
      }
      this.#resume(t, outcome);
    } while (this.#rides(t));
  }

  /** Local code of `t`, up to its next operation. */
  #resume(t, value) {
    const { pending } = ops;
    pending.op = 0;
    try {
      const result = value instanceof RangeError ? this.generators[t].throw(value) : this.generators[t].next(value);
      if (result.done) {
        this.#finish(t, result.value);
        return;
      }
      if (pending.op === 0) throw new Error('A generator of the product yielded: the model cannot run those');
      this.op[t] = pending.op;
      this.m[t] = pending.m;
      this.i[t] = pending.i;
      this.a[t] = pending.a;
      this.b[t] = pending.b;
      this.site[t] = result.value;
      pending.op = 0;
    } catch (error) {
      this.#threw(t, error);
    }
  }

  #threw(t, error) {
    // Only lines of the product and the protocol, as the compiled files have them.
    const stack = String(error?.stack ?? error)
      .replaceAll(/file:\/\/\S*railhead-model-\w+\/\d+\//g, '')
      .split('\n');
    this.fail(
      kindOf(error),
      `${this.names[t]} threw ${stack.filter((line) => !/\/explorer\/|node:internal|<anonymous>/.test(line)).join('\n')}`,
    );
  }

  #finish(t, value) {
    if (ops.pending.op !== 0) throw new Error(`${this.names[t]} called the seam in code that was not rewritten`);
    this.status[t] = DONE;
    this.values[t] = value;
    if (this.doomed & (1 << t)) this.#exit(t);
  }

  #leave(t, kind) {
    this.recent &= ~(1 << t);
    this.last = t;
    this.status[t] = kind === kinds.STOP ? STOPPED : DEAD;
    if (kind === kinds.STOP) return; // its waiters stay, and still absorb wake-ups
    this.waiters.forget(t);
    this.#exit(t);
  }

  /** The `exit` event of `t`: whoever waits for it starts, and has seen all that `t` did. */
  #exit(t) {
    const heir = this.heirs[t];
    if (heir < 0 || this.status[heir] !== ASLEEP) return;
    this.race.join(heir, t);
    this.recent |= 1 << heir;
    this.#start(heir);
  }
}
