/**
 * Parking against publishing: no wake-up is lost, whatever the source, and a permit that comes late does no harm. The worker is
 * `parts/worker.js`, which mirrors `pool/worker.ts`; a submitter is `Admission.#admit`: publish, then `wakeFor`.
 */
import { add, store } from '#atomics';
import { HOST, hasBit, IDLE_BITS, REGION_RECYCLE, REGION_TARGET, recordOf, SLOT_FRONT } from '#memory';
import { markFront, publishIdle, stopStarting, unparkHottest, wakeFor } from '#pool';
import { publish } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { end, host, settleAll, submit } from './parts/host.js';
import { makeJobs, makeLane, makeLive, makeRegion, onceEach, reachable, SEQUENCES, viewOf } from './parts/shared.js';
import { claimAndRun, park, run, sleep, worker, workUntilLeaving } from './parts/worker.js';

/** Lanes of the host and of slot 3, a submitter too; the front lane of slot 3; workers 1 and 2, of whom `live` exist. */
const setup =
  (jobs, ...live) =>
  (sequence = 0) => {
    const region = makeRegion(3);
    const lane = makeLane(region, HOST, 2, sequence);
    const other = makeLane(region, 3, 2, sequence);
    const front = makeLane(region, 3, 2, sequence, SLOT_FRONT);
    makeLive(region, ...live);
    store(region.m, REGION_TARGET, live.length);
    return {
      region,
      lane,
      other,
      front,
      jobs,
      entries: makeJobs(region, jobs),
      1: worker(viewOf(region), 1),
      2: worker(viewOf(region), 2),
      host: viewOf(region),
      submitter: viewOf(region),
      h: host(viewOf(region)),
    };
  };

/** @thread worker. Parks as often as it must, until it has run a job. */
async function runOne(w) {
  for (;;) {
    claimAndRun(w, 1);
    if (w.ran.length > 0) return w.ran[0];
    await park(w);
  }
}

/** Each job once: run by somebody, or still there; `left` of them still there. */
const account = (s, ...ran) => {
  const left = reachable(s.region).map(recordOf);
  return onceEach([...ran.flat(), ...left], s.jobs) || `${left.length} left`;
};

litmus('a job in a lane wakes the sleeper', {
  setup: setup(1, 1),
  sequences: SEQUENCES,
  describe,
  faults: { spuriousWake: 1 },
  threads: {
    worker: (s) => runOne(s[1]),
    submitter: (s) => {
      publish(s.host, s.lane, s.entries[0]);
      return wakeFor(s.host.m);
    },
  },
  outcome: (s, { worker }) => account(s, worker),
  outcomes: { '0 left': 'run' },
});

litmus('a job in a ring linked meanwhile wakes the sleeper', {
  setup: (sequence) => {
    const s = setup(3, 1)(sequence);
    publish(s.region, s.lane, s.entries[0]);
    publish(s.region, s.lane, s.entries[1]);
    return s;
  },
  describe,
  threads: {
    worker: async (s) => {
      while (s[1].ran.length < 3) {
        claimAndRun(s[1]);
        if (s[1].ran.length < 3) await park(s[1]);
      }
      return s[1].ran;
    },
    submitter: (s) => {
      publish(s.host, s.lane, s.entries[2]);
      return wakeFor(s.host.m);
    },
  },
  outcome: (s, { worker }) => account(s, worker),
  outcomes: { '0 left': 'run' },
});

litmus('a job given back wakes the sleeper', {
  setup: setup(1, 1),
  describe,
  faults: { spuriousWake: 1 },
  threads: {
    worker: (s) => runOne(s[1]),
    giver: (s) => {
      publish(s.submitter, s.front, s.entries[0]);
      markFront(s.submitter.m, 3);
      return wakeFor(s.submitter.m);
    },
  },
  outcome: (s, { worker }) => account(s, worker),
  outcomes: { '0 left': 'run' },
});

litmus('stop wakes the sleeper', {
  setup: setup(0, 1),
  describe,
  faults: { spuriousWake: 1 },
  threads: {
    worker: (s) => workUntilLeaving(s[1]),
    stopper: (s) => {
      stopStarting(s.host.m);
      while (unparkHottest(s.host.m)); // `Core.wakeAll`
    },
  },
  outcome: (_s, { worker }) => `ran ${worker.length}`,
  outcomes: { 'ran 0': 'it left' },
});

litmus('recycle wakes the sleepers', {
  setup: setup(0, 1, 2),
  describe,
  threads: {
    one: (s) => workUntilLeaving(s[1]),
    two: (s) => workUntilLeaving(s[2]),
    host: (s) => {
      add(s.host.m, REGION_RECYCLE, 1);
      while (unparkHottest(s.host.m));
    },
  },
  outcome: (_s, { one, two }) => `ran ${one.length + two.length}`,
  outcomes: { 'ran 0': 'both left' },
});

litmus('two submitters and one sleeper, which parks again and again', {
  setup: setup(2, 1),
  describe,
  threads: {
    worker: async (s) => {
      while (s[1].ran.length < 2) {
        claimAndRun(s[1]);
        if (s[1].ran.length < 2) await park(s[1]); // the permit for the first job may come only now
      }
      return s[1].ran;
    },
    host: (s) => {
      publish(s.host, s.lane, s.entries[0]);
      return wakeFor(s.host.m);
    },
    submitter: (s) => {
      publish(s.submitter, s.other, s.entries[1]);
      return wakeFor(s.submitter.m);
    },
  },
  outcome: (s, { worker }) => account(s, worker),
  outcomes: { '0 left': 'both run' },
});

litmus('two jobs and two sleepers', {
  setup: setup(2, 1, 2),
  describe,
  mayBlock: ['one', 'two'],
  threads: {
    one: (s) => parkForEver(s[1]),
    two: (s) => parkForEver(s[2]),
    host: (s) => {
      publish(s.host, s.lane, s.entries[0]);
      wakeFor(s.host.m);
      publish(s.host, s.lane, s.entries[1]);
      wakeFor(s.host.m);
    },
  },
  outcome: (s) => {
    if (!hasBit(s.region.m, IDLE_BITS, 1) || !hasBit(s.region.m, IDLE_BITS, 2)) return 'one sleeps, and nobody can see it';
    return account(s, s[1].ran, s[2].ran) + (s[1].ran.length === 1 ? ', one each' : ', by one');
  },
  outcomes: { '0 left, one each': 'run side by side', '0 left, by one': 'one was quicker' },
});

/** @thread worker. */
async function parkForEver(w) {
  for (;;) {
    claimAndRun(w);
    await park(w);
  }
}

litmus('an idle worker retires while a job comes', {
  setup: setup(1, 1),
  describe,
  faults: { timeout: 1 },
  mayBlock: ['worker', 'host'],
  threads: {
    worker: (s) => workUntilLeaving(s[1]),
    host: async (s) => {
      submit(s.h, s.entries[0]);
      return settleAll(s.h, 1); // looks for a missing thread whenever it is about to sleep
    },
  },
  outcome: (s, { worker, host }) => {
    const then = worker === 'blocked' ? 'parked' : 'retired';
    if (s[1].ran.length > 0) return `run and ${host === 'blocked' ? 'never seen' : 'settled'}, then ${then}`;
    return s.h.started > 0 ? `${then}, a thread is started` : `${then}, job left behind`;
  },
  outcomes: {
    'run and settled, then parked': 'nothing timed out, or too late',
    'run and settled, then retired': 'it ran the job, and timed out later',
    'retired, a thread is started': 'it was gone, or asked for a thread as it went',
  },
});

/** It is the hottest, so it is woken first; it takes nothing new, and passes the wake on. */
litmus('a job for a parked worker whose task was given up', {
  setup: () => {
    const s = setup(2, 1, 2)();
    s[1].awaits = [1];
    run(s[1], s.entries[0]);
    publishIdle(s.region.m, 2);
    publishIdle(s.region.m, 1);
    end(s.h, 1);
    return s;
  },
  describe,
  mayBlock: ['held', 'other'],
  threads: {
    held: async (s) => {
      await sleep(s[1]);
      return claimAndRun(s[1]);
    },
    other: async (s) => {
      await sleep(s[2]);
      return claimAndRun(s[2]);
    },
    giver: (s) => {
      publish(s.submitter, s.front, s.entries[1]);
      markFront(s.submitter.m, 3);
      return wakeFor(s.submitter.m);
    },
  },
  outcome: (s) => (s[2].ran.length === 1 ? 'run' : 'it waits behind a job that was given up'),
  outcomes: { run: 'by the other, which the first one woke' },
});

const SOURCES = 'pool/sources.js';
const IDLE = 'pool/idle.js';
mutant('no look between publishing idle and waiting', {
  module: 'parts/worker.js',
  replace: ['if (pool.anySource(w.region) || mustLeave(w)) {', 'if (false) {'],
});
mutant('the last look comes before publishing idle', {
  module: 'parts/worker.js',
  replace: [
    /pool\.publishIdle\(m, w\.slot\);\n\s*if \(pool\.anySource\(w\.region\) \|\| mustLeave\(w\)\)/,
    'const some = pool.anySource(w.region) || mustLeave(w); pool.publishIdle(m, w.slot); if (some)',
  ],
});
mutant('front lanes forgotten before the sleep', { module: SOURCES, replace: ['anyLane(region, FRONT_BITS, words, SLOT_FRONT) || ', ''] });
mutant('lanes forgotten before the sleep', { module: SOURCES, replace: [' || anyLane(region, LANE_BITS, words, SLOT_LANE)', ''] });
mutant('only the first lane is looked at before the sleep', {
  by: 'two submitters and one sleeper, which parks again and again',
  module: SOURCES,
  replace: ['slot = nextBit(region.m, bits, words, slot + 1);', 'slot = -1;'],
});
mutant('stop and recycle forgotten before the sleep', {
  module: 'parts/worker.js',
  replace: ['pool.anySource(w.region) || mustLeave(w)', 'pool.anySource(w.region)'],
});
mutant('the next ring forgotten before the sleep', {
  by: 'a job in a ring linked meanwhile wakes the sleeper',
  module: 'ring/lane.js',
  replace: [' || load(m, ring + RING_NEXT) !== NONE', ''],
});
mutant('permit wiped out after the bit is set', {
  by: 'two submitters and one sleeper, which parks again and again',
  module: IDLE,
  replace: [/store\(m, at \+ SLOT_PERMIT, 0\);.*\n(.*\n\s*setBit\(m, IDLE_BITS, slot\);)/, '$1 store(m, at + SLOT_PERMIT, 0);'],
});
mutant('permit given before the bit is cleared', {
  by: 'two submitters and one sleeper, which parks again and again',
  module: IDLE,
  replace: [
    /if \(!clearBit\(m, IDLE_BITS, slot\)\)\s*continue;.*\n\s*givePermit\(m, slot\);/,
    'givePermit(m, slot); if (!clearBit(m, IDLE_BITS, slot)) continue;',
  ],
});
mutant('no permit, only a notify', { module: IDLE, replace: ['store(m, permit, 1);', ''] });
mutant('woken before the job is published', {
  by: 'two submitters and one sleeper, which parks again and again',
  module: 'park.model.js',
  replace: [/(publish\(s\.submitter, s\.other, s\.entries\[1\]\);)\n\s*return wakeFor\(s\.submitter\.m\);/, 'wakeFor(s.submitter.m); $1'],
});
mutant('idle bit cleared by a load and a store', {
  by: 'two jobs and two sleepers',
  module: 'memory/bits.js',
  replace: [
    /return \(and\(m, wordOf\(bits, slot\), ~bitOf\(slot\)\) & bitOf\(slot\)\) !== 0;/,
    'const w = wordOf(bits, slot); const seen = load(m, w); and(m, w, seen & ~bitOf(slot)); return (seen & bitOf(slot)) !== 0;',
  ],
});
