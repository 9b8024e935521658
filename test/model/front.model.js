/**
 * Front lanes: a thread that publishes in its own, and two workers that claim from it and unmark it when they found it empty.
 * `claim` is the product's, with all its sources; a forgotten entry is one in a front lane whose bit is clear.
 */
import { recordOf, SLOT_FRONT, slotAt } from '#memory';
import { claim, claimer, markFront, NO_ENTRY, unmarkFront } from '#pool';
import { publishRun } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { makeJobs, makeLane, makeLive, makeRegion, onceEach, reachable, SEQUENCES, viewOf } from './parts/shared.js';

/** `already` jobs lie in the front lane of slot 1, whose bit is set. */
const setup = (already, more) => (sequence) => {
  const region = makeRegion(3);
  makeLane(region, 0, 2, sequence);
  makeLive(region, 1, 2, 3);
  const lane = makeLane(region, 1, 2, sequence, SLOT_FRONT);
  const entries = makeJobs(region, already + more);
  if (already > 0) publishRun(region, lane, entries.slice(0, already));
  markFront(region.m, 1);
  const claimerOf = (slot) => claimer(viewOf(region), slot, 1, sequence | 0);
  return { region, lane, jobs: already + more, later: entries.slice(already), giver: viewOf(region), 2: claimerOf(2), 3: claimerOf(3) };
};

/** @thread giver, as `giveBack` and `publishAhead` do. */
function give(s, entries) {
  publishRun(s.giver, s.lane, entries);
  markFront(s.giver.m, 1);
}

/** @thread worker. */
function claimAll(c) {
  const records = [];
  for (let entry = claim(c, 1); entry !== NO_ENTRY; entry = claim(c, 1)) records.push(recordOf(entry));
  return records;
}

const account = (s, { one = [], two = [] }) => {
  const left = reachable(s.region).map(recordOf);
  return onceEach([...one, ...two, ...left], s.jobs) || `${one.length + two.length} claimed, ${left.length} left`;
};

litmus('given back while two look', {
  setup: setup(0, 1),
  sequences: SEQUENCES,
  describe,
  threads: { giver: (s) => give(s, s.later), one: (s) => claimAll(s[2]), two: (s) => claimAll(s[3]) },
  outcome: account,
  outcomes: { '0 claimed, 1 left': 'both had looked before', '1 claimed, 0 left': 'one of them found it' },
});

litmus('given back while the lane runs empty', {
  setup: setup(1, 1),
  describe,
  threads: { giver: (s) => give(s, s.later), one: (s) => claimAll(s[2]), two: (s) => claimAll(s[3]) },
  outcome: account,
  outcomes: { '1 claimed, 1 left': 'the second came too late', '2 claimed, 0 left': 'in time' },
});

litmus('given back twice, with two that unmark', {
  setup: setup(0, 2),
  describe,
  threads: {
    giver: (s) => {
      give(s, s.later.slice(0, 1));
      give(s, s.later.slice(1));
    },
    one: (s) => claimAll(s[2]),
    two: (s) => {
      unmarkFront(s[3].region, 1);
      unmarkFront(s[3].region, 1);
      return [];
    },
  },
  outcome: account,
  outcomes: { '0 claimed, 2 left': 'too late', '1 claimed, 1 left': 'one in time', '2 claimed, 0 left': 'both in time' },
});

mutant('unmarked without a second look', {
  module: 'pool/sources.js',
  replace: [/if \(hasEntries\(region, slotAt\(slot\) \+ SLOT_FRONT\)\)\s*setBit\(region\.m, FRONT_BITS, slot\);/, ''],
});
mutant('second look before the bit is cleared', {
  module: 'pool/sources.js',
  replace: [
    /clearBit\(region\.m, FRONT_BITS, slot\);\s*if \(hasEntries\(region, slotAt\(slot\) \+ SLOT_FRONT\)\)\s*setBit\(region\.m, FRONT_BITS, slot\);/,
    'if (!hasEntries(region, slotAt(slot) + SLOT_FRONT)) clearBit(region.m, FRONT_BITS, slot);',
  ],
});
mutant('marked before the entry is published', {
  module: 'front.model.js',
  replace: [/(publishRun\(s\.giver, s\.lane, entries\);)\n\s*(markFront\(s\.giver\.m, 1\);)/, '$2 $1'],
});
