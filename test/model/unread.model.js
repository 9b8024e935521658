/**
 * Back-pressure by results: workers that wait until the submitter has read some (edge unread-1). The functions are the product's own,
 * `payload/unread.ts`; `startOne` is the loop that `WorkerLoop.#claimAndRun` and `#awaitFall` make around them.
 */
import { load, notify, store, wait } from '#atomics';
import { HOST, SLOT_UNREAD, slotAt } from '#memory';
import { isUnreadFull, lowerUnread, nextFall, raiseUnread, takeBackRaised, tellFall, unreadMost } from '#payload';
import { mayStart, stopStarting } from '#pool';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { makeRegion } from './parts/shared.js';

/** Two units each; four are allowed, so that two of them are too much and one is half. */
const RESULT_BYTES = 64;
const MOST = unreadMost(3 * 64);

/** The worker that has settled results, or died before it settled the last. */
const SETTLER = 3;
/** So many results are settled and not read. */
const setup = (results) => () => {
  const region = makeRegion(3);
  const { m } = region;
  for (let k = 0; k < results; k++) raiseUnread(m, SETTLER, HOST, RESULT_BYTES);
  return { region, m, settled: m.length - 8 };
};

/** @thread worker that found too many unread. */
async function startOne({ m }) {
  for (;;) {
    if (!mayStart(m)) return 'leaves';
    if (!isUnreadFull(m, HOST, MOST)) return 'starts';
    const fall = nextFall(m, HOST, () => isUnreadFull(m, HOST, MOST) && mayStart(m));
    if (fall !== undefined) await fall;
  }
}

/** @thread submitter. `Submitter.#release` of so many results. */
function read({ m }, results) {
  for (let k = 0; k < results; k++) lowerUnread(m, HOST, RESULT_BYTES, MOST);
}

const left = (s) => `${load(s.m, slotAt(HOST) + SLOT_UNREAD)} unread`;

litmus('one waits while the submitter reads', {
  setup: setup(2),
  describe,
  faults: { spuriousWake: 1 },
  threads: { worker: startOne, submitter: (s) => read(s, 2) },
  outcome: (s, { worker }) => `${worker}, ${left(s)}`,
  outcomes: { 'starts, 0 unread': 'it saw the fall, or slept and was told' },
});

litmus('two wait for one fall', {
  setup: setup(2),
  describe,
  threads: { one: startOne, two: startOne, submitter: (s) => read(s, 2) },
  outcome: (s, { one, two }) => `${one}, ${two}, ${left(s)}`,
  outcomes: { 'starts, starts, 0 unread': 'a fall is for all who wait' },
});

litmus('another settles while the submitter reads', {
  setup: setup(2),
  describe,
  threads: {
    worker: startOne,
    settler: ({ m, settled }) => {
      raiseUnread(m, SETTLER, HOST, RESULT_BYTES);
      store(m, settled, 1);
      notify(m, settled, 1);
    },
    submitter: (s) => {
      read(s, 2);
      while (load(s.m, s.settled) === 0) wait(s.m, s.settled, 0); // the hand-over of the third
      read(s, 1);
    },
  },
  outcome: (s, { worker }) => `${worker}, ${left(s)}`,
  outcomes: { 'starts, 0 unread': 'however high it was, it falls to half in the end' },
});

litmus('17.2 what a dead worker raised and never settled is taken back', {
  setup: setup(2), // the last of them was never settled
  describe,
  threads: { worker: startOne, submitter: ({ m }) => takeBackRaised(m, HOST, SETTLER) },
  outcome: (s, { worker }) => `${worker}, ${left(s)}`,
  outcomes: { 'starts, 2 unread': 'what is taken back is a fall' },
});

litmus('one that waits for a fall is told to leave', {
  setup: setup(2),
  describe,
  threads: {
    worker: startOne,
    host: ({ m }) => {
      stopStarting(m);
      tellFall(m, HOST); // `Core.wakeAll`
    },
  },
  outcome: (s, { worker }) => `${worker}, ${left(s)}`,
  outcomes: { 'leaves, 4 unread': 'nothing has fallen, but there is something else to see' },
});

const M = 'payload/unread.js';
mutant('SLOT_FALL moved before the count is lowered', {
  module: M,
  replace: [
    /const before = add\(m, slotAt\(submitter\) \+ SLOT_UNREAD, -units\);([\s\S]*?tellFall\(m, submitter\);)/,
    'const before = load(m, slotAt(submitter) + SLOT_UNREAD);$1 add(m, slotAt(submitter) + SLOT_UNREAD, -units);',
  ],
});
mutant('the count looked at before SLOT_FALL is read', {
  module: M,
  replace: [/(const now = load\(m, fall\);)\n\s*(if \(!stillWaits\(\)\)\n?\s*return undefined;)/, '$2 $1'],
});
mutant('a fall wakes, and does not move SLOT_FALL', { module: M, replace: ['add(m, fall, 1);', ''] });
mutant('a fall wakes one', { by: 'two wait for one fall', module: M, replace: ['Number.POSITIVE_INFINITY', '1'] });
mutant('raised by a load and a store', {
  by: 'another settles while the submitter reads',
  module: M,
  replace: [/add\((m, slotAt\(submitter\) \+ SLOT_UNREAD), units\);/, 'poke($1, load($1) + units);'],
});
mutant('a fall to half is none', { module: M, replace: ['before - units <= most / 2', 'before - units < most / 2'] });
mutant('17.2 what is taken back tells nobody', {
  by: '17.2 what a dead worker raised and never settled is taken back',
  module: M,
  replace: [/(SLOT_UNREAD, -units\);)\n\s*tellFall\(m, submitter\);/, '$1'],
});
mutant('told to leave before there is a reason', {
  module: 'unread.model.js',
  replace: [/(stopStarting\(m\);)\n\s*(tellFall\(m, HOST\);)/, '$2 $1'],
});
