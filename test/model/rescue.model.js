/**
 * The rest of a batch, taken by the host because a job of its worker was given up, while the worker goes on, leaves, gives it back
 * itself or dies. Each job is in one hand. The host is `Cancellation.#giveBackBatch` in `parts/host.js`; it needs no announcing, since
 * nobody recovers the host.
 */
import { poke, store } from '#atomics';
import { HOST, newBatch, REGION_TARGET, recordOf, SLOT_ANNOUNCED, SLOT_BATCH, SLOT_ENTRIES, SLOT_FRONT, slotAt } from '#memory';
import { takeBatch, takeNext } from '#pool';
import { openLane, publish } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { endsOf, endTurn, host, nextTurn, onExit, rescue } from './parts/host.js';
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
import { claimAndRun, giveBackRest, leave, run, settleOne, worker } from './parts/worker.js';

/** Worker 1 has claimed `held` jobs together, and taken the first in hand; `more` lie in the host's lane. */
const setup =
  (held, more = 0, awaits = []) =>
  (sequence = 0) => {
    const region = makeRegion(2);
    const lane = makeLane(region, HOST, 2, sequence);
    openLane(region, slotAt(HOST) + SLOT_FRONT, 2, sequence | 0);
    makeLive(region, 1);
    store(region.m, REGION_TARGET, 2);
    const entries = makeJobs(region, held + more);
    const own = slotAt(1);
    for (let k = 0; k < held; k++) poke(region.m, own + SLOT_ENTRIES + k, entries[k]);
    store(region.m, own + SLOT_ANNOUNCED, held);
    store(region.m, own + SLOT_BATCH, newBatch(0, held));
    const inHand = takeNext(region.m, own);
    for (const entry of entries.slice(held)) publish(region, lane, entry);
    const workers = { 1: worker(viewOf(region), 1, { maxBatch: 2, awaits }), 2: worker(viewOf(region), 2) };
    return { region, turn: region.m.length - 4, jobs: held + more, inHand, ...workers, h: host(viewOf(region)) };
  };

/** @thread worker 1. */
function owner(s) {
  run(s[1], s.inHand);
  claimAndRun(s[1]);
}

const account = (s) => {
  for (let record = 1; record <= s.jobs; record++) if (startsOf(s.region, record) > 1) return `${record} started twice`;
  const left = startable(s.region, reachable(s.region));
  const ends = [...endsOf(s.h), ...handedOver(s.region)];
  return onceEach([...ends, ...left], s.jobs) || `${s[1].ran.length} by its owner, ${left.length > 0 ? 'some' : 'none'} left`;
};
const results = (...texts) => Object.fromEntries(texts.map((text) => [text, 'each job once']));

litmus('rescued while its owner takes from it', {
  setup: setup(3),
  sequences: SEQUENCES,
  describe,
  threads: { owner, host: (s) => rescue(s.h, 1), other: (s) => claimAndRun(s[2]) },
  outcome: account,
  outcomes: results(
    '1 by its owner, none left',
    '1 by its owner, some left',
    '2 by its owner, none left',
    '2 by its owner, some left',
    '3 by its owner, none left',
  ),
});

/** The batch that was looked at and the next one have the same count and the same next. */
litmus('rescued while its owner claims the next batch', {
  setup: setup(2, 2),
  bound: 3,
  describe,
  threads: { owner, host: (s) => rescue(s.h, 1) },
  outcome: account,
  outcomes: results('2 by its owner, some left', '3 by its owner, some left', '4 by its owner, none left'),
});

litmus('rescued by one of two, and all of it', {
  setup: setup(3),
  describe,
  threads: { owner, host: (s) => taken(s.h), other: (s) => taken(s[2]) },
  outcome: (s, { host: one, other: two }) => {
    const all = [...s[1].ran, ...one, ...two];
    return onceEach(all, s.jobs) || `${s[1].ran.length} by its owner, ${one.length > 0 && two.length > 0 ? 'shared' : 'the rest by one'}`;
  },
  outcomes: results('1 by its owner, the rest by one', '2 by its owner, the rest by one', '3 by its owner, the rest by one'),
});

/** @thread any. The records it took. */
function taken({ region }) {
  const entries = [];
  takeBatch(region.m, 1, entries);
  const records = [];
  for (const entry of entries) records.push(recordOf(entry));
  return records;
}

litmus('rescued while its owner gives it back, and leaves with a task under way', {
  setup: setup(3, 0, [1]),
  describe,
  threads: {
    owner: (s) => {
      run(s[1], s.inHand);
      giveBackRest(s[1]);
      leave(s[1]);
      settleOne(s[1]);
    },
    host: (s) => rescue(s.h, 1, 2),
    other: (s) => claimAndRun(s[2]),
  },
  outcome: account,
  outcomes: results('1 by its owner, none left', '1 by its owner, some left'),
});

/** The host handles the exit in a turn of its own. */
litmus('rescued while its owner dies', {
  setup: setup(3),
  describe,
  exit: { owner: 'exited' },
  faults: { die: ['owner'] },
  threads: {
    owner,
    host: (s) => {
      rescue(s.h, 1);
      endTurn(s.h, s.turn);
    },
    exited: (s) => {
      nextTurn(s.h, s.turn);
      onExit(s.h, 1);
    },
  },
  outcome: (s) => account(s).replace(/^\d by its owner/, `${s.h.died.length} died`),
  outcomes: results('0 died, none left', '0 died, some left', '1 died, none left', '1 died, some left'),
});

const CLAIM = 'pool/claim.js';
const TAKES = /if \(cas\(m, at \+ SLOT_BATCH, batch, newBatch\(batch, 0\)\) === batch\)\s*return;/;
mutant('a new batch under the old epoch', {
  module: 'memory/words.js',
  by: 'rescued while its owner claims the next batch',
  replace: ['((word >>> LEFT_BITS) + 1) << LEFT_BITS', '(word >>> LEFT_BITS) << LEFT_BITS'],
});
mutant('rescued twice: a lost exchange counts as won', {
  module: CLAIM,
  replace: [TAKES, 'cas(m, at + SLOT_BATCH, batch, newBatch(batch, 0)); return;'],
});
mutant('rescued, and the batch left as it was', { module: CLAIM, replace: [TAKES, 'return;'] });
