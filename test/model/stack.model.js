/**
 * The completion stack: two workers hand over, the submitter takes all, arms and sleeps. `settleAll` mirrors `Inbox.#look` and
 * `#sleep`; `complete` and the rest are `ring/stack.ts`'s own.
 */
import { peek } from '#atomics';
import { HOST, RECORD_META, recordAt, slotAt } from '#memory';
import { arm, complete, hasCompleted, nextCompleted, takeCompleted, toSettled, toStarted, wake } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { host, settleAll } from './parts/host.js';
import { ascending, handedOver, makeJobs, makeRegion, onceEach, viewOf } from './parts/shared.js';

/** Jobs that run already, so many. */
const setup = (jobs) => () => {
  const region = makeRegion(2);
  const entries = makeJobs(region, jobs);
  for (const [k, entry] of entries.entries()) toStarted(region.m, recordAt(region, k + 1), entry);
  return { region, jobs, 1: viewOf(region), 2: viewOf(region), h: host(viewOf(region)) };
};

/** @thread worker. */
function finish(region, record) {
  const at = recordAt(region, record);
  peek(region.m, at + RECORD_META);
  if (toSettled(region.m, at)) complete(region, slotAt(HOST), record, at);
}

litmus('two hand over to a submitter that sleeps', {
  setup: setup(2),
  describe,
  faults: { spuriousWake: 1 },
  threads: {
    submitter: (s) => settleAll(s.h, 2),
    one: (s) => finish(s[1], 1),
    two: (s) => finish(s[2], 2),
  },
  outcome: (s, { submitter }) => onceEach([...submitter, ...handedOver(s.region)], 2) || 'each once',
  outcomes: { 'each once': 'settled, and awake' },
});

litmus('three results, two from one worker', {
  setup: setup(3),
  describe,
  bound: 3,
  threads: {
    submitter: (s) => settleAll(s.h, 3),
    one: (s) => {
      finish(s[1], 1);
      finish(s[1], 2);
    },
    two: (s) => finish(s[2], 3),
  },
  outcome: (_s, { submitter }) => onceEach(submitter, 3) || (ascending(submitter.filter((record) => record < 3)) ? 'each once, oldest first' : 'out of order'),
  outcomes: { 'each once, oldest first': 'settled, and awake' },
});

litmus('the same record comes back while another is pushed', {
  setup: setup(2),
  describe,
  bound: 3,
  threads: {
    submitter: (s) => {
      // Takes, and hands record 1 over again itself, as recovery does for a job that was settled and not handed over.
      const { region } = s.h;
      const got = [];
      for (let k = 0; k < 2; k++) {
        for (let record = takeCompleted(region, slotAt(HOST)); record !== 0; ) {
          const at = recordAt(region, record);
          got.push(record);
          const next = nextCompleted(region.m, at);
          if (record === 1 && got.filter((other) => other === 1).length === 1) complete(region, slotAt(HOST), record, at);
          record = next;
        }
      }
      return got;
    },
    one: (s) => finish(s[1], 1),
    two: (s) => finish(s[2], 2),
  },
  outcome: (s, { submitter }) => {
    const all = [...submitter, ...handedOver(s.region)];
    return `${all.filter((record) => record === 1).length} times 1, ${all.filter((record) => record === 2).length} times 2`;
  },
  outcomes: { '1 times 1, 1 times 2': 'pushed too late to be pushed again', '2 times 1, 1 times 2': 'pushed again' },
});

litmus('of two that wake one pays', {
  setup: setup(0),
  describe,
  threads: {
    submitter: async (s) => {
      arm(s.h.region.m, slotAt(HOST));
      return hasCompleted(s.h.region.m, slotAt(HOST));
    },
    one: (s) => wake(s[1].m, slotAt(HOST)),
    two: (s) => wake(s[2].m, slotAt(HOST)),
  },
  outcome: (s) => (s.region.m[slotAt(HOST) + 18 * 32] === 1 ? 'armed' : 'awake'),
  outcomes: { armed: 'both came before', awake: 'one of them took the wake' },
});

const M = 'ring/stack.js';
mutant('woken before the record is linked', {
  module: M,
  replace: [/const m = region\.m;\n(\s*let top = load[\s\S]*?top = seen;\n\s*\})\n\s*wake\(m, slot\);/, 'const m = region.m; wake(m, slot);\n$1'],
});
mutant('linked after it is pushed', {
  module: M,
  replace: [
    /poke\(m, at \+ RECORD_NEXT, top\);.*\n\s*(const seen = cas\(m, slot \+ SLOT_STACK, top, record\);)/,
    '$1 poke(m, at + RECORD_NEXT, top);',
  ],
});
mutant('pushed without an exchange', {
  module: M,
  replace: ['const seen = cas(m, slot + SLOT_STACK, top, record);', 'store(m, slot + SLOT_STACK, record); const seen = top;'],
});
mutant('taken without an exchange', {
  module: M,
  replace: ['let link = exchange(m, slot + SLOT_STACK, 0);', 'let link = load(m, slot + SLOT_STACK); store(m, slot + SLOT_STACK, 0);'],
});
mutant('the link not read anew after a push that failed', { module: M, replace: [/(let top = load\(m, slot \+ SLOT_STACK\);\n\s*)for \(;;\) \{\n\s*poke\(m, at \+ RECORD_NEXT, top\);/, '$1poke(m, at + RECORD_NEXT, top); for (;;) {'] });
mutant('only armed when there is a waiter: no second look', { module: 'parts/host.js', replace: [/beforeSleep\(h\);\n\s*if \(hasCompleted\(m, AT\)\) continue;/, 'beforeSleep(h);'] });
mutant('armed after the last look', {
  module: 'parts/host.js',
  replace: [/arm\(m, AT\);\n\s*armed = true;\n(\s*beforeSleep\(h\);\n\s*if \(hasCompleted\(m, AT\)\) continue;)/, '$1 arm(m, AT); armed = true;'],
});
mutant('the wake is taken and nobody notified', { module: M, replace: ['notify(m, slot + SLOT_WAKE, 1);', ';'] });
mutant('left armed by whoever wakes', { module: M, replace: ['cas(m, slot + SLOT_WAKE, ARMED, AWAKE) === ARMED)\n        notify', 'true)\n        notify'] });
