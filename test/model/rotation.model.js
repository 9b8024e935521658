/**
 * Claiming from several lanes: two submitters, two workers, each of which goes round behind the lane it served last; batches that
 * grow when workers collide, and never beyond what may be claimed.
 */
import { recordOf, slotAt } from '#memory';
import { claim, claimer, NO_ENTRY, takeNext } from '#pool';
import { publish } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { makeJobs, makeLane, makeLive, makeRegion, onceEach, reachable, SEQUENCES, viewOf } from './parts/shared.js';

/** Lanes of slots 0 and 1, with so many jobs in each; workers 2 and 3. Jobs are numbered lane by lane, `more` are not published yet. */
const setup =
  ([inFirst, inSecond], more = 0, live = [2, 3]) =>
  (sequence) => {
    const region = makeRegion(3);
    const lanes = [makeLane(region, 0, 2, sequence), makeLane(region, 1, 2, sequence)];
    makeLive(region, ...live);
    const jobs = inFirst + inSecond + more;
    const entries = makeJobs(region, jobs);
    for (let k = 0; k < inFirst + inSecond; k++) publish(region, lanes[k < inFirst ? 0 : 1], entries[k]);
    const claimerOf = (slot) => claimer(viewOf(region), slot, 2, sequence | 0);
    return { region, lanes, jobs, later: entries.slice(jobs - more), view: viewOf(region), 2: claimerOf(2), 3: claimerOf(3) };
  };

/** @thread worker. Claims up to `claims` times, at most `most` together, and goes through its batch; the records in order. */
function work(c, claims, most) {
  const records = [];
  const own = slotAt(c.slot);
  for (let k = 0; k < claims; k++) {
    for (let entry = claim(c, most); entry !== NO_ENTRY; entry = takeNext(c.region.m, own)) records.push(recordOf(entry));
  }
  return records;
}

const account = (s, { one, two }) => {
  const left = reachable(s.region).map(recordOf);
  return onceEach([...one, ...two, ...left], s.jobs) || `${one.length}+${two.length} claimed`;
};
const counts = (...pairs) => Object.fromEntries(pairs.map((pair) => [`${pair} claimed`, 'each job once; the rest is still there']));

litmus('two lanes, two workers', {
  setup: setup([1, 1], 1),
  sequences: SEQUENCES,
  describe,
  threads: {
    submitter: ({ view, lanes, later }) => publish(view, lanes[0], later[0]),
    one: (s) => work(s[2], 2, 1),
    two: (s) => work(s[3], 1, 1),
  },
  outcome: account,
  outcomes: counts('2+1', '2+0', '1+1'),
});

litmus('a worker goes on behind the lane it served last', {
  setup: setup([2, 1], 1),
  describe,
  threads: {
    submitter: ({ view, lanes, later }) => publish(view, lanes[0], later[0]),
    one: (s) => work(s[2], 2, 1),
  },
  outcome: (s, { one }) => (one.includes(3) ? account(s, { one, two: [] }) : 'the first lane starved the second'),
  outcomes: counts('2+0'),
});

litmus('workers that collide claim more together', {
  setup: setup([2, 1], 1, [2]), // as if one ran alone: a claim may take all that waits
  sequences: SEQUENCES,
  describe,
  threads: {
    submitter: ({ view, lanes, later }) => publish(view, lanes[0], later[0]),
    one: (s) => work(s[2], 2, 2),
    two: (s) => work(s[3], 1, 2),
  },
  outcome: account,
  outcomes: counts('2+1', '3+1', '2+2'),
});

litmus('never more than may be claimed', {
  setup: (sequence) => {
    const s = setup([2, 0], 0, [2])(sequence);
    s[2].size = 2;
    return s;
  },
  describe,
  threads: { one: (s) => work(s[2], 1, 1), two: (s) => work(s[3], 1, 1) },
  // maxJobs leaves room for one, as `#mostToClaim` says.
  outcome: (s, results) => (results.one.length > 1 ? 'beyond maxJobs' : account(s, results)),
  outcomes: counts('1+1'),
});

mutant('the rotation never moves on', { module: 'pool/claim.js', replace: ['c.rotation = slot + 1;', ''] });
mutant('the round ends at the last lane', { module: 'pool/claim.js', replace: [/if \(wrapped\)\s*return EMPTY;\s*wrapped = true;/, 'return EMPTY;'] });
mutant('claimed beyond maxJobs', { module: 'pool/claim.js', replace: ['Math.min(c.size, most)', 'c.size'] });
mutant('a batch of one too few', { module: 'pool/claim.js', replace: ['newBatch(load(m, at + SLOT_BATCH), n)', 'newBatch(load(m, at + SLOT_BATCH), n - 1)'] });
mutant('a claim that failed counts as empty', {
  module: 'pool/claim.js',
  replace: [/(c\.size = Math\.min\(c\.size \* 2, c\.maxBatchSize\);\s*)return LOST;/, '$1return EMPTY;'],
});
