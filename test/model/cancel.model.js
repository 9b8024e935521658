/**
 * A job that its submitter ends: before it starts, while it runs, while it settles, or while its thread dies; and one that runs
 * again after a death. Its promise ends once, and its record is used again only when no worker can write there any more. Host:
 * `Submitter.end`, `settleCompleted`, `Deaths.onExit` in `parts/host.js`; workers: `parts/worker.js`.
 */
import { load } from '#atomics';
import { attemptOf, formOf, HOST, nextGeneration, RECORD_STATE, recordAt, SLOT_FRONT, SLOT_LANE, SLOT_RUN, slotAt } from '#memory';
import { CANCELLED, FREE, isIn, LEFT_RUNNING, openLane, publish, SETTLED } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { drain, end, endsOf, endTurn, host, nextTurn, onExit, overrun, prepare } from './parts/host.js';
import { makeJobs, makeLane, makeLive, makeRegion, reachable, SEQUENCES, startable, viewOf } from './parts/shared.js';
import { claimAndRun, run, worker } from './parts/worker.js';

/** What the second job of the record says, where the first says 0. */
const SECOND = 2;

/** Job 1 lies in the host's lane. Worker 1 also has a copy of its entry: from a batch that was rescued, say. */
const setup =
  ({ generations = 0, retries = 0 } = {}) =>
  (sequence = 0) => {
    const region = makeRegion(2);
    const lane = makeLane(region, HOST, 2, sequence);
    openLane(region, slotAt(HOST) + SLOT_FRONT, 2, sequence | 0);
    makeLive(region, 1, 2);
    const state = recordAt(region, 1) + RECORD_STATE;
    for (let k = 0; k < generations; k++) region.m[state] = nextGeneration(region.m[state], FREE);
    const [entry] = makeJobs(region, 1);
    publish(region, lane, entry);
    const workers = { 1: worker(viewOf(region), 1), 2: worker(viewOf(region), 2) };
    return { region, entry, turn: region.m.length - 4, ...workers, h: host(viewOf(region), { retries }) };
  };

/** @thread host. What `Submitter.end` did. */
function endIt({ h, entry }) {
  const was = end(h, 1);
  if (was === CANCELLED) return 'cancelled';
  if (was === LEFT_RUNNING) return 'given up';
  return isIn(h.region.m, recordAt(h.region, 1), entry, SETTLED) ? 'too late' : 'left to itself';
}

/** @thread host. If the record is free: uses it for a second job. */
function useAgain({ h }) {
  if (!h.freed.includes(1)) return '';
  publish(h.region, slotAt(HOST) + SLOT_LANE, prepare(h, 1, SECOND));
  return ', used again';
}

/** What is wrong with both jobs, once all is over: '' if nothing. The second, if there is one, runs once or is there to be claimed. */
function wrongIn(s, what, starts = what.startsWith('cancelled') ? 0 : 1) {
  drain(s.h);
  const read = [...s[1].read, ...s[2].read];
  const seconds = read.filter((argument) => argument === SECOND).length;
  const left = startable(s.region, reachable(s.region)).length;
  if (read.length - seconds !== starts) return `${what}, and started ${read.length - seconds} times`;
  if (seconds + left !== (what.endsWith('used again') ? 1 : 0)) return `${what}: ${seconds} starts of the second, and ${left} copies`;
  if (endsOf(s.h).length !== 1 + seconds) return `${what}: ${endsOf(s.h).length} ends`;
  if (s.h.freed.length !== 1 - left) return `${what}, and its record is ${s.h.freed.length === 0 ? 'lost' : 'free though it is in use'}`;
  return '';
}

const cancels = {
  describe,
  threads: {
    slow: (s) => run(s[1], s.entry),
    fast: (s) => claimAndRun(s[2]),
    host: (s) => endIt(s) + useAgain(s),
  },
  outcome: (s, results) => (s[1].read.includes(SECOND) ? 'a void entry started the next job' : wrongIn(s, results.host) || results.host),
  outcomes: {
    'cancelled, used again': 'neither had started it; its old entry lies in the ring, or in a hand',
    'given up': 'it had started',
    'too late': 'it had settled',
  },
};
litmus('cancelled while it is claimed, and its record used again', { ...cancels, setup: setup(), sequences: SEQUENCES });
litmus('cancelled when the generation of entries wraps', { ...cancels, setup: setup({ generations: 255 }) });

litmus('given up while it runs, and its record used again when it has come back', {
  describe,
  bound: 3,
  setup: setup(),
  threads: {
    worker: (s) => claimAndRun(s[2]),
    host: (s) => {
      const what = endIt(s);
      drain(s.h);
      return what + useAgain(s);
    },
  },
  outcome: (s, results) => wrongIn(s, results.host) || results.host,
  outcomes: {
    'cancelled, used again': 'it had not started',
    'given up': 'its worker still has it',
    'given up, used again': 'its worker was done with it',
    'too late': 'its worker is about to hand it over',
    'too late, used again': 'it had come back',
  },
});

/** The host handles the exit in a turn of its own. */
litmus('given up, and its worker dies', {
  describe,
  setup: setup({ retries: 1 }), // it would run again if it had died of itself
  exit: { worker: 'exited' },
  faults: { die: ['worker'] },
  threads: {
    worker: (s) => claimAndRun(s[2]),
    host: (s) => {
      const what = endIt(s);
      endTurn(s.h, s.turn);
      return what;
    },
    exited: (s) => {
      nextTurn(s.h, s.turn);
      onExit(s.h, 2);
      return useAgain(s);
    },
  },
  outcome: (s, { host: what, exited }) => {
    const died = exited !== 'never started';
    const starts = s[2].read.length; // it may die before it has noted that
    return wrongIn(s, what + (died ? exited : ''), starts) || `${what}${died ? `, and its worker died${exited}` : ''}`;
  },
  outcomes: {
    cancelled: 'it had not started',
    'given up': 'settled late',
    'too late': 'it had settled',
    'cancelled, and its worker died, used again': 'what the worker held was void',
    'given up, and its worker died, used again': 'the exit gave the record back, or the hand-over did',
    'too late, and its worker died, used again': 'it had settled',
  },
});

litmus('runs again after its worker died', {
  describe,
  setup: setup({ retries: 1 }),
  exit: { victim: 'exited' },
  faults: { die: ['victim'] },
  mayBlock: ['other'],
  threads: {
    victim: (s) => claimAndRun(s[2]),
    exited: (s) => {
      onExit(s.h, 2);
      endTurn(s.h, s.turn);
    },
    other: (s) => {
      nextTurn(s[1], s.turn);
      run(s[1], s.entry); // a copy of its first entry, if there were one
      const old = s[1].ran.length;
      claimAndRun(s[1]);
      return old;
    },
  },
  outcome: (s, { other: old }) => {
    drain(s.h);
    if (old === 1 && s.h.retried > 0) return 'an old entry started it again';
    if (startable(s.region, reachable(s.region)).length > 0) return 'still there';
    if (endsOf(s.h).length !== 1) return `${endsOf(s.h).length} ends`;
    if (s.h.settled.length === 0) return 'it died';
    const [meta] = s[1].metas;
    if (meta === undefined) return 'settled by the first';
    if (formOf(meta) !== 0) return 'a result stands where its argument was';
    return attemptOf(meta) !== s.h.retried ? 'attempts miscounted' : s.h.retried > 0 ? 'run again' : 'run by the other';
  },
  outcomes: { 'settled by the first': 'it lived, or had settled', 'run again': 'it had started', 'run by the other': 'it had not started' },
});

litmus('a time-out ends the job that was timed, not the next one of its record', {
  describe,
  setup: setup(),
  threads: {
    worker: (s) => claimAndRun(s[2]),
    host: (s) => {
      const timed = load(s.h.region.m, slotAt(2) + SLOT_RUN); // seen for too long by now
      drain(s.h);
      const used = useAgain(s);
      return timed === 0 ? `nothing ran${used}` : overrun(s.h, timed) + used;
    },
  },
  outcome: (s, results) => wrongIn(s, results.host, 1) || results.host,
  outcomes: {
    'nothing ran': 'too early, or too late',
    'nothing ran, used again': 'too late',
    'timed out': 'while it ran',
    spared: 'not started yet, or settled',
    'spared, used again': 'settled, and its entry was still on the run list',
  },
});

const RECORD = 'ring/record.js';
const HOST_PART = 'parts/host.js';
mutant('cancelled without a new generation', {
  module: RECORD,
  replace: ['nextGeneration(word, FREE) : inState', 'inState(word, FREE) : inState'],
});
mutant('ended without an exchange', {
  module: RECORD,
  replace: [
    /if \(cas\(m, at \+ RECORD_STATE, word, next\) === word\)(\s*return state === QUEUED)/,
    'store(m, at + RECORD_STATE, next); $1',
  ],
});
mutant('ended by an exchange that may fail', {
  module: RECORD,
  replace: [/(return state === QUEUED \? CANCELLED : LEFT_RUNNING;)/, '$1 else return TOO_LATE;'],
});
mutant('the record of a job that was given up is free at once', {
  module: HOST_PART,
  replace: [/if \(was === CANCELLED\) release\(h, record\);\n\s*else h\.abandoned\.push\(record\);/, 'release(h, record);'],
});
mutant('the promise of a job that was given up ends again', {
  module: HOST_PART,
  replace: ['if (!forget(h, record)) h.settled.push(record);', 'h.settled.push(record);'],
});
mutant('who settles late does not hand over', {
  module: RECORD,
  replace: ['stateOf(word) !== STARTED && stateOf(word) !== ABANDONED', 'stateOf(word) !== STARTED'],
});
mutant('settled by an exchange that may fail', {
  module: RECORD,
  replace: [/(if \(cas\(m, at \+ RECORD_STATE, word, inState\(word, SETTLED\)\) === word\)\s*return true;)/, '$1 return false;'],
});
mutant('what was given up is forgotten at the exit', {
  by: 'given up, and its worker dies',
  module: 'pool/recover.js',
  replace: ['remains.abandoned.push(recordOf(entry));', ';'],
});
mutant('what was given up runs again after the exit', {
  by: 'given up, and its worker dies',
  module: 'pool/recover.js',
  replace: ['remains.abandoned.push(recordOf(entry));', 'remains.died.push(recordOf(entry));'],
});
mutant('timed out by the place in the run list alone', {
  module: HOST_PART,
  by: 'a time-out ends the job that was timed, not the next one of its record',
  replace: ['if (!isIn(h.region.m, recordAt(h.region, record), entry, STARTED)) return', 'if (false) return'],
});
mutant('runs again under its old generation', {
  by: 'runs again after its worker died',
  module: RECORD,
  replace: [
    'const word = nextGeneration(load(m, at + RECORD_STATE), QUEUED);',
    'const word = inState(load(m, at + RECORD_STATE), QUEUED);',
  ],
});
mutant('runs again with what the dead one wrote', {
  by: 'runs again after its worker died',
  module: HOST_PART,
  replace: ['poke(m, at + RECORD_META, withAttempt(metaFor(HOST, 0, 0), h.retried));', ''],
});
