/**
 * A lane: one producer, two consumers that claim singly or in batches. Mirrors: nothing, these are `ring/lane.ts`'s own functions;
 * `claimAll` is the loop of `pool/claim.ts` around them.
 */
import { peek } from '#atomics';
import { assert, seqAdd, seqDiff } from '#base';
import { RING_TAIL, SLOT_ENTRIES, slotAt } from '#memory';
import { EMPTY, LOST, offer, publish, publishRun, take } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { ascending, makeLane, makeRegion, onceEach, rest, SEQUENCES, viewOf } from './parts/shared.js';

const setup =
  (already = 0) =>
  (sequence) => {
    const region = makeRegion(2);
    const lane = makeLane(region, 0, 2, sequence);
    for (let entry = 1; entry <= already; entry++) publish(region, lane, entry);
    return { region, lane, already, producer: viewOf(region), 1: viewOf(region), 2: viewOf(region) };
  };

/** @thread slot. Up to `claims` claims of up to `most` entries; until the lane is empty. Each claim's entries. */
function claimAll(s, slot, claims, most) {
  const region = s[slot];
  const own = slotAt(slot) + SLOT_ENTRIES;
  const out = { ring: 0, head: 0 };
  const got = [];
  while (got.length < claims) {
    const n = offer(region, s.lane, most, 1, own, out);
    if (n === EMPTY) break;
    if (n === LOST || !take(region.m, out, n)) continue;
    // Not through the seam: it is no step of the consumer's.
    assert(seqDiff(region.m[out.ring + RING_TAIL], seqAdd(out.head, n)) >= 0, 'a claim ends at the tail');
    const claim = [];
    for (let k = 0; k < n; k++) claim.push(peek(region.m, own + k));
    got.push(claim);
  }
  return got;
}

/** `1+2 claimed`: how many each consumer got, if every entry is where it should be. */
const account =
  (count) =>
  (s, { one, two }) => {
    const left = rest(s.region, s.lane);
    for (const got of [one, two]) if (!ascending(got.flat())) return `out of order: ${got.flat()}`;
    const claimed = [...one.flat(), ...two.flat()];
    if (left.some((entry) => claimed.some((other) => other > entry))) return `${left} left behind`;
    return onceEach([...claimed, ...left], count) || `${one.flat().length}+${two.flat().length} claimed`;
  };
const counts = (...pairs) =>
  Object.fromEntries(pairs.map((pair) => [`${pair} claimed`, 'each entry once, in order; the rest is still there']));

litmus('three published, two claim singly', {
  setup: setup(),
  sequences: SEQUENCES,
  describe,
  threads: {
    producer: ({ producer, lane }) => {
      for (let entry = 1; entry <= 3; entry++) publish(producer, lane, entry); // the third links a ring, unless one was claimed
    },
    one: (s) => claimAll(s, 1, 2, 1),
    two: (s) => claimAll(s, 2, 2, 1),
  },
  outcome: account(3),
  outcomes: counts('0+0', '0+1', '1+0', '1+1', '2+0', '0+2', '2+1', '1+2'),
});

litmus('a full ring is closed while two claim from it', {
  setup: setup(2),
  sequences: SEQUENCES,
  describe,
  threads: {
    producer: ({ producer, lane }) => {
      publish(producer, lane, 3);
      publish(producer, lane, 4);
    },
    one: (s) => claimAll(s, 1, 3, 1),
    two: (s) => claimAll(s, 2, 3, 1),
  },
  outcome: account(4),
  outcomes: counts('0+2', '2+0', '1+1', '0+3', '3+0', '1+2', '2+1', '2+2', '1+3', '3+1'),
});

litmus('a run is seen whole, and claimed in batches', {
  setup: setup(1),
  sequences: SEQUENCES,
  describe,
  threads: {
    producer: ({ producer, lane }) => publishRun(producer, lane, [2, 3]), // in the ring, or in a new one if the entry before is still there
    one: (s) => claimAll(s, 1, 2, 2),
    two: (s) => claimAll(s, 2, 2, 2),
  },
  outcome: (s, { one, two }) => {
    const torn = [...one, ...two].find((claim) => claim.join() !== '1' && claim.join() !== '2,3');
    return torn ? `part of a run: ${torn}` : account(3)(s, { one, two });
  },
  outcomes: counts('1+0', '0+1', '2+1', '1+2', '3+0', '0+3'),
});

litmus('runs that fill rings and link larger ones', {
  setup: setup(),
  sequences: SEQUENCES,
  describe,
  threads: {
    producer: ({ producer, lane }) => {
      publishRun(producer, lane, [1, 2]);
      publishRun(producer, lane, [3, 4, 5]);
    },
    one: (s) => claimAll(s, 1, 2, 3),
    two: (s) => claimAll(s, 2, 2, 3),
  },
  outcome: (s, { one, two }) => {
    const torn = [...one, ...two].find((claim) => claim.join() !== '1,2' && claim.join() !== '3,4,5');
    return torn ? `part of a run: ${torn}` : account(5)(s, { one, two });
  },
  outcomes: counts('0+0', '0+2', '2+0', '2+3', '3+2', '5+0', '0+5'),
});

const M = 'ring/lane.js';
mutant('tail before the entry', {
  module: M,
  replace: [
    /poke\(m, ring \+ RING_ENTRIES \+ \(tail & peek\(m, ring \+ RING_MASK\)\), entry\);.*\n\s*store\(m, ring \+ RING_TAIL, seqAdd\(tail, 1\)\);/,
    'store(m, ring + RING_TAIL, seqAdd(tail, 1)); poke(m, ring + RING_ENTRIES + (tail & peek(m, ring + RING_MASK)), entry);',
  ],
});
mutant('tail of a run before its entries', {
  module: M,
  replace: [/(for \(let k = 0; k < count; k\+\+\)\n?\s*poke\(.*\);)\n\s*(store\(m, ring \+ RING_TAIL, seqAdd\(tail, count\)\);)/, '$2 $1'],
});
mutant('a run published entry by entry', {
  module: M,
  replace: [
    /for \(let k = 0; k < count; k\+\+\)\n?\s*(poke\(.*\);)\n/,
    'for (let k = 0; k < count; k++) { $1 store(m, ring + RING_TAIL, seqAdd(tail, k + 1)); }\n',
  ],
});
mutant('plain compare at the wrap', { module: 'base/brand.js', replace: ['(a - b) | 0', 'a - b'] });
mutant('a ring counts as drained after one look at its tail', {
  module: M,
  replace: ['if (load(m, ring + RING_TAIL) === tail)', 'if (true)'],
});
mutant('full one entry too late', { module: M, replace: [/(load\(m, ring \+ RING_HEAD\)\) )> (peek)/, '$1> 1 + $2'] });
mutant('taken without an exchange', {
  module: M,
  replace: [
    /return cas\(m, from\.ring \+ RING_HEAD, from\.head, seqAdd\(from\.head, n\)\) === from\.head;/,
    'if (load(m, from.ring + RING_HEAD) !== from.head) return false; store(m, from.ring + RING_HEAD, seqAdd(from.head, n)); return true;',
  ],
});
mutant('entries written to the closed ring', {
  module: M,
  replace: [/(store\(region\.m, lane \+ LANE_LAST, next\);)/, 'store(region.m, lane + LANE_LAST, ring);'],
});
mutant('a ring linked before its head is set', {
  module: M,
  replace: [
    /const next = makeRing\(region, capacity, tail\);([\s\S]*?store\(region\.m, ring \+ RING_NEXT, next\);)/,
    'const next = makeRing(region, capacity, 0);$1 store(region.m, next + RING_TAIL, tail); store(region.m, next + RING_HEAD, tail);',
  ],
});
mutant('more claimed than is there', { module: M, replace: [/Math\.min\(most, (waiting, )?Math\.ceil\(waiting \/ sharers\)\)/, 'most'] });
