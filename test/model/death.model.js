/**
 * A worker dies at any step, between plain accesses too; after its `exit` the host recovers, and a second worker goes on. Every
 * job settles exactly once, or died with the thread; none starts twice. Worker: `parts/worker.js`; host: `onExit` of
 * `parts/host.js`, which mirrors `Threads.#onExit` and `Deaths.onExit`.
 */
import { store } from '#atomics';
import { clearBit, HOST, hasBit, IDLE_BITS, LIVE_BITS, REGION_SEARCHER, REGION_TARGET, SLOT_FRONT, SLOT_LANE, slotAt } from '#memory';
import { passWakeOn, claim, giveBack, markFront, publishIdle, toStarting, unmarkFront, wakeFor } from '#pool';
import { openLane, publish } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { beforeSleep, endsOf, host, onExit } from './parts/host.js';
import { handedOver, makeJobs, makeLane, makeLive, makeRegion, onceEach, reachable, startable, startsOf, viewOf } from './parts/shared.js';
import { begin, claimAndRun, find, handOver, leave, park, run, sleep, worker } from './parts/worker.js';

/** So many jobs in the host's lane; workers 1 and 2, which claim up to `maxBatch` together. */
const setup =
  (jobs, maxBatch = 1, firstOnly = jobs) =>
  (sequence = 0) => {
    const region = makeRegion(3);
    const lane = makeLane(region, HOST, 4, sequence);
    openLane(region, slotAt(HOST) + SLOT_FRONT, 2, sequence | 0);
    makeLive(region, 1, 2);
    store(region.m, REGION_TARGET, 2);
    const entries = makeJobs(region, jobs);
    for (const entry of entries.slice(0, firstOnly)) publish(region, lane, entry);
    return {
      region,
      lane,
      jobs,
      entries,
      1: worker(viewOf(region), 1, { maxBatch }),
      2: worker(viewOf(region), 2),
      h: host(viewOf(region)),
    };
  };

/** Every job: settled by the host, dead, lying on the stack, or still to be claimed. */
const account = (s) => {
  const left = startable(s.region, reachable(s.region));
  for (let record = 1; record <= s.jobs; record++) if (startsOf(s.region, record) > 1) return `${record} started twice`;
  for (const record of left) if (startsOf(s.region, record) > 0) return `${record} is there again`;
  const ends = [...endsOf(s.h), ...handedOver(s.region)];
  return onceEach([...ends, ...left], s.jobs) || `${s.h.died.length} died, ${left.length} left`;
};
const results = (...texts) => Object.fromEntries(texts.map((text) => [text, 'each job once']));

const threads = {
  victim: (s) => claimAndRun(s[1]),
  other: (s) => claimAndRun(s[2]),
  host: (s) => onExit(s.h, 1),
};
/** @thread worker. Its first job is async, and what it claimed behind that must not wait for it. */
const beginsAndGivesBack = (s) => {
  begin(s[1], claim(s[1].claimer, 3));
  giveBack(s[1].claimer);
};
const dies = { describe, threads, exit: { victim: 'host' }, faults: { die: ['victim'] }, outcome: account };

litmus('dies claiming, starting, settling or handing over one job', {
  ...dies,
  setup: setup(1),
  outcomes: results('0 died, 0 left', '0 died, 1 left', '1 died, 0 left'),
});

/** The other claims when the host is done: what ran on the dead thread must not be there. */
litmus('what died with its thread does not start again', {
  ...dies,
  setup: setup(1),
  threads: {
    victim: (s) => claimAndRun(s[1]),
    host: (s) => {
      onExit(s.h, 1);
      claimAndRun(s[2]);
    },
  },
  outcomes: {
    '0 died, 0 left': 'the first settled it, or the other ran it',
    '1 died, 0 left': 'the first had started it',
  },
});

litmus('dies with a batch', {
  ...dies,
  setup: setup(3, 2), // of three jobs and for two workers, a claim may take two
  threads: { ...threads, victim: (s) => claimAndRun(s[1], 1), other: (s) => claimAndRun(s[2], 1) },
  outcome: (s, { victim }) => (victim === 'died' ? account(s) : 'it lives, and holds the rest'),
  outcomes: results('it lives, and holds the rest', '0 died, 1 left', '0 died, 2 left', '0 died, 3 left', '1 died, 1 left'),
});

litmus('dies in its second claim', {
  ...dies,
  setup: setup(3, 2, 2),
  threads: {
    victim: (s) => claimAndRun(s[1]),
    host: (s) => onExit(s.h, 1),
    submitter: (s) => publish(s.region, s.lane, s.entries[2]),
  },
  outcomes: results(
    '0 died, 0 left',
    '0 died, 1 left',
    '0 died, 2 left',
    '0 died, 3 left',
    '1 died, 0 left',
    '1 died, 1 left',
    '1 died, 2 left',
  ),
});

litmus('dies giving back', {
  ...dies,
  setup: setup(3, 2),
  threads: {
    victim: beginsAndGivesBack,
    other: (s) => claimAndRun(s[2], 1),
    host: (s) => onExit(s.h, 1),
  },
  outcome: (s, { victim }) => (victim === 'died' ? account(s) : 'it lives'),
  outcomes: results('it lives', '0 died, 2 left', '0 died, 3 left', '1 died, 1 left', '1 died, 2 left'),
});

litmus('dies leaving, with a task under way', {
  ...dies,
  setup: setup(3, 2),
  threads: {
    victim: (s) => {
      begin(s[1], claim(s[1].claimer, 2));
      leave(s[1]);
      handOver(s[1], s.entries[0]);
    },
    host: (s) => onExit(s.h, 1),
  },
  outcomes: results('0 died, 2 left', '0 died, 3 left', '1 died, 2 left'),
});

/** The next thread of its slot does the same, and may not die of what was left half-done. */
const nextThread = {
  ...dies,
  threads: {
    victim: beginsAndGivesBack,
    host: (s) => {
      onExit(s.h, 1);
      toStarting(s.h.region.m, 1);
      run(s.next, claim(s.next.claimer, 2));
      giveBack(s.next.claimer);
    },
  },
  outcome: (s, { victim }) => (victim === 'died' ? account(s) : 'it lives'),
  outcomes: results('it lives', '0 died, 3 left', '1 died, 2 left'),
};
const alone = (maxBatch) => (sequence) => {
  const s = setup(4, maxBatch)(sequence);
  clearBit(s.region.m, LIVE_BITS, 2);
  return { ...s, next: worker(viewOf(s.region), 1, { maxBatch: 2 }) };
};

litmus('dies opening its front lane, and its slot is used again', { ...nextThread, setup: alone(3) });

litmus('dies linking a ring of its front lane, and its slot is used again', {
  ...nextThread,
  setup: (sequence) => {
    const s = alone(3)(sequence);
    makeLane(s.region, 1, 1, 0, SLOT_FRONT); // a run of two does not fit
    return s;
  },
});

/** Worker 1 dies, worker 2 parks whenever there is nothing. `front`: the lane is the front lane of slot 3, marked, and the only one. */
const setupParked =
  ({ published = 0, front = false, asleep = false }) =>
  () => {
    const region = makeRegion(3);
    const lane = makeLane(region, front ? 3 : HOST, 2, 0, front ? SLOT_FRONT : SLOT_LANE);
    if (front) markFront(region.m, 3);
    openLane(region, slotAt(HOST) + SLOT_FRONT, 2, 0);
    makeLive(region, 1, 2);
    store(region.m, REGION_TARGET, 2);
    if (asleep) publishIdle(region.m, 2);
    const entries = makeJobs(region, 1);
    if (published > 0) publish(region, lane, entries[0]);
    return {
      region,
      lane,
      entries,
      1: worker(viewOf(region), 1),
      2: worker(viewOf(region), 2),
      h: host(viewOf(region)),
      submitter: viewOf(region),
    };
  };
const sleeps = {
  describe,
  exit: { victim: 'host' },
  faults: { die: ['victim'] },
  mayBlock: ['other'],
  outcome: (s, { other }) => {
    if (s.region.m[REGION_SEARCHER] === 1) return 'a dead searcher';
    if (other === 'blocked' && !hasBit(s.region.m, IDLE_BITS, 2)) return 'the other sleeps, and nobody can see it';
    if (s.h.died.length > 0) return 'it died with its thread';
    if (s[1].ran.length + s[2].ran.length > 0) return 'it was run';
    return s.h.started > 0 ? 'a thread is started' : 'the job waits for ever';
  },
};
/** @thread worker; `asleep` as setup left it. Until it has run a job. */
const parks = async (w, asleep = false) => {
  if (asleep) await sleep(w);
  for (;;) {
    claimAndRun(w, 1);
    if (w.ran.length > 0) return;
    await park(w);
  }
};
const lives = (text) => (s, results) => (results.victim === 'died' ? sleeps.outcome(s, results) : text);
const recovers = (s) => {
  onExit(s.h, 1);
  beforeSleep(s.h, 2); // `onMayStart`
};

litmus('dies while it wakes another', {
  ...sleeps,
  setup: setupParked({ published: 1, asleep: true }), // whoever published relied on worker 1
  threads: {
    victim: (s) => passWakeOn(s[1].region),
    other: (s) => parks(s[2], true),
    host: recovers,
  },
  outcomes: { 'it was run': 'by the other' },
});

litmus('dies while it unmarks a front lane', {
  ...sleeps,
  setup: setupParked({ front: true, asleep: true }),
  threads: {
    victim: (s) => unmarkFront(s[1].region, 3), // what it does next is in front.model.js
    other: (s) => parks(s[2], true),
    submitter: (s) => {
      publish(s.submitter, s.lane, s.entries[0]);
      markFront(s.submitter.m, 3);
      wakeFor(s.submitter.m);
    },
    host: recovers,
  },
  outcome: lives('the worker lives'),
  outcomes: { 'it was run': 'by the other', 'the worker lives': 'and looks again' },
});

litmus('dies while it searches', {
  ...sleeps,
  setup: setupParked({ asleep: true }),
  threads: {
    victim: (s) => find(s[1], 1), // what it does next is in search.model.js
    other: (s) => parks(s[2], true),
    submitter: (s) => {
      publish(s.submitter, s.lane, s.entries[0]);
      wakeFor(s.submitter.m);
    },
    host: recovers,
  },
  outcome: lives('the searcher lives'),
  outcomes: { 'it was run': 'by the other', 'the searcher lives': 'and looks again' },
});

const RECOVER = 'pool/recover.js';
const CLAIM = 'pool/claim.js';
mutant('announced after the exchange', {
  module: CLAIM,
  replace: [
    /store\(m, at \+ SLOT_ANNOUNCED, n\);.*\n(\s*if \(!take\(m, c\.offer, n\)\) \{[^}]*\})/,
    '$1 store(m, at + SLOT_ANNOUNCED, n);',
  ],
});
mutant('not announced', { module: CLAIM, replace: ['store(m, at + SLOT_ANNOUNCED, n);', ''] });
mutant('noted as running after the start', {
  module: 'parts/worker.js',
  replace: [
    /store\(m, w\.at \+ SLOT_RUN \+ place, entry\);\n(\s*if \(!toStarted\(m, at, entry\)\) \{[^}]*\})/,
    '$1 store(m, w.at + SLOT_RUN + place, entry);',
  ],
});
mutant('the run list is cleared before the hand-over', {
  module: 'parts/worker.js',
  replace: [
    /(if \(toSettled\(m, at\)\) complete\(w\.region, slotAt\(submitter\), recordOf\(entry\), at\);)\n\s*store\(m, w\.at \+ SLOT_RUN \+ place, 0\);/,
    'store(m, w.at + SLOT_RUN + place, 0); $1',
  ],
});
mutant('what was settled and not handed over is forgotten', { module: RECOVER, replace: ['remains.settled.push(recordOf(entry));', ';'] });
mutant('what ran is published again', {
  by: 'what died with its thread does not start again',
  module: RECOVER,
  replace: [
    /toRequeued \} from '#ring';([\s\S]*?)remains\.died\.push\(recordOf\(entry\)\);/,
    "toRequeued, toRetried } from '#ring';$1remains.requeued.push(toRetried(m, record, recordOf(entry)));",
  ],
});
mutant('recovered before the stack is drained', {
  module: 'parts/host.js',
  replace: [/drain\(h\);\n(\s*const remains = recoverSlot\(region, slot\);)/, '$1 drain(h);'],
});
mutant('announced entries are not published again', {
  module: RECOVER,
  replace: [/for \(let k = 0; k < announced; k\+\+\)/, 'for (let k = 0; k < 0; k++)'],
});
mutant('published again without marking the front lane', { module: 'parts/host.js', replace: ['markFront(region.m, HOST);', ''] });
mutant('a dead searcher still counts', {
  module: RECOVER,
  replace: ['cas(m, REGION_SEARCHER, slot, 0);', ''],
  by: 'dies while it searches',
});
mutant('what is given back is not announced any more', {
  module: CLAIM,
  by: 'dies giving back',
  replace: ['const entries = [];', 'const entries = []; store(region.m, slotAt(c.slot) + SLOT_ANNOUNCED, 0);'],
});
mutant('permits that a dead waker took are not given again', {
  module: RECOVER,
  replace: ['renewPermits(m);', ''],
  by: 'dies while it wakes another',
});
mutant('a front lane that a dead one unmarked is forgotten', {
  module: RECOVER,
  replace: ['remarkFronts(region);', ''],
  by: 'dies while it unmarks a front lane',
});
mutant('a half-linked lane is left as it is', { module: RECOVER, replace: ['mendLane(region, at + SLOT_FRONT);', ''] });
