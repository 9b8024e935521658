/**
 * The batch of a worker, taken from by its owner and emptied by anybody; and the record, which lets one copy of an entry start.
 * What becomes of the entries when the host empties the batch is in rescue.model.js.
 */
import { poke, store } from '#atomics';
import { newBatch, recordAt, recordOf, SLOT_ANNOUNCED, SLOT_BATCH, SLOT_ENTRIES, slotAt } from '#memory';
import { claim, claimer, giveBack, NO_ENTRY, takeNext } from '#pool';
import { toRequeued, toStarted } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { makeJobs, makeLane, makeLive, makeRegion, noteStart, onceEach, reachable, SEQUENCES, startable, viewOf } from './parts/shared.js';

/** Worker 1 has claimed `held` jobs together, and taken the first in hand. The host's lane is there and empty. */
const setup = (held) => (sequence) => {
  const region = makeRegion(2);
  makeLane(region, 0, 2, sequence);
  makeLive(region, 1, 2);
  const entries = makeJobs(region, held);
  const own = slotAt(1);
  for (const [k, entry] of entries.entries()) poke(region.m, own + SLOT_ENTRIES + k, entry);
  store(region.m, own + SLOT_ANNOUNCED, held);
  store(region.m, own + SLOT_BATCH, newBatch(0, held));
  const inHand = takeNext(region.m, own);
  const claimerOf = (slot) => claimer(viewOf(region), slot, 2, sequence | 0);
  return { region, held, inHand, owner: claimerOf(1), rescuer: claimerOf(1), other: claimerOf(2) };
};

/** @thread any that holds the entry. Its record; -1 if it was void, which no entry of a batch should be. */
function start({ region }, entry) {
  const record = recordOf(entry);
  const at = recordAt(region, record);
  if (!toStarted(region.m, at, entry)) return -1;
  noteStart(region, at);
  return record;
}

/** @thread owner. Starts what it holds, job by job. */
function startHeld(c, inHand) {
  const started = [start(c, inHand)];
  for (let entry = takeNext(c.region.m, slotAt(c.slot)); entry !== NO_ENTRY; entry = takeNext(c.region.m, slotAt(c.slot)))
    started.push(start(c, entry));
  return started;
}

/** @thread other. Claims and starts until there is nothing. */
function startClaimed(c) {
  const started = [];
  for (let entry = claim(c, 1); entry !== NO_ENTRY; entry = claim(c, 1)) started.push(start(c, entry));
  return started;
}

const account = (s, { owner, other = [], rescuer = [] }) => {
  const started = [...owner, ...other, ...rescuer];
  if (started.includes(-1)) return 'an entry in two hands';
  const left = startable(s.region, reachable(s.region));
  return onceEach([...started, ...left], s.held) || `${owner.length} by its owner, ${left.length} left`;
};

litmus('a batch is emptied while its owner takes from it', {
  setup: setup(3),
  describe,
  sequences: SEQUENCES,
  threads: {
    owner: (s) => startHeld(s.owner, s.inHand),
    rescuer: (s) => {
      giveBack(s.rescuer);
      return startClaimed(s.other);
    },
  },
  outcome: account,
  outcomes: {
    '1 by its owner, 0 left': 'the rescuer took all but the one in hand',
    '2 by its owner, 0 left': 'the last was rescued',
    '3 by its owner, 0 left': 'nothing was rescued',
  },
});

litmus('two empty the same batch', {
  setup: setup(3),
  describe,
  threads: {
    owner: (s) => startHeld(s.owner, s.inHand),
    rescuer: (s) => {
      giveBack(s.rescuer);
      giveBack(s.rescuer); // finds nothing, whatever was there
    },
    other: (s) => startClaimed(s.other),
  },
  outcome: account,
  outcomes: {
    '1 by its owner, 0 left': 'rescued and started',
    '1 by its owner, 2 left': 'rescued',
    '2 by its owner, 0 left': 'the last was rescued, and started',
    '2 by its owner, 1 left': 'the last was rescued',
    '3 by its owner, 0 left': 'nothing was rescued',
  },
});

litmus('an owner gives back what it holds, and goes on claiming', {
  setup: setup(2),
  describe,
  sequences: SEQUENCES,
  threads: {
    owner: (s) => {
      const first = start(s.owner, s.inHand); // an async task: the rest must not wait for it
      giveBack(s.owner);
      return [first, ...startClaimed(s.owner)];
    },
    other: (s) => startClaimed(s.other),
  },
  outcome: account,
  outcomes: {
    '1 by its owner, 0 left': 'the other took the second',
    '2 by its owner, 0 left': 'nobody else came in time',
  },
});

litmus('one of many copies of an entry starts', {
  setup: setup(1),
  describe,
  threads: {
    owner: (s) => [start(s.owner, s.inHand)],
    other: (s) => [start(s.other, s.inHand)],
    rescuer: (s) => {
      // As recovery does with an entry that a dead thread had announced too.
      const { region } = s.rescuer;
      const record = recordOf(s.inHand);
      const again = toRequeued(region.m, recordAt(region, record), record, s.inHand);
      return again === 0 ? [] : [start(s.rescuer, again)];
    },
  },
  outcome: (_s, results) => {
    const by = Object.keys(results).filter((name) => results[name].some((record) => record !== -1));
    return by.length === 1 ? `by the ${by}` : `started ${by.length} times`;
  },
  outcomes: {
    'by the owner': 'it was first',
    'by the other': 'it was first',
    'by the rescuer': 'the generation moved on before the others came',
  },
});

mutant('taken from the batch without an exchange', {
  module: 'pool/claim.js',
  replace: [
    /return cas\(m, slot \+ SLOT_BATCH, batch, advanced\(batch\)\) === batch \? entry : NO_ENTRY;/,
    'store(m, slot + SLOT_BATCH, advanced(batch)); return entry;',
  ],
});
mutant('batch emptied without an exchange', {
  module: 'pool/claim.js',
  replace: [
    /if \(cas\(m, at \+ SLOT_BATCH, batch, newBatch\(batch, 0\)\) === batch\)\s*return;/,
    'store(m, at + SLOT_BATCH, newBatch(batch, 0)); return;',
  ],
});
mutant('entries kept from a batch that was lost', { module: 'pool/claim.js', replace: ['into.length = had;', ''] });
mutant('started without an exchange', {
  module: 'ring/record.js',
  replace: [
    /return cas\(m, at \+ RECORD_STATE, word, inState\(word, STARTED\)\) === word;/,
    'store(m, at + RECORD_STATE, inState(word, STARTED)); return true;',
  ],
});
