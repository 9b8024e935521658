/**
 * A parked worker's thread ends: by `process.exit` in a timer of a handler's, or by a crash. Before or after, it may be given a wake
 * that it cannot use: the job must be run by another. Slot 1 parked last, so it is the first to be woken; the host is one thread, so
 * what follows the `exit` comes before or after a verb.
 */
import { store } from '#atomics';
import { HOST, hasBit, IDLE_BITS, REGION_TARGET, SLOT_FRONT, slotAt } from '#memory';
import { publishIdle, wakeFor } from '#pool';
import { openLane, publish } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { beforeSleep, endThread, endTurn, host, nextTurn, onExit, submit } from './parts/host.js';
import { makeJobs, makeLane, makeLive, makeRegion, startsOf, viewOf } from './parts/shared.js';
import { claimAndRun, leave, park, sleep, worker } from './parts/worker.js';

/** `target`: how many should run. `asleep`: those that are parked when the test begins, the hottest last. */
const setup =
  (target, ...asleep) =>
  () => {
    const region = makeRegion(3);
    makeLane(region, HOST, 2, 0);
    openLane(region, slotAt(HOST) + SLOT_FRONT, 2, 0);
    makeLive(region, 1, 2);
    store(region.m, REGION_TARGET, target);
    for (const slot of asleep) publishIdle(region.m, slot);
    return {
      region,
      target,
      turn: region.m.length - 8,
      entries: makeJobs(region, 1),
      1: worker(viewOf(region), 1),
      2: worker(viewOf(region), 2),
      h: host(viewOf(region)),
    };
  };

/** Slot 3 submits too, from a thread of its own. */
const withSubmitter = (make) => () => {
  const s = make();
  return { ...s, lane: makeLane(s.region, 3, 2, 0), submitter: viewOf(s.region) };
};

/** @thread worker. Until it has run a job. */
async function parks(w, asleep) {
  if (asleep) await sleep(w);
  for (;;) {
    claimAndRun(w, 1);
    if (w.ran.length > 0) return;
    await park(w);
  }
}

/** @thread host. `Threads.#onExit`, then `onMayStart`. */
function exited({ h, target }) {
  onExit(h, 1);
  beforeSleep(h, target);
}

/** @thread host. The verb comes first. */
const verb = (s) => {
  submit(s.h, s.entries[0]);
  endTurn(s.h, s.turn);
};
const exitedAfterVerb = (s) => {
  nextTurn(s.h, s.turn);
  exited(s);
};

const exits = {
  describe,
  exit: { victim: 'exited' },
  faults: { die: ['victim'] },
  mayBlock: ['victim', 'other'],
  outcome: (s, { victim, other }) => {
    if (other === 'blocked' && !hasBit(s.region.m, IDLE_BITS, 2)) return 'the other sleeps, and nobody can see it';
    if (startsOf(s.region, 1) > 1) return 'started twice';
    if (s.h.died.length > 0) return 'it died with its thread';
    if (s[2].ran.length > 0) return 'run by the other';
    return s[1].ran.length > 0 ? `run by the first, which ${victim === 'died' ? 'exits then' : 'lives'}` : 'the job waits for ever';
  },
};

litmus('exits while a job comes and it is woken', {
  ...exits,
  setup: setup(1, 2, 1),
  threads: { victim: (s) => parks(s[1], true), other: (s) => parks(s[2], true), verb, exited: exitedAfterVerb },
  outcomes: {
    'run by the other': 'woken after the exit',
    'run by the first, which lives': 'nothing happened to it',
    'run by the first, which exits then': 'after it had settled, or before the host could see to that',
    'it died with its thread': 'it had been woken, and ran it',
  },
});

litmus('exits while a job comes and another goes to sleep', {
  ...exits,
  setup: setup(2, 1),
  threads: { victim: (s) => parks(s[1], true), other: (s) => parks(s[2], false), verb, exited: exitedAfterVerb },
  outcomes: {
    'run by the other': 'it was awake, or woken',
    'run by the first, which lives': 'nothing happened to it',
    'run by the first, which exits then': 'after it had settled',
    'it died with its thread': 'it had been woken, and ran it',
  },
});

litmus('has exited when a job comes', {
  ...exits,
  setup: setup(1, 2, 1),
  threads: {
    victim: (s) => parks(s[1], true),
    other: (s) => parks(s[2], true),
    exited: (s) => {
      exited(s);
      submit(s.h, s.entries[0]);
    },
  },
  outcome: (s, results) => {
    if (results.exited === 'never started') return 'it sleeps on';
    return hasBit(s.region.m, IDLE_BITS, 1) ? 'the slot is idle and has no thread' : exits.outcome(s, results);
  },
  outcomes: { 'it sleeps on': 'no exit, no job', 'run by the other': 'woken: the dead one is no more among the idle' },
});

/** 17.1: the host ends the hottest of two parked threads, as another thread hands out a wake. The struck one never acts on a permit. */
const ended = {
  describe,
  mayBlock: ['victim', 'other'],
  outcome: (s) => (s[2].ran.length > 0 ? 'run by the other' : 'the job waits for ever'),
  outcomes: { 'run by the other': 'woken at once, or the wake of the struck one was passed on' },
};

litmus('ended by the host while another thread hands out a wake', {
  ...ended,
  setup: withSubmitter(setup(1, 2, 1)),
  threads: {
    victim: (s) => sleep(s[1]),
    other: (s) => parks(s[2], true),
    waker: (s) => {
      publish(s.submitter, s.lane, s.entries[0]);
      wakeFor(s.submitter.m);
    },
    host: (s) => endThread(s.h, 1),
  },
});

litmus('ended by the host, which then submits', {
  ...ended,
  setup: setup(1, 2, 1),
  threads: {
    victim: (s) => sleep(s[1]),
    other: (s) => parks(s[2], true),
    host: (s) => {
      endThread(s.h, 1);
      submit(s.h, s.entries[0]);
    },
  },
});

litmus('exits by a timer while it is parked, and the host is busy', {
  ...ended,
  setup: withSubmitter(setup(1, 2, 1)),
  threads: {
    victim: (s) => leave(s[1]), // `WorkerLoop.onExit`
    other: (s) => parks(s[2], true),
    waker: (s) => {
      publish(s.submitter, s.lane, s.entries[0]);
      wakeFor(s.submitter.m);
    },
  },
});

const WAITS = 'exits while a job comes and it is woken';
mutant('17.1 a thread that is being ended is woken', {
  by: 'ended by the host, which then submits',
  module: 'pool/idle.js',
  replace: [' & load(m, LIVE_BITS + w); bits', '; bits'],
});
mutant('17.1 the host ends a thread and passes no wake on', {
  by: 'ended by the host while another thread hands out a wake',
  module: 'parts/host.js',
  replace: [/discount\(region\.m, slot\);\n\s*passWakeOn\(region\);/, 'discount(region.m, slot);'],
});
mutant('17.1 a thread that exits passes no wake on', {
  by: 'exits by a timer while it is parked, and the host is busy',
  module: 'parts/worker.js',
  replace: ['pool.toLeaving(w.region.m, w.slot);\n  pool.passWakeOn(w.region);', 'pool.toLeaving(w.region.m, w.slot);'],
});
mutant('a dead one stays among the idle', {
  by: 'has exited when a job comes',
  module: 'pool/recover.js',
  replace: ['clearBit(m, IDLE_BITS, slot);', ''],
});
mutant('a dead thread still counts as running', {
  by: WAITS,
  module: 'pool/life.js',
  replace: [/(SLOT_LIFE, VACANT\);)\n\s*clearBit\(m, LIVE_BITS, slot\);/, '$1'],
});
mutant('nobody looks at the sources after an exit', {
  by: WAITS,
  module: 'exit.model.js',
  replace: [/beforeSleep\(h, target\);/, ''],
});
mutant('looks at the sources while the dead one still counts', {
  by: WAITS,
  module: 'exit.model.js',
  replace: [/(onExit\(h, 1\);)\n\s*(beforeSleep\(h, target\);)/, '$2 $1'],
});
