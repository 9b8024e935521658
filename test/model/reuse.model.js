/**
 * A record used again: from FREE to SETTLED and round again while a slow worker still holds an old entry for it. The generation
 * voids the entry. Host: `settleAll` and `Submitter.prepare`; workers: `parts/worker.js`.
 */
import { poke } from '#atomics';
import { HOST, nextGeneration, RECORD_HANDLER, RECORD_STATE, recordAt, SLOT_LANE, slotAt } from '#memory';
import { anySource, claim, NO_ENTRY } from '#pool';
import { FREE, publish, toQueued, toRequeued } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { drain, host } from './parts/host.js';
import {
  handedOver,
  makeJobs,
  makeLane,
  makeLive,
  makeRegion,
  onceEach,
  reachable,
  SEQUENCES,
  startable,
  startsOf,
  viewOf,
} from './parts/shared.js';
import { run, worker } from './parts/worker.js';

/** Job 1 is published, and a slow worker holds a copy of its entry: from a batch that was rescued, say. */
const setup =
  (generations = 0) =>
  (sequence = 0) => {
    const region = makeRegion(2);
    const lane = makeLane(region, HOST, 2, sequence);
    makeLive(region, 1, 2);
    const at = recordAt(region, 1);
    for (let k = 0; k < generations; k++) region.m[at + RECORD_STATE] = nextGeneration(region.m[at + RECORD_STATE], FREE);
    const [entry] = makeJobs(region, 1);
    publish(region, lane, entry);
    return { region, lane, entry, slow: worker(viewOf(region), 1), fast: worker(viewOf(region), 2), h: host(viewOf(region)) };
  };

/** @thread worker. Claims and runs what there is, twice at most: a lap of the submitter may come between. */
function work(w) {
  for (let k = 0; k < 2; k++) {
    const entry = claim(w.claimer, 1);
    if (entry !== NO_ENTRY) run(w, entry);
  }
  return w.ran.length;
}

/** @thread host. If the job has come back: frees its record and uses it for a second one. */
function again(s) {
  if (!drain(s.h)) return false;
  poke(s.h.region.m, recordAt(s.h.region, 1) + RECORD_HANDLER, SECOND);
  const entry = toQueued(s.h.region.m, recordAt(s.h.region, 1), 1);
  publish(s.h.region, slotAt(HOST) + SLOT_LANE, entry);
  return true;
}

/** What the second job says, where the first says 0. */
const SECOND = 2;
const account = (s, { slow, fast, host: reused }) => {
  const left = startable(s.region, reachable(s.region));
  const settled = [...s.h.settled, ...handedOver(s.region)].length;
  if (s.slow.read.includes(SECOND)) return 'a void entry started the next job';
  if (startsOf(s.region, 1) !== s.slow.ran.length + s.fast.ran.length) return 'two wrote at once';
  if (s.slow.ran.length + s.fast.ran.length + left.length !== (reused ? 2 : 1))
    return `${s.slow.ran.length + s.fast.ran.length} starts, ${left.length} left`;
  if (settled !== s.slow.ran.length + s.fast.ran.length) return `${settled} settled`;
  return `${reused ? 'used twice' : 'used once'}: slow ${slow}, fast ${fast}`;
};

litmus('an old entry in the hand of a slow worker', {
  setup: setup(),
  sequences: SEQUENCES,
  bound: 3,
  describe,
  threads: {
    slow: (s) => {
      run(s.slow, s.entry);
      return s.slow.ran.length;
    },
    fast: (s) => work(s.fast),
    host: again,
  },
  outcome: account,
  outcomes: {
    'used once: slow 1, fast 0': 'the slow one was first; the host looked too early',
    'used once: slow 0, fast 1': 'the fast one was first; the host looked too early',
    'used twice: slow 1, fast 0': 'the second job is still there',
    'used twice: slow 1, fast 1': 'one each; never both by the slow one, whose entry is void by then',
    'used twice: slow 0, fast 1': 'the second job is still there',
    'used twice: slow 0, fast 2': 'the slow one came too late for both',
  },
});

litmus('an old entry, when the generation of entries wraps', {
  setup: setup(255),
  bound: 3,
  describe,
  threads: {
    slow: (s) => {
      run(s.slow, s.entry);
      return s.slow.ran.length;
    },
    fast: (s) => work(s.fast),
    host: again,
  },
  outcome: account,
  outcomes: {
    'used once: slow 1, fast 0': 'as above',
    'used once: slow 0, fast 1': 'as above',
    'used twice: slow 1, fast 0': 'as above',
    'used twice: slow 1, fast 1': 'as above',
    'used twice: slow 0, fast 1': 'as above',
    'used twice: slow 0, fast 2': 'as above',
  },
});

litmus('published again by recovery while others hold copies', {
  setup: setup(),
  bound: 3,
  describe,
  threads: {
    slow: (s) => {
      run(s.slow, s.entry);
      return s.slow.ran.length;
    },
    fast: (s) => work(s.fast),
    host: (s) => {
      const entry = toRequeued(s.h.region.m, recordAt(s.h.region, 1), 1, s.entry);
      if (entry === 0) return 'too late';
      publish(s.h.region, slotAt(HOST) + SLOT_LANE, entry);
      return anySource(s.h.region) ? 'again' : 'again, and claimed';
    },
  },
  outcome: (s, { host: what }) => {
    const left = startable(s.region, reachable(s.region));
    const all = [...s.slow.ran, ...s.fast.ran, ...left];
    if (startsOf(s.region, 1) > 1) return 'started twice';
    return onceEach(all, 1) || `${what.startsWith('again') ? 'again' : what}: slow ${s.slow.ran.length}, fast ${s.fast.ran.length}`;
  },
  outcomes: {
    'too late: slow 1, fast 0': 'it had started',
    'too late: slow 0, fast 1': 'it had started',
    'again: slow 0, fast 1': 'by its new entry',
    'again: slow 0, fast 0': 'still there',
  },
});

const M = 'ring/record.js';
mutant('freed without a new generation', {
  module: M,
  replace: ['nextGeneration(load(m, at + RECORD_STATE), FREE)', 'inState(load(m, at + RECORD_STATE), FREE)'],
});
mutant('the generation of the entry is not compared', {
  module: M,
  replace: [/(export function toStarted[\s\S]*?stateOf\(word\) !== QUEUED) \|\| !isCurrent\(entry, word\)/, '$1'],
});
mutant('published again by a store', {
  module: M,
  replace: [
    'return cas(m, at + RECORD_STATE, word, next) === word ? entryFor(record, next) : 0;',
    'store(m, at + RECORD_STATE, next); return entryFor(record, next);',
  ],
});
mutant('published again without a new generation', {
  module: M,
  replace: ['const next = nextGeneration(word, QUEUED);', 'const next = inState(word, QUEUED);'],
});
