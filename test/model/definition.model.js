/**
 * Definitions: what a handler id stands for, written by the host and read by workers: by one that holds a job of it, and by one
 * that boots and loads all there are. And a module that fails to load, which one worker at a time may try again.
 * `knownDefinitions` scans every row, so `boot` reads one row's id as it does.
 */
import { load, peek, poke, store } from '#atomics';
import { assert, ticks } from '#base';
import {
  DEFINITION_COUNT,
  DEFINITION_FAILURES,
  DEFINITION_ID,
  DEFINITION_OPEN_UNTIL,
  DEFINITION_WORDS,
  DEFINITIONS,
  HOST,
  RECORD_HANDLER,
  recordAt,
  recordOf,
} from '#memory';
import { allocateBlock, freeBlock } from '#payload';
import {
  backingOff,
  claim,
  claimer,
  dropDefinition,
  FAILURES_MAX,
  NO_ENTRY,
  noteFailure,
  noteSuccess,
  readDefinition,
  writeDefinition,
} from '#pool';
import { publish, toQueued } from '#ring';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { makeLane, makeLive, makeRegion, viewOf } from './parts/shared.js';

/** Two ids with the same row. */
const OLD = 1;
const NEW = OLD + DEFINITION_COUNT;
const ROW = DEFINITIONS + OLD * DEFINITION_WORDS;
/**
 * Names of one length make texts of one length, and payloads are such texts too: whatever a reader mixes, it can be parsed, and says
 * what was read.
 */
const textOf = (name) => JSON.stringify({ kind: 'function', name, source: 'x => x' });

/** `Definitions.#byDefinition`, from the block on. */
function define(region, id, name) {
  const bytes = Buffer.from(textOf(name));
  const block = allocateBlock(region, HOST, bytes.length);
  bytes.copy(region.bytes, block);
  writeDefinition(region.m, id, block, bytes.length);
  return block;
}

/** The row is OLD's, if it is defined; no unsettled job names it. */
const setup = (defined) => () => {
  const region = makeRegion(2);
  const lane = makeLane(region, HOST, 2, 0);
  makeLive(region, 1, 2);
  const block = defined ? define(region, OLD, 'old') : 0;
  const c = claimer(viewOf(region), 1, 1, 0);
  // Bytes are written around the seam, so the explorer cannot put them back: the Map makes it run this before each schedule.
  return { again: new Map(), region, lane, block, c, host: viewOf(region), worker: viewOf(region), 1: viewOf(region), 2: viewOf(region) };
};

/** @thread host. A job of handler `id`. */
function submit({ host, lane }, id) {
  poke(host.m, recordAt(host, 1) + RECORD_HANDLER, id);
  publish(host, lane, toQueued(host.m, recordAt(host, 1), 1));
}

/** `Definitions.#dropHalf`, for one row. */
function drop({ host, block }) {
  dropDefinition(host.m, OLD);
  freeBlock(host, HOST, block);
}

/** What the next payload does to a block that was freed: it is of the same size, so that it lies there. */
function overwrite({ host, block: freed }) {
  const text = textOf('pay');
  const block = allocateBlock(host, HOST, text.length);
  assert(block === freed, 'the arena gives out first what was freed last');
  host.bytes.write(text, block);
}

/** @thread worker that holds a job. */
function nameOfJob({ c }) {
  const entry = claim(c, 1);
  if (entry === NO_ENTRY) return 'no job';
  const definition = readDefinition(c.region, peek(c.region.m, recordAt(c.region, recordOf(entry)) + RECORD_HANDLER));
  return definition === undefined ? 'not defined' : definition.name;
}

/** @thread worker that boots: `knownDefinitions`, then `Handlers.load`. */
function boot({ worker }) {
  const id = load(worker.m, ROW + DEFINITION_ID);
  if (id === 0) return 'none';
  const definition = readDefinition(worker, id);
  return definition === undefined ? 'gone' : `${id === OLD ? 'old' : 'new'} is ${definition.name}`;
}

litmus('defined, then used by a job', {
  setup: setup(false),
  describe,
  threads: {
    host: (s) => {
      define(s.host, OLD, 'old');
      submit(s, OLD);
    },
    worker: nameOfJob,
  },
  outcome: (_s, { worker }) => worker,
  outcomes: { 'no job': 'too early', old: 'whole' },
});

litmus('a row used again, for a job of its new handler', {
  setup: setup(true),
  describe,
  threads: {
    host: (s) => {
      drop(s);
      define(s.host, NEW, 'new');
      submit(s, NEW);
    },
    worker: nameOfJob,
  },
  outcome: (_s, { worker }) => worker,
  outcomes: { 'no job': 'too early', new: 'whole' },
});

litmus('a row used again while a worker boots', {
  setup: setup(true),
  describe,
  threads: {
    host: (s) => {
      drop(s);
      overwrite(s); // so that the new text lies elsewhere
      define(s.host, NEW, 'new');
    },
    worker: boot,
  },
  outcome: (_s, { worker }) => worker,
  outcomes: { none: 'between', gone: 'it changed meanwhile', 'old is old': 'before', 'new is new': 'after' },
});

litmus('a block used again while a worker boots', {
  setup: setup(true),
  describe,
  threads: {
    host: (s) => {
      drop(s);
      overwrite(s);
    },
    worker: boot,
  },
  outcome: (_s, { worker }) => worker,
  outcomes: { none: 'dropped', gone: 'dropped meanwhile', 'old is old': 'before' },
});

const WIRES = ['short', 'a much longer reason for the same failure'];
/** Another failure: once there are enough, its cause is kept. */
const keep = (region, slot, cause) => noteFailure(region, slot, OLD, cause);
/** So many failures in a row, the back-off over or not, and perhaps a failure kept. */
const failing =
  (failures, over, kept = false) =>
  () => {
    const s = setup(true)();
    store(s.region.m, ROW + DEFINITION_FAILURES, failures);
    store(s.region.m, ROW + DEFINITION_OPEN_UNTIL, (ticks() + (over ? -1_000 : 1_000_000)) | 0);
    if (kept) keep(s.region, 1, WIRES[0]);
    return s;
  };
/** Failures after which the back-off is the longest: time passes in the model too. */
const MANY = FAILURES_MAX + 20;

litmus('the fifth failure is one', {
  setup: failing(FAILURES_MAX - 2, false),
  describe,
  threads: { one: (s) => keep(s[1], 1, WIRES[0]), two: (s) => keep(s[2], 2, WIRES[1]) },
  outcome: (_s, { one, two }) => `${Math.min(one, two)} and ${Math.max(one, two)}`,
  outcomes: { [`${FAILURES_MAX - 1} and ${FAILURES_MAX}`]: 'one of them keeps the failure and says crashLoop' },
});

litmus('one worker tries when the back-off is over', {
  setup: failing(MANY, true),
  describe,
  threads: { one: (s) => backingOff(s[1], OLD) === undefined, two: (s) => backingOff(s[2], OLD) === undefined },
  outcome: (_s, { one, two }) => `${Number(one) + Number(two)} try`,
  outcomes: { '1 try': 'the other waits on' },
});

litmus('nobody tries before it is over, unless somebody succeeded', {
  setup: failing(MANY, false),
  describe,
  threads: { one: (s) => backingOff(s[1], OLD) === undefined, two: (s) => noteSuccess(s[2].m, OLD) },
  outcome: (_s, { one }) => (one ? 'tries' : 'waits'),
  outcomes: { tries: 'another loaded it', waits: 'too early' },
});

/** A job that is refused says why: the cause is there before the count that refuses. */
litmus('a failure is kept whole, and before jobs are refused for it', {
  setup: failing(FAILURES_MAX - 1, false),
  describe,
  threads: { reader: (s) => backingOff(s[1], OLD) ?? 'tries', keeper: (s) => keep(s[2], 2, WIRES[1]) },
  outcome: (_s, { reader }) => (reader === 'tries' ? reader : `refused: ${reader.cause}`),
  outcomes: { tries: 'before', [`refused: ${WIRES[1]}`]: 'after' },
});

litmus('a failure in the place of another, which somebody reads', {
  setup: failing(MANY, false, true),
  describe,
  threads: {
    reader: (s) => backingOff(s[1], OLD)?.cause,
    keeper: (s) => {
      noteSuccess(s[2].m, OLD);
      store(s[2].m, ROW + DEFINITION_FAILURES, MANY); // as many failures later
      keep(s[2], 2, WIRES[1]);
    },
  },
  outcome: (_s, { reader }) => `${reader}`,
  outcomes: { [WIRES[0]]: 'before', [WIRES[1]]: 'after', undefined: 'between' },
});

const M = 'pool/definition.js';
mutant('the id before the rest', {
  module: M,
  replace: [/store\(m, row \+ DEFINITION_ID, 0\);/, 'store(m, row + DEFINITION_ID, id);'],
  by: 'a row used again while a worker boots',
});
mutant('failures counted by a load and a store', {
  module: M,
  replace: [
    'const seen = cas(m, rowOf(id) + DEFINITION_FAILURES, before, before + 1);',
    'const seen = before; store(m, rowOf(id) + DEFINITION_FAILURES, before + 1);',
  ],
});
mutant('counted before the cause is kept', {
  module: M,
  by: 'a failure is kept whole, and before jobs are refused for it',
  replace: [/if \(before >= FAILURES_MAX - 1\)\s*(keepFailure\(region, slot, id, cause\);).*\n(\s*const seen = .*)/, '$2 $1'],
});
mutant('the kept failure is shown before it is written', {
  module: M,
  replace: [
    /(poke\(region\.m, block >> 2, scratch\.form\);[\s\S]*?)(store\(region\.m, rowOf\(id\) \+ DEFINITION_ERROR, block\);)/,
    '$2 $1',
  ],
});
mutant('all try when the back-off is over', {
  module: M,
  replace: [
    /cas\(region\.m, row \+ DEFINITION_OPEN_UNTIL, until, (\(now \+ backoffMs\(failures\)\) \| 0)\) === until/,
    '(store(region.m, row + DEFINITION_OPEN_UNTIL, $1), true)',
  ],
});
mutant('published before it is defined', {
  module: 'definition.model.js',
  replace: [/define\(s\.host, OLD, 'old'\);\n\s*submit\(s, OLD\);/, "submit(s, OLD); define(s.host, OLD, 'old');"],
});
mutant('no look at the id after offset and length are read, nor later', {
  module: M,
  replace: [
    /if \(load\(m, row \+ DEFINITION_ID\) !== id\)\n?\s*return undefined; \/\/ offset[^\n]*\n([^\n]*\n)\s*if \(cas\(m, row \+ DEFINITION_ID, id, id\) !== id\)\n\s*return undefined;/,
    '$1',
  ],
});
mutant('a row is left as it is when its text is freed', {
  by: 'a block used again while a worker boots',
  module: 'definition.model.js',
  replace: [/dropDefinition\(host\.m, OLD\);/, ''],
});
