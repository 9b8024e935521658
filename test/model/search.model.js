/**
 * Searching: publishers skip the wake while somebody looks for work, so whoever searched must find what they published, and pass
 * the wake on for the rest. The worker is `parts/worker.js`; `find` mirrors `Search.find` with one look or two.
 */
import { store } from '#atomics';
import { HOST, hasBit, IDLE_BITS, REGION_SEARCHER, REGION_TARGET, recordOf } from '#memory';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { host, settleAll, submit } from './parts/host.js';
import { makeJobs, makeLane, makeLive, makeRegion, onceEach, reachable, viewOf } from './parts/shared.js';
import { claimAndRun, find, park, worker, workUntilLeaving } from './parts/worker.js';

const setup =
  (jobs, ...live) =>
  () => {
    const region = makeRegion(2);
    makeLane(region, HOST, 2, 0);
    makeLive(region, ...live);
    store(region.m, REGION_TARGET, live.length);
    return { region, jobs, entries: makeJobs(region, jobs), 1: worker(viewOf(region), 1), 2: worker(viewOf(region), 2), h: host(viewOf(region)) };
  };

/** @thread worker. `looks`: of each search; 0: it parks at once. */
async function workForEver(w, looks) {
  for (;;) {
    claimAndRun(w);
    if (looks > 0 && find(w, looks)) continue;
    await park(w);
  }
}

const account = (s) => {
  if (s.region.m[REGION_SEARCHER] !== 0) return 'a searcher that searches no more';
  for (const slot of [1, 2]) if (s.live?.includes(slot) && !hasBit(s.region.m, IDLE_BITS, slot)) return `${slot} sleeps unseen`;
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
  threads: { one: (s) => workForEver(s[1], 1), two: (s) => workForEver(s[2], 1), host: submitAll },
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
    other: (s) => workForEver(s[2], 0),
    host: submitAll,
  },
  outcome: (s) => (s[1].ran.length + s[2].ran.length < 2 ? 'a job waits behind a busy worker' : account(s)),
  outcomes: counts('1+1', '0+2'),
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
  outcome: (s) => (s.h.started > 0 ? 'a thread is started' : account(s)),
  outcomes: { 'a thread is started': 'for the second job' },
});

mutant('the searcher does not say that it stopped', { module: 'pool/idle.js', replace: ['store(m, REGION_SEARCHER, 0);', ''] });
mutant('no look after the search, and none before the sleep', {
  module: 'parts/worker.js',
  replace: ['if (pool.anySource(w.region) || mustLeave(w)) {', 'if (mustLeave(w)) {'],
});
mutant('a searcher that found a job passes no wake on', { module: 'parts/worker.js', replace: ['if (w.found) passWakeOn(w.region);', ''] });
mutant('the search ends after the claim', {
  module: 'parts/worker.js',
  replace: [/pool\.endSearch\(w\.region\.m\);\n\s*return w\.found;/, 'if (!w.found) pool.endSearch(w.region.m); return w.found;'],
});
mutant('two search at once', { module: 'pool/idle.js', replace: [' && cas(m, REGION_SEARCHER, 0, slot) === 0', ' && (store(m, REGION_SEARCHER, slot), true)'] });
mutant('a leaver asks nobody', { module: 'parts/worker.js', replace: [/(pool\.toLeaving\(w\.region\.m, w\.slot\);)\n\s*passWakeOn\(w\.region\);/, '$1'] });
