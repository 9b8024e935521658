/**
 * What a storm will do, all of it decided by the seed before it begins: which tasks, by which verb, with which faults, in which
 * order and how far apart. When each thing then strikes is up to the threads. Pure.
 */
import { seeded } from './random.js';
import { SIZES } from './values.js';

/** Of about so many faults in all: how often each. At 1,450 and more, none comes less than 50 times. */
export const SHARES = {
  terminate: 150,
  'exit in the task': 65,
  'exit by a timer': 75,
  'exit in a microtask': 65,
  'late throw': 90,
  'unheard rejection': 80,
  'out of memory': 65,
  'endless loop': 70,
  'wait for ever': 70,
  'never settles': 60,
  'uncloneable result': 80,
  'module throws': 65,
  'module lacks the export': 60,
  'module exits': 65,
  'module never loads': 20,
  'abort while queued': 70,
  'abort in a batch': 100,
  'abort while running': 70,
  'abort unheeded': 60,
  deadline: 80,
  recycle: 60,
};
/** Below this the count of a kind says little; the command fails when it was asked for 1,000 faults or more. */
export const LEAST = 50;
/** Kinds that are a variety of another: what counts is their sum. */
export const SUMS = { 'module load failure': ['module throws', 'module lacks the export', 'module exits', 'module never loads'] };

const TIMEOUT = 'E_TASK_TIMEOUT';

/** How long tasks that never end may run, in ms. */
const limit = (random) => random.int(10, 60);
const code = (random) => random.int(0, 255);

/** A task of each faulty kind: handler, what its value holds beside the number, options, and how it may end other than by a death. */
const FAULTS = {
  'exit in the task': (random) => ({ does: 'exitNow', rest: [code(random)], fates: [] }),
  'exit by a timer': (random) => ({ does: 'exitByTimer', rest: [code(random)], fates: ['answer'] }),
  'exit in a microtask': (random) => ({ does: 'exitByMicrotask', rest: [code(random)], fates: ['answer'] }),
  'late throw': (random) => ({ does: 'throwLate', rest: [random.int(0, 3)], fates: ['answer'] }),
  'unheard rejection': (random) => ({ does: 'rejectUnheard', rest: [random.int(0, 3)], fates: ['answer'] }),
  'out of memory': () => ({ does: 'outOfMemory', rest: [], fates: [] }),
  'endless loop': (random) => ({ does: 'loop', rest: [], options: { timeoutMs: limit(random) }, fates: [TIMEOUT] }),
  'wait for ever': (random) => ({ does: 'waitForEver', rest: [], options: { timeoutMs: limit(random) }, fates: [TIMEOUT] }),
  'never settles': (random) => ({ does: 'hang', rest: [], options: { timeoutMs: limit(random) }, fates: [TIMEOUT] }),
  'uncloneable result': () => ({ does: 'uncloneable', rest: [], fates: ['E_RESULT_CLONE'] }),
  'module throws': () => ({ module: 'throws.js', rest: [], fates: ['E_HANDLER_LOAD'] }),
  'module lacks the export': () => ({ module: 'lacks.js', rest: [], fates: ['E_HANDLER_EXPORT'] }),
  'module exits': () => ({ module: 'exits.js', rest: [], fates: ['E_HANDLER_LOAD'] }),
  'module never loads': (random) => ({ module: 'hangs.js', rest: [], options: { timeoutMs: limit(random) }, fates: [TIMEOUT] }),
  'abort while queued': (random) => ({ ...good(random), abort: { when: random.pick(['now', 'turn']) }, alsoFates: ['ABORT_ERR'] }),
  'abort in a batch': (random) => ({ ...good(random), abort: { when: 'head started' }, alsoFates: ['ABORT_ERR'] }),
  'abort while running': (random) => ({
    does: random.pick(['heed', 'heedAsync']),
    rest: [random.int(5, 60)],
    abort: { when: 'started', ms: random.int(0, 4) },
    fates: ['answer', 'ABORT_ERR'],
  }),
  'abort unheeded': (random) => ({
    does: random.pick(['loop', 'waitForEver', 'hang']),
    rest: [],
    abort: { when: 'started', ms: random.int(0, 4) },
    fates: ['ABORT_ERR'],
  }),
  deadline: (random) => ({
    does: random.pick(['spin', 'heedAsync', 'loop', 'hang']),
    rest: [undefined, random.int(0, 20)],
    options: { deadlineMs: random.int(1, 60) },
    fates: ['E_TASK_DEADLINE'],
  }),
};

const GOOD = ['echo', 'echo', 'echo', 'echo', 'echoAsync', 'echoAsync', 'spin', 'fail', 'failAsync', 'function'];

function good(random) {
  const does = random.pick(GOOD);
  const size = random.int(0, 2) === 0 ? undefined : SIZES[Math.min(random.int(0, SIZES.length - 1), random.int(0, SIZES.length - 1))];
  if (does === 'fail' || does === 'failAsync') return { does, size, rest: [], fates: ['own'] };
  if (does === 'spin') return { does, size: size ?? 8, rest: [random.next() * 2], fates: ['answer'] };
  return { does, size, rest: [], fates: ['answer'] };
}

/** Handlers that come to their end without giving up their thread: nothing but an end from outside can strike them. */
const SYNCHRONOUS = new Set(['echo', 'spin', 'fail', 'function']);

class Plan {
  tasks = [];
  steps = [];
  #random;
  #profile;

  constructor(random, profile) {
    this.#random = random;
    this.#profile = profile;
  }

  task(shape, fault) {
    const { does, module, size, rest, options, abort, alsoFates = [] } = shape;
    let { fates } = shape;
    if (fault === 'deadline') fates = [...fates, ...{ spin: ['answer'], heedAsync: ['answer', 'ABORT_ERR'], loop: [], hang: [] }[does]];
    if (fault === 'out of memory' && this.#profile.queue.timeoutMs > 0) fates = [TIMEOUT]; // a loaded machine takes seconds to fill a heap
    const retry = fault !== undefined && !module && this.#random.int(0, 9) === 0 ? this.#random.int(1, 2) : 0;
    const task = {
      index: this.tasks.length,
      does,
      module,
      size,
      rest,
      options: { ...options },
      abort,
      fault,
      fates: [...fates, ...alsoFates],
    };
    if (retry > 0) task.options.onCrash = { retry };
    if (does === 'heedAsync' && fault === 'deadline') task.rest = [rest[1]];
    task.retry = retry;
    task.sync = SYNCHRONOUS.has(does);
    this.tasks.push(task);
    return task;
  }

  admit(verb, tasks) {
    this.steps.push({ do: 'admit', verb, tasks });
  }

  /** A run of good tasks by one verb. */
  goodOnes(count) {
    const random = this.#random;
    const verb = random.pick(['run', 'run', 'run', 'push', 'submit', 'pushBatch', 'submitBatch', 'trySubmitBatch']);
    if (verb === 'submitBatch' || verb === 'trySubmitBatch') {
      const alike = good(random); // these take one handler for all values
      this.admit(
        verb,
        Array.from({ length: count }, () => this.task({ ...alike, size: good(random).size ?? alike.size })),
      );
    } else
      this.admit(
        verb,
        Array.from({ length: count }, () => this.task(good(random))),
      );
  }

  fault(kind) {
    const random = this.#random;
    if (kind === 'recycle') this.steps.push({ do: 'recycle' });
    else if (kind === 'terminate') this.steps.push({ do: 'terminate', victim: random.next() });
    else if (kind === 'terminate all') this.steps.push({ do: 'terminate all' });
    else if (kind === 'abort in a batch') {
      const head = this.task({ does: 'spin', size: 8, rest: [random.int(5, 15)], fates: ['answer'] });
      const behind = Array.from({ length: 4 }, () => this.task(FAULTS[kind](random), kind));
      for (const { abort } of behind) abort.head = head.index;
      this.admit('run', [head, ...behind]);
    } else {
      const task = this.task(FAULTS[kind](random), kind);
      const plain = Object.keys(task.options).length === 0 && !task.abort && !task.module;
      const limited = this.#profile.queue.timeoutMs > 0 && task.options.timeoutMs > 0 && task.retry === 0 && random.int(0, 2) === 0;
      if (limited) task.options = {}; // the limit of the queue ends it
      this.admit((plain && random.int(0, 3) === 0) || limited ? random.pick(['push', 'submit', 'pushBatch']) : 'run', [task]);
    }
  }
}

/** `counts`: how many faults of each kind. */
export function planOf(profile, seed, counts) {
  const random = seeded(seed);
  const plan = new Plan(random, profile);
  const kinds = Object.entries(counts).flatMap(([kind, count]) => {
    if (kind === 'abort in a batch') return Array(Math.ceil(count / 4)).fill(kind);
    if (kind === 'terminate' && count >= 30) return [...Array(count - 16).fill(kind), ...Array(2).fill('terminate all')]; // 8 each
    return Array(count).fill(kind);
  });
  for (const kind of random.shuffle(kinds)) {
    for (let groups = random.int(0, 3); groups > 0; groups--) plan.goodOnes(random.int(1, 16));
    plan.fault(kind);
    const then = random.int(0, 9);
    if (then < 3) plan.steps.push({ do: 'turn' });
    else if (then < 7) plan.steps.push({ do: 'pause', ms: random.int(1, 20) });
  }
  plan.goodOnes(16);
  return { tasks: plan.tasks, steps: plan.steps };
}

/** A share of the faults for each of several profiles, by their weights, each kind rounded up. */
export function countsFor(faults, weight, allWeights) {
  const all = Object.values(SHARES).reduce((a, b) => a + b, 0);
  const counts = {};
  for (const [kind, share] of Object.entries(SHARES)) counts[kind] = Math.ceil((share * Math.max(faults, 1) * weight) / all / allWeights);
  return counts;
}
