/**
 * The guard: a worker crosses between user code and shared structures, somebody means to end its thread. The worker's side is
 * `pool/guard.ts`. The killer's (`doom`) does not exist yet: `doom` below follows design §4, and gives way to the product's.
 */
import { cas, load, notify, peek, poke, store } from '#atomics';
import { recordAt, SLOT_GUARD, slotAt } from '#memory';
import { DOOMED, enterLibrary, leaveLibrary, OPEN } from '#pool';
import { isIn, STARTED } from '#ring';
import { litmus, mutant, terminate } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { makeJobs, makeRegion, viewOf } from './parts/shared.js';
import { run, worker } from './parts/worker.js';

const GUARD = (slot) => slotAt(slot) + SLOT_GUARD;
/** Two words that the library changes together. */
const PAIR = 8;

const setup = () => {
  const region = makeRegion(1);
  const entries = makeJobs(region, 2);
  return { region, pair: region.m.length - PAIR, entries, w: worker(viewOf(region), 1, { guarded: true }), killer: viewOf(region) };
};

/** @thread killer. True: the thread is told to end; it is in user code, and in the job that was meant. */
function doom(region, slot, stillRuns) {
  const { m } = region;
  for (let k = 0; k < 3; k++) {
    if (cas(m, GUARD(slot), OPEN, DOOMED) !== OPEN) continue;
    if (stillRuns()) return true;
    store(m, GUARD(slot), OPEN);
    notify(m, GUARD(slot), 1);
    return false;
  }
  return false; // it is busy in the library: again at the next tick
}

litmus('a thread is ended in user code only', {
  setup,
  describe,
  threads: {
    worker: (s) => {
      const { m } = s.w.region;
      for (let k = 1; k <= 2; k++) {
        enterLibrary(m, GUARD(1));
        poke(m, s.pair, k);
        poke(m, s.pair + 1, k);
        leaveLibrary(m, GUARD(1));
      }
    },
    killer: (s) => {
      if (!doom(s.killer, 1, () => true)) return 'gave up';
      terminate('worker');
      return 'ended it';
    },
    recovery: (s) => (peek(s.killer.m, s.pair) === peek(s.killer.m, s.pair + 1) ? 'whole' : 'half-done'),
  },
  exit: { worker: 'recovery' },
  faults: { spuriousWake: 1 },
  points: 'all',
  mayBlock: ['worker'],
  outcome: (_s, { killer, recovery }) => `${killer}: ${recovery}`,
  outcomes: {
    'gave up: never started': 'it was in the library whenever the killer looked',
    'ended it: whole': 'before, between or after its crossings',
    'ended it: never started': 'it had returned already',
  },
});

litmus('a thread that is spared goes on', {
  setup,
  describe,
  faults: { spuriousWake: 1 },
  threads: {
    worker: (s) => {
      const { m } = s.w.region;
      for (let k = 0; k < 2; k++) {
        enterLibrary(m, GUARD(1));
        leaveLibrary(m, GUARD(1));
      }
    },
    killer: (s) => doom(s.killer, 1, () => false),
  },
  outcome: (s) => (load(s.region.m, GUARD(1)) === OPEN ? 'went on' : 'left doomed'),
  outcomes: { 'went on': 'the killer changed its mind' },
});

litmus('the job that was meant, and no other', {
  setup,
  describe,
  threads: {
    worker: (s) => {
      const { m } = s.w.region;
      enterLibrary(m, GUARD(1));
      run(s.w, s.entries[0]);
      run(s.w, s.entries[1]);
      leaveLibrary(m, GUARD(1));
    },
    killer: (s) => {
      const runs = () => isIn(s.killer.m, recordAt(s.killer, 1), s.entries[0], STARTED);
      if (!runs()) return 'not running';
      if (!doom(s.killer, 1, runs)) return 'spared';
      return terminate('worker') ?? 'ended it';
    },
    recovery: (s) => (isIn(s.killer.m, recordAt(s.killer, 2), s.entries[1], STARTED) ? 'another job died' : 'it died alone'),
  },
  exit: { worker: 'recovery' },
  mayBlock: ['worker'],
  outcome: (_s, { killer, recovery }) => `${killer}: ${recovery}`,
  outcomes: {
    'not running: never started': 'too early or too late',
    'spared: never started': 'over by the time it was doomed',
    'ended it: it died alone': 'in its handler',
  },
});

mutant('crossed without an exchange', {
  module: 'pool/guard.js',
  replace: [/while \(cas\(m, guard, OPEN, LIBRARY\) !== OPEN\)\s*wait\(m, guard, DOOMED\);.*/, 'store(m, guard, LIBRARY);'],
});
mutant('crosses after one wait, whatever the guard says', {
  module: 'pool/guard.js',
  replace: [
    /while \(cas\(m, guard, OPEN, LIBRARY\) !== OPEN\)\s*wait\(m, guard, DOOMED\);.*/,
    'if (cas(m, guard, OPEN, LIBRARY) !== OPEN) { wait(m, guard, DOOMED); store(m, guard, LIBRARY); }',
  ],
});
mutant('waits for the wrong state', { module: 'pool/guard.js', replace: ['wait(m, guard, DOOMED)', 'wait(m, guard, OPEN)'] });
mutant('the library is never left', { module: 'pool/guard.js', replace: ['store(m, guard, OPEN);', ''] });
mutant('doom without the second look', { module: 'guard.model.js', replace: [/if \(stillRuns\(\)\) return true;/, 'return true;'] });
mutant('spared without a notify', { module: 'guard.model.js', replace: [/notify\(m, GUARD\(slot\), 1\);/, ''] });
mutant('doomed whatever the guard says', {
  module: 'guard.model.js',
  replace: [/if \(cas\(m, GUARD\(slot\), OPEN, DOOMED\) !== OPEN\) continue;/, 'store(m, GUARD(slot), DOOMED);'],
});
