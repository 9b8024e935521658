/**
 * Stopping: workers look at the phase before each claim; the host stops starting, fails what is queued, ends the threads, and
 * fails the rest after their `exit`. The host mirrors `Stopping.#cut` and `#close`.
 */
import { load, store } from '#atomics';
import { HOST, hasBit, LANE_RING, LIVE_BITS, REGION_TARGET, RING_HEAD, SLOT_FRONT, SLOT_LANE, slotAt } from '#memory';
import { stopStarting, unparkHottest } from '#pool';
import { openLane, publish } from '#ring';
import { litmus, mutant, terminate } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { drain, endsOf, failAll, failQueued, host, onExit } from './parts/host.js';
import { makeJobs, makeLane, makeLive, makeRegion, onceEach, startsOf, viewOf } from './parts/shared.js';
import { claimAndRun, worker, workUntilLeaving } from './parts/worker.js';

const setup =
  (jobs, maxBatch, ...live) =>
  () => {
    const region = makeRegion(2);
    const lane = makeLane(region, HOST, 2, 0);
    openLane(region, slotAt(HOST) + SLOT_FRONT, 2, 0);
    makeLive(region, ...live);
    store(region.m, REGION_TARGET, 2);
    const entries = makeJobs(region, jobs);
    for (const entry of entries) publish(region, lane, entry);
    const all = entries.map((_, k) => k + 1);
    return {
      region,
      jobs,
      all,
      1: worker(viewOf(region), 1, { maxBatch }),
      2: worker(viewOf(region), 2, { maxBatch }),
      h: host(viewOf(region)),
    };
  };

/** Settled, died or cut, each job once; what ran and what was cut. */
const account = (s) => {
  for (const record of s.all) if (startsOf(s.region, record) > 1) return `${record} started twice`;
  for (const record of s.h.cut) if (startsOf(s.region, record) > 0) return `${record} was cut, and started`;
  return onceEach(endsOf(s.h), s.jobs) || `${s.h.settled.length} settled, ${s.h.died.length} died, ${s.h.cut.length} cut`;
};
const ends = (...texts) => Object.fromEntries(texts.map((text) => [text, 'each job once']));

/** @thread host. What queues is cut, threads are told to end. */
const cuts = (s) => {
  stopStarting(s.h.region.m);
  drain(s.h);
  failQueued(s.h, s.all);
  terminate('worker');
};
const afterExit = (s) => {
  onExit(s.h, 1);
  failAll(s.h, s.all); // `#cutRest`
};

litmus('stop cuts what has not started, and ends the thread', {
  setup: setup(2, 1, 1),
  describe,
  bound: 3,
  threads: { worker: (s) => claimAndRun(s[1]), host: cuts, exited: afterExit },
  exit: { worker: 'exited' },
  outcome: (s, { exited }) => {
    if (exited === 'never started') returnedFirst(s);
    return account(s);
  },
  outcomes: ends(
    '2 settled, 0 died, 0 cut',
    '1 settled, 0 died, 1 cut',
    '0 settled, 0 died, 2 cut',
    '0 settled, 1 died, 1 cut',
    '1 settled, 1 died, 0 cut',
  ),
});

/** The thread had returned before it was told to end: its exit is seen later. */
function returnedFirst(s) {
  drain(s.h);
  failAll(s.h, s.all);
}

litmus('stop cuts a batch that was claimed', {
  setup: setup(2, 2, 1),
  describe,
  bound: 3,
  threads: { worker: (s) => claimAndRun(s[1]), host: cuts, exited: afterExit },
  exit: { worker: 'exited' },
  outcome: (s, { exited }) => {
    if (exited === 'never started') returnedFirst(s);
    return account(s);
  },
  outcomes: ends(
    '2 settled, 0 died, 0 cut',
    '1 settled, 0 died, 1 cut',
    '0 settled, 0 died, 2 cut',
    '0 settled, 1 died, 1 cut',
    '1 settled, 1 died, 0 cut',
  ),
});

litmus('after stop two workers leave, and nothing more starts', {
  setup: setup(2, 1, 1, 2),
  describe,
  threads: {
    one: (s) => workUntilLeaving(s[1]),
    two: (s) => workUntilLeaving(s[2]),
    host: (s) => {
      stopStarting(s.h.region.m);
      while (unparkHottest(s.h.region.m));
    },
  },
  outcome: (s) => {
    if (hasBit(s.region.m, LIVE_BITS, 1) || hasBit(s.region.m, LIVE_BITS, 2)) return 'one is still there';
    return `${s[1].ran.length + s[2].ran.length} run`;
  },
  outcomes: { '0 run': 'stopped before', '1 run': 'stopped between', '2 run': 'stopped after' },
});

litmus('at most one claim is under way when stop comes', {
  setup: setup(2, 1, 1),
  describe,
  threads: {
    worker: (s) => claimAndRun(s[1]),
    host: (s) => {
      const { m } = s.h.region;
      const ring = load(m, slotAt(HOST) + SLOT_LANE + LANE_RING);
      stopStarting(m);
      return load(m, ring + RING_HEAD);
    },
  },
  outcome: (s, { host: head }) =>
    `${load(s.region.m, load(s.region.m, slotAt(HOST) + SLOT_LANE + LANE_RING) + RING_HEAD) - head} after stop`,
  outcomes: { '0 after stop': 'none was under way', '1 after stop': 'the worker had looked before' },
});

mutant('the stop flag is read once', {
  by: 'at most one claim is under way when stop comes',
  module: 'parts/worker.js',
  replace: ['if (mustLeave(w)) return LEAVE;', 'if (k === 0 && mustLeave(w)) return LEAVE;'],
});
mutant('what queues is cut without an exchange', {
  module: 'parts/host.js',
  replace: [
    /const at = recordAt\(h\.region, record\);\n\s*if \(toStarted\(h\.region\.m, at, entryFor\(record, load\(h\.region\.m, at \+ RECORD_STATE\)\)\)\)/,
    'const state = stateOf(load(h.region.m, recordAt(h.region, record) + RECORD_STATE)); if (state !== FREE && state < STARTED)',
  ],
});
mutant('the rest is failed before the exit', {
  module: 'stop.model.js',
  replace: [/failQueued\(s\.h, s\.all\);\n\s*terminate/, 'failAll(s.h, s.all); terminate'],
});
mutant('a stopped queue is not stopped for those that claim', {
  by: 'after stop two workers leave, and nothing more starts',
  module: 'pool/life.js',
  replace: ['load(m, REGION_PHASE) !== STOPPED', 'load(m, REGION_PHASE) !== -1'],
});
mutant('nobody wakes those that sleep', {
  by: 'after stop two workers leave, and nothing more starts',
  module: 'stop.model.js',
  replace: [/while \(unparkHottest\(s\.h\.region\.m\)\);/, ''],
});
