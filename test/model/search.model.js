/**
 * Searching: publishers skip the wake while somebody looks for work, so whoever searched must find what they published, and pass
 * the wake on for the rest. The worker is `parts/worker.js`; `find` mirrors `Search.find` with one look or two.
 */
import { store } from '#atomics';
import { HOST, hasBit, IDLE_BITS, REGION_SEARCHER, REGION_TARGET, recordOf, SLOT_FRONT, SLOT_LANE, slotAt } from '#memory';
import { publishIdle } from '#pool';
import { openLane, publish } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { beforeSleep, end, host, settleAll, submit } from './parts/host.js';
import { makeJobs, makeLane, makeLive, makeRegion, onceEach, reachable, viewOf } from './parts/shared.js';
import { claimAndRun, FULL, find, park, run, sleep, turnAway, worker, workUntilLeaving } from './parts/worker.js';

const setup =
  (jobs, ...live) =>
  () => {
    const region = makeRegion(2);
    makeLane(region, HOST, 2, 0);
    openLane(region, slotAt(HOST) + SLOT_FRONT, 2, 0);
    makeLive(region, ...live);
    store(region.m, REGION_TARGET, live.length);
    if (live.includes(2)) publishIdle(region.m, 2); // worker 2 sleeps when the test begins
    return {
      region,
      jobs,
      entries: makeJobs(region, jobs),
      1: worker(viewOf(region), 1),
      2: worker(viewOf(region), 2),
      h: host(viewOf(region)),
    };
  };

/** @thread worker. `looks`: of each search; 0: it parks at once. */
async function workForEver(w, looks, asleep = false) {
  if (asleep) await sleep(w);
  for (;;) {
    claimAndRun(w);
    if (looks > 0 && find(w, looks)) continue;
    await park(w);
  }
}

const SLOTS = { worker: 1, one: 1, busy: 1, two: 2, other: 2 };
const account = (s, results) => {
  if (s.region.m[REGION_SEARCHER] !== 0) return 'a searcher that searches no more';
  for (const name of Object.keys(SLOTS)) {
    if (results[name] === 'blocked' && !hasBit(s.region.m, IDLE_BITS, SLOTS[name])) return `${name} sleeps, and nobody can see it`;
  }
  return onceEach([...s[1].ran, ...s[2].ran, ...reachable(s.region).map(recordOf)], s.jobs) || `${s[1].ran.length}+${s[2].ran.length} run`;
};
const counts = (...pairs) => Object.fromEntries(pairs.map((pair) => [`${pair} run`, 'nothing is left with all asleep']));
const submitAll = ({ h, entries }) => {
  for (const entry of entries) submit(h, entry);
};

litmus('a job for one that searches', {
  setup: setup(1, 1),
  describe,
  mayBlock: ['worker'],
  threads: { worker: (s) => workForEver(s[1], 2), host: submitAll },
  outcome: account,
  outcomes: counts('1+0'),
});

litmus('two jobs for two that search', {
  setup: setup(2, 1, 2),
  describe,
  mayBlock: ['one', 'two'],
  threads: { one: (s) => workForEver(s[1], 1), two: (s) => workForEver(s[2], 1, true), host: submitAll },
  outcome: account,
  outcomes: counts('2+0', '0+2', '1+1'),
});

/** The searcher finds two jobs, and takes a long time for the first: the second must not wait for it. */
litmus('a searcher that found work wakes one more', {
  setup: setup(2, 1, 2),
  describe,
  mayBlock: ['busy', 'other'],
  threads: {
    busy: async (s) => {
      while (s[1].ran.length === 0) {
        if (claimAndRun(s[1], 1) === 'nothing' && !find(s[1], 1)) await park(s[1]);
      }
      // In a handler for ever, as far as the others can tell.
    },
    other: (s) => workForEver(s[2], 0, true),
    host: submitAll,
  },
  outcome: (s, results) => (s[1].ran.length + s[2].ran.length < 2 ? 'a job waits behind a busy worker' : account(s, results)),
  outcomes: counts('1+1', '0+2'),
});

/** It has found the first and passed the wake on, or not yet, when the second comes. */
litmus('a job comes when a searcher has found another', {
  setup: () => {
    const s = setup(2, 1, 2)();
    publish(s.region, slotAt(HOST) + SLOT_LANE, s.entries[0]);
    return s;
  },
  describe,
  mayBlock: ['other'],
  threads: {
    busy: (s) => {
      find(s[1], 1);
      claimAndRun(s[1], 1); // in its handler for ever
    },
    other: (s) => workForEver(s[2], 0, true),
    host: (s) => submit(s.h, s.entries[1]),
  },
  outcome: (s, results) => (s[1].ran.length + s[2].ran.length < 2 ? 'a job waits behind a busy worker' : account(s, results)),
  outcomes: { '1+1 run': 'the other was woken for the second', '0+2 run': 'the other was quicker for both' },
});

/** 17.4: it claims nothing after its search, since its slice is over or a job came by port; that turn of its loop may take for ever. */
litmus('a searcher turns to something else', {
  setup: setup(1, 1, 2),
  describe,
  mayBlock: ['other'],
  threads: {
    busy: (s) => {
      find(s[1], 1);
      turnAway(s[1]);
    },
    other: (s) => workForEver(s[2], 0, true),
    host: submitAll,
  },
  outcome: (s, results) => (s[2].ran.length === 0 ? 'a job waits behind a turn' : account(s, results)),
  outcomes: { '0+1 run': 'woken by the host, or by the searcher that it relied on' },
});

litmus('a searcher that leaves finds somebody for what it found', {
  setup: () => {
    const s = setup(2, 1)();
    s[1].maxJobs = 1;
    return s;
  },
  describe,
  mayBlock: ['host'],
  threads: {
    worker: (s) => workUntilLeaving(s[1], 1),
    host: async (s) => {
      submitAll(s);
      return settleAll(s.h, 2);
    },
  },
  outcome: (s, results) => (s.h.started > 0 ? 'a thread is started' : account(s, results)),
  outcomes: { 'a thread is started': 'for the second job' },
});

/** From then on it takes nothing new: whoever relied on its search does not wait for its task. */
litmus('a searcher whose task is given up', {
  setup: () => {
    const s = setup(2, 1, 2)();
    s[1].awaits = [1];
    run(s[1], s.entries[0]);
    return s;
  },
  describe,
  mayBlock: ['held', 'other'],
  threads: {
    held: async (s) => {
      for (;;) {
        if (claimAndRun(s[1]) === FULL) return;
        if (find(s[1], 1)) continue;
        await park(s[1]);
      }
      // Its task never settles.
    },
    other: (s) => workForEver(s[2], 0, true),
    host: (s) => {
      submit(s.h, s.entries[1]);
      end(s.h, 1);
      beforeSleep(s.h, 1); // `Core.jobsMoved`
    },
  },
  outcome: (s) =>
    s[1].ran.length + s[2].ran.length === 1 ? 'run' : s.h.started > 0 ? 'a thread is started' : 'it waits behind a job that was given up',
  outcomes: { run: 'by either' },
});

mutant('the searcher does not say that it stopped', { module: 'pool/idle.js', replace: ['store(m, REGION_SEARCHER, 0);', ''] });
mutant('no look after the search, and none before the sleep', {
  module: 'parts/worker.js',
  replace: ['if (pool.anySource(w.region) || mustLeave(w)) {', 'if (mustLeave(w)) {'],
});
mutant('17.4 no look after the search', {
  by: 'a searcher turns to something else',
  module: 'parts/worker.js',
  replace: ['w.relied = found || pool.anySource(w.region);', 'w.relied = found;'],
});
mutant('17.4 what the search has seen is left behind', {
  by: 'a searcher turns to something else',
  module: 'parts/worker.js',
  replace: ['if (w.relied) pool.passWakeOn(w.region);\n  w.relied = false;', 'w.relied = false;'],
});
mutant('a searcher that found a job passes no wake on', {
  by: 'a searcher that found work wakes one more',
  module: 'parts/worker.js',
  replace: [/(return NOTHING;\n\s*)if \(w\.relied\) pool\.passWakeOn\(w\.region\);/, '$1'],
});
mutant('the search ends after the claim, and after the wake is passed on', {
  by: 'a job comes when a searcher has found another',
  module: 'parts/worker.js',
  replace: [
    /if \(entry === NO_ENTRY\) return NOTHING;\n(\s*if \(w\.relied\) pool\.passWakeOn\(w\.region\);\n)(\s*w\.relied = false;[\s\S]*?)pool\.endSearch\(w\.region\.m\);\n/,
    'if (entry === NO_ENTRY) { if (w.relied) pool.endSearch(w.region.m); return NOTHING; }\n$1 if (w.relied) pool.endSearch(w.region.m);\n$2 if (!found) pool.endSearch(w.region.m);\n',
  ],
});
mutant('looks who searches before it publishes', {
  module: 'parts/host.js',
  replace: [/(publish\(h\.region, AT \+ SLOT_LANE, entry\);)\n\s*(staff\(h, 1\);)/, '$2 $1'],
});
