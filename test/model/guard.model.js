/**
 * The guard: a worker crosses between user code and shared structures while the host means to end its thread because of one job.
 * The functions are `pool/guard.ts` and `pool/terminate.ts`; the host is `Cancellation.#endThread` in `parts/host.js`.
 */
import { load, peek, poke, store } from '#atomics';
import { HOST, inState, RECORD_STATE, recordAt, SLOT_FRONT, SLOT_GUARD, SLOT_RUN, slotAt } from '#memory';
import { enterLibrary, leaveLibrary, OPEN } from '#pool';
import { ABANDONED, CANCELLED, LEFT_RUNNING, openLane } from '#ring';
import { litmus, mutant, terminate } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { condemn, drain, end, endsOf, endTurn, host, nextTurn, onExit } from './parts/host.js';
import { makeJobs, makeLive, makeRegion, onceEach, viewOf } from './parts/shared.js';
import { run, worker } from './parts/worker.js';

const GUARD = slotAt(1) + SLOT_GUARD;
/** Two words that the library changes together, and the host's turn. */
const PAIR = 8;
const TURN = 4;

/** `stuck`: job 1 runs on worker 1 and was given up; nothing will ever settle it. */
const setup = (stuck) => () => {
  const region = makeRegion(1);
  openLane(region, slotAt(HOST) + SLOT_FRONT, 2, 0);
  makeLive(region, 1);
  const entries = makeJobs(region, 2);
  if (stuck) {
    const state = recordAt(region, 1) + RECORD_STATE;
    store(region.m, state, inState(load(region.m, state), ABANDONED));
    store(region.m, slotAt(1) + SLOT_RUN, entries[0]);
  }
  const words = { pair: region.m.length - PAIR, turn: region.m.length - TURN };
  return { region, ...words, entries, w: worker(viewOf(region), 1, { guarded: true }), h: host(viewOf(region)) };
};

litmus('a thread is ended in user code only', {
  setup: setup(true),
  describe,
  threads: {
    worker: (s) => {
      const { m } = s.w.region;
      for (let k = 1; k <= 2; k++) {
        enterLibrary(m, GUARD);
        poke(m, s.pair, k);
        poke(m, s.pair + 1, k);
        leaveLibrary(m, GUARD);
      }
    },
    host: (s) => {
      if (!condemn(s.h, 1, s.entries[0], 3)) return 'gave up';
      terminate('worker');
      return 'ended it';
    },
    recovery: (s) => (peek(s.h.region.m, s.pair) === peek(s.h.region.m, s.pair + 1) ? 'whole' : 'half-done'),
  },
  exit: { worker: 'recovery' },
  faults: { spuriousWake: 1 },
  points: 'all',
  outcome: (_s, results) => `${results.host}: ${results.recovery}`,
  outcomes: {
    'gave up: never started': 'it was in the library whenever the host looked',
    'ended it: whole': 'before, between or after its crossings',
    'ended it: never started': 'it had returned already',
  },
});

litmus('a thread that is spared goes on', {
  setup: setup(false), // the job is not there any more
  describe,
  faults: { spuriousWake: 1 },
  threads: {
    worker: (s) => {
      const { m } = s.w.region;
      for (let k = 0; k < 2; k++) {
        enterLibrary(m, GUARD);
        leaveLibrary(m, GUARD);
      }
    },
    host: (s) => condemn(s.h, 1, s.entries[0]),
  },
  outcome: (s, results) => (results.host || load(s.region.m, GUARD) !== OPEN ? 'left doomed' : 'went on'),
  outcomes: { 'went on': 'the host changed its mind' },
});

litmus('the job that was meant, and no other', {
  setup: setup(false),
  describe,
  bound: 3,
  threads: {
    worker: (s) => {
      const { m } = s.w.region;
      enterLibrary(m, GUARD);
      run(s.w, s.entries[0]);
      run(s.w, s.entries[1]);
      leaveLibrary(m, GUARD);
    },
    host: (s) => {
      const was = end(s.h, 1);
      const ends = was === LEFT_RUNNING && condemn(s.h, 1, s.entries[0]);
      endTurn(s.h, s.turn);
      if (ends) terminate('worker');
      return was === CANCELLED ? 'cancelled' : was !== LEFT_RUNNING ? 'too late' : ends ? 'ended' : 'spared';
    },
    exited: (s) => {
      nextTurn(s.h, s.turn);
      onExit(s.h, 1);
    },
  },
  exit: { worker: 'exited' },
  outcome: (s, { host: what, exited }) => {
    drain(s.h);
    if (s.h.died.length > 0) return 'another job died';
    const left = exited === 'never started' ? [] : [2]; // only the first was to end
    return (
      onceEach([...endsOf(s.h), ...(s.h.settled.includes(2) ? [] : left)], 2) ||
      `${what}${exited === 'never started' ? '' : ' with its thread'}`
    );
  },
  outcomes: {
    cancelled: 'it had not started',
    'too late': 'it had settled',
    spared: 'over by the time it was doomed, or the thread was busy',
    'ended with its thread': 'in its handler',
  },
});

const DOOM = 'pool/terminate.js';
const CROSSING = /while \(cas\(m, guard, OPEN, LIBRARY\) !== OPEN\)\s*wait\(m, guard, DOOMED\);.*/;
mutant('crossed without an exchange', { module: 'pool/guard.js', replace: [CROSSING, 'store(m, guard, LIBRARY);'] });
mutant('crosses after one wait, whatever the guard says', {
  module: 'pool/guard.js',
  replace: [CROSSING, 'if (cas(m, guard, OPEN, LIBRARY) !== OPEN) { wait(m, guard, DOOMED); store(m, guard, LIBRARY); }'],
});
mutant('waits for the wrong state', { module: 'pool/guard.js', replace: ['wait(m, guard, DOOMED)', 'wait(m, guard, OPEN)'] });
mutant('the library is never left', { module: 'pool/guard.js', replace: ['store(m, guard, OPEN);', ''] });
mutant('doom without the second look', {
  module: DOOM,
  by: 'the job that was meant, and no other',
  replace: ['if (runsThere(region, slot, entry))', 'if (true)'],
});
mutant('the second look comes first', {
  module: DOOM,
  by: 'the job that was meant, and no other',
  replace: [
    /if \(cas\(m, guard, OPEN, DOOMED\) !== OPEN\)\s*return BUSY;\s*if \(runsThere\(region, slot, entry\)\)/,
    'const there = runsThere(region, slot, entry); if (cas(m, guard, OPEN, DOOMED) !== OPEN) return BUSY; if (there)',
  ],
});
mutant('spared without a notify', { module: DOOM, replace: ['notify(m, guard, 1);', ''] });
mutant('spared and left doomed', { module: DOOM, replace: ['store(m, guard, OPEN);', ''] });
mutant('doomed whatever the guard says', {
  module: DOOM,
  replace: [/if \(cas\(m, guard, OPEN, DOOMED\) !== OPEN\)\s*return BUSY;/, 'store(m, guard, DOOMED);'],
});
