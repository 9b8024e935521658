/**
 * The life of a worker's thread: the host that starts it and the thread itself write one word and one bit; a thread that leaves
 * counts no more, so it finds somebody for what is still there. The host's side mirrors `Threads.start` and `#onExit`.
 */
import { load, store, wait } from '#atomics';
import { HOST, hasBit, LIVE_BITS, REGION_TARGET, SLOT_FRONT, SLOT_LANE, SLOT_LIFE, slotAt } from '#memory';
import { LEAVING, LIVE, passWakeOn, publishIdle, runningWorkers, toLeaving, STARTING, toLive, toStarting, toVacant, VACANT } from '#pool';
import { openLane, publish } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { host, settleAll, startThread, submit } from './parts/host.js';
import { handedOver, makeJobs, makeLane, makeLive, makeRegion, onceEach, reachable, startable, viewOf } from './parts/shared.js';
import { leave, settleOne, sleep, worker, workUntilLeaving } from './parts/worker.js';

const setup =
  (jobs, ...live) =>
  () => {
    const region = makeRegion(2);
    makeLane(region, HOST, 2, 0);
    openLane(region, slotAt(HOST) + SLOT_FRONT, 2, 0);
    makeLive(region, ...live);
    store(region.m, REGION_TARGET, 1);
    return {
      region,
      created: region.m.length - 8,
      jobs,
      entries: makeJobs(region, jobs),
      1: worker(viewOf(region), 1, { maxJobs: 1 }),
      2: worker(viewOf(region), 2),
      h: host(viewOf(region)),
    };
  };

litmus('a thread is started, works and leaves', {
  setup: setup(0),
  describe,
  threads: {
    host: (s) => startThread(s.h, 1, s.created),
    // It boots as soon as it is created, and may be quicker than the host's next line.
    thread: (s) => {
      wait(s[1].region.m, s.created, 0);
      toLive(s[1].region.m, 1);
      const running = runningWorkers(s[1].region.m);
      toLeaving(s[1].region.m, 1);
      return running;
    },
  },
  outcome: (s, { thread }) => {
    const { m } = s.region;
    const life = load(m, slotAt(1) + SLOT_LIFE);
    return `${['vacant', 'starting', 'live', 'leaving'][life]}, ${hasBit(m, LIVE_BITS, 1) ? 'counted' : 'not counted'}, ${thread} seen`;
  },
  outcomes: { 'leaving, not counted, 1 seen': 'its own last word' },
});

litmus('one that leaves and one that relied on it', {
  setup: setup(1, 1),
  describe,
  mayBlock: ['host'],
  threads: {
    leaver: (s) => leave(s[1]),
    host: async (s) => {
      submit(s.h, s.entries[0]);
      return settleAll(s.h, 1);
    },
  },
  outcome: (s) => (s.h.started > 0 ? 'a thread is started' : 'the job waits for ever'),
  outcomes: { 'a thread is started': 'by the host: it saw too few, or the leaver told it' },
});

litmus('after maxJobs a worker leaves, and the rest is found', {
  setup: setup(2, 1),
  describe,
  mayBlock: ['host'],
  threads: {
    worker: (s) => workUntilLeaving(s[1]),
    host: async (s) => {
      submit(s.h, s.entries[0]);
      submit(s.h, s.entries[1]);
      return settleAll(s.h, 2);
    },
  },
  outcome: (s) => {
    const left = startable(s.region, reachable(s.region));
    const wrong = onceEach([...s.h.settled, ...handedOver(s.region), ...left], 2);
    return wrong || `${s[1].ran.length} run, ${s.h.started > 0 ? 'a thread is started' : 'the rest waits for ever'}`;
  },
  outcomes: { '1 run, a thread is started': 'for the second' },
});

litmus('one that leaves and one that sleeps', {
  setup: setup(2, 1, 2),
  describe,
  mayBlock: ['leaver', 'sleeper'],
  threads: {
    leaver: (s) => workUntilLeaving(s[1]),
    sleeper: (s) => workUntilLeaving(s[2]),
    host: (s) => {
      submit(s.h, s.entries[0]);
      submit(s.h, s.entries[1]);
    },
  },
  outcome: (s, { leaver }) => {
    if (leaver === 'blocked') return s[2].ran.length === 2 ? 'by the sleeper' : 'the rest waits for ever';
    return s[1].ran.length + s[2].ran.length === 2 ? 'by both' : 'the rest waits for ever';
  },
  outcomes: { 'by the sleeper': 'the other found nothing', 'by both': 'one each' },
});

/** Worker 2 sleeps; only what worker 1 does can wake it. */
const withSleeper = (jobs, given) => () => {
  const s = setup(jobs, 1, 2)();
  Object.assign(s[1], { maxJobs: 0, maxBatch: 2 }, given);
  s[1].claimer.size = 2;
  for (const entry of s.entries) publish(s.region, slotAt(HOST) + SLOT_LANE, entry);
  publishIdle(s.region.m, 2);
  store(s.region.m, REGION_TARGET, 2);
  return s;
};
const leavesToOthers = {
  describe,
  mayBlock: ['leaver', 'sleeper'],
  threads: {
    leaver: async (s) => {
      await workUntilLeaving(s[1]);
      while (s[1].inFlight.length > 0) settleOne(s[1]);
    },
    sleeper: async (s) => {
      await sleep(s[2]);
      return workUntilLeaving(s[2]);
    },
  },
  outcome: (s, { leaver }) => {
    const left = startable(s.region, reachable(s.region));
    if (left.length > 0) return 'some wait for ever';
    if (leaver === 'blocked') return s[2].ran.length === s.jobs - 1 ? 'it parks, and its task goes on' : 'it sleeps with jobs in hand';
    if (hasBit(s.region.m, LIVE_BITS, 1)) return 'still counted';
    return onceEach(handedOver(s.region), s.jobs) || `${s[1].ran.length} by the leaver`;
  },
};

litmus('one that leaves with a task under way', {
  ...leavesToOthers,
  setup: withSleeper(3, { awaits: [1], maxJobs: 2 }),
  outcomes: {
    '2 by the leaver': 'what was claimed behind the first went back, and one came again',
    'it parks, and its task goes on': 'the other was quicker: nothing makes it leave',
  },
});

litmus('one that leaves with a batch in hand', {
  ...leavesToOthers,
  setup: withSleeper(2, { fails: 1 }),
  outcomes: { '1 by the leaver': 'a module failed to load: it runs nothing more' },
});

litmus('exit is seen after leaving', {
  setup: () => {
    const s = setup(0)();
    toStarting(s.region.m, 1);
    return s;
  },
  describe,
  faults: { die: ['thread'] },
  exit: { thread: 'host' },
  threads: {
    thread: (s) => {
      toLive(s[1].region.m, 1);
      store(s[1].region.m, s.created, 1); // it claims from here on
      passWakeOn(s[1].region);
      toLeaving(s[1].region.m, 1);
    },
    host: (s) => toVacant(s.h.region.m, 1),
  },
  outcome: (s, { host: was }) => {
    if (was === STARTING && load(s.region.m, s.created) === 1) return 'one that worked counts as a boot failure';
    if (was === 'never started') return load(s.region.m, slotAt(1) + SLOT_LIFE) === LEAVING ? 'left' : 'wrong';
    const gone = load(s.region.m, slotAt(1) + SLOT_LIFE) === VACANT && !hasBit(s.region.m, LIVE_BITS, 1);
    return gone ? { [STARTING]: 'never ready', [LIVE]: 'crashed', [LEAVING]: 'had left' }[was] : 'still counted';
  },
  outcomes: { left: 'it lives', 'never ready': 'a boot failure', crashed: 'while it worked', 'had left': 'in good order' },
});

mutant('leaves before it stops counting', {
  module: 'parts/worker.js',
  replace: [/(pool\.toLeaving\(w\.region\.m, w\.slot\);)\n\s*pool\.passWakeOn\(w\.region\);/, 'pool.passWakeOn(w.region); $1'],
});
mutant('leaves and tells nobody', {
  module: 'parts/worker.js',
  replace: [/(pool\.toLeaving\(w\.region\.m, w\.slot\);)\n\s*pool\.passWakeOn\(w\.region\);/, '$1'],
});
mutant('leaves without giving back', {
  module: 'parts/worker.js',
  by: 'one that leaves with a batch in hand',
  replace: [/(export function leave\(w\) \{\n)\s*pool\.giveBack\(w\.claimer\);/, '$1'],
});
mutant('leaves and still counts', {
  module: 'pool/life.js',
  replace: [/(SLOT_LIFE, LEAVING\);)\n\s*discount\(m, slot\);/, '$1'],
});
mutant('the host is not woken for a thread', {
  module: 'pool/idle.js',
  replace: ['wakeFor(region.m) === START_ONE', 'wakeFor(region.m) === -1'],
});
mutant('live is never said', {
  by: 'exit is seen after leaving',
  module: 'pool/life.js',
  replace: ['store(m, slotAt(slot) + SLOT_LIFE, LIVE);', ''],
});
