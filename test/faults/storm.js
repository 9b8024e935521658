/**
 * One storm: plays a plan on a queue, and holds what came of it against the ledger. Main thread of a child process.
 *
 * The promise of each `run` says how its task ended; a pushed one is counted, since nobody is told which it was.
 */
import { getEventListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { INTERNALS } from '#queue';
import { handler, TaskQueue } from 'railhead';
import { at, ENDED, ledgerFor, STARTED, STRUCK, WHERE } from './ledger.js';
import { OnPurpose, onThread, purposes, surprises } from './surroundings.js';
import { answerOf, bodyOf } from './values.js';

/** The storm holds its breath above so many unsettled tasks. */
const HIGH_WATER = 400;
const LOW_WATER = 100;
/** For what never comes, not for what comes late. */
const DEADLINE_MS = 90_000;
/** Every so many failures told to `onError`, it throws: that must be seen as an uncaught exception and stop nothing. */
const THROW_EVERY = 10;
/** Threads ended before they were ready, in a row: at five the queue would say that none can be started, and be right. */
const UNREADY_MAX = 3;

const url = new URL('./handlers.js', import.meta.url);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A function handler: it must stand alone. */
function bare(value, task) {
  const { ledger } = process.getBuiltinModule('node:worker_threads').workerData;
  const index = typeof value === 'number' ? value : value[0];
  Atomics.add(ledger, index * 4, 1);
  Atomics.store(ledger, index * 4 + 3, task.workerId);
  Atomics.add(ledger, index * 4 + 1, 1);
  return index * 2 + 1;
}

export class Storm {
  queue;
  ledger;
  /** By task: `answer`, `own`, a code, or `WRONG …`; undefined while its promise is unsettled, and for pushed ones. */
  fates = [];
  errors = [];
  /** By task: how often its promise was settled. */
  settled;
  admitted = 0;
  refused = 0;
  /** Pushed tasks: how many were admitted, and failures that `onError` was told of. */
  pushed = 0;
  told = 0;
  foreign = [];
  terminated = 0;
  recycled = 0;
  most = { live: 0, condemned: 0, unaccounted: 0, threads: 0 };
  bad = [];
  /** What was seen of each thread, by workerId. */
  threads = new Map();
  starts = 0;
  #profile;
  #plan;
  #handlers = new Map();
  #forget;
  #sampler;
  #unready = 0;
  #aborts = new Set();
  /** Signals, to see that no listener is left on them. */
  signals = [];

  constructor(profile, plan) {
    this.#profile = profile;
    this.#plan = plan;
    this.ledger = ledgerFor(plan.tasks.length);
    this.settled = new Uint8Array(plan.tasks.length);
    this.#forget = onThread((worker) => this.#onThread(worker));
    this.queue = new TaskQueue({
      ...profile.queue,
      workerData: { ledger: this.ledger },
      onError: (error, job) => this.#onError(error, job),
      ...(profile.internals === undefined ? {} : { [INTERNALS]: profile.internals }),
    });
    this.queue.on('workerStart', ({ workerId }) => {
      this.#unready = 0;
      const thread = this.threads.get(workerId);
      if (thread !== undefined) thread.ready = true;
    });
    this.#sampler = setInterval(() => this.sample(), 3);
  }

  get tasksPerWorker() {
    return this.#profile.queue.tasksPerWorker ?? 1;
  }

  // ---- what happens

  #onThread(worker) {
    const workerId = ++this.starts;
    const thread = { worker, workerId, ready: false, gone: false, terminated: false, exitCode: undefined };
    this.threads.set(workerId, thread);
    worker.once('exit', (code) => {
      thread.gone = true;
      thread.exitCode = code;
    });
  }

  #onError(error, job) {
    if (job.handler === undefined) {
      if (!/^(late|unheard) \d+$/.test(error?.message)) this.foreign.push(`${error?.code} ${error?.message}`);
      return;
    }
    this.told++;
    if (this.told % THROW_EVERY === 0) {
      purposes.thrown++;
      throw new OnPurpose('thrown by onError on purpose');
    }
  }

  sample() {
    const { workers, pending, queued } = this.queue.stats();
    const { concurrency } = this.#profile.queue;
    let threads = 0;
    for (const thread of this.threads.values()) if (!thread.gone) threads++;
    this.most.live = Math.max(this.most.live, workers.live);
    this.most.condemned = Math.max(this.most.condemned, workers.condemned);
    this.most.unaccounted = Math.max(this.most.unaccounted, threads - workers.live - workers.condemned);
    this.most.threads = Math.max(this.most.threads, threads);
    if (workers.live > concurrency) this.bad.push(`live ${workers.live}`);
    if (workers.condemned > concurrency && !this.stopping) this.bad.push(`condemned ${workers.condemned}`);
    if (pending < 0 || pending > this.admitted || queued < 0 || queued > pending)
      this.bad.push(`pending ${pending} queued ${queued} admitted ${this.admitted}`);
    if (threads > 2 * concurrency) this.bad.push(`${threads} threads`); // when it stops, it condemns the live ones too
    const { maxPending = 0 } = this.#profile.queue;
    if (maxPending > 0 && pending - this.pushed > maxPending) this.bad.push(`pending ${pending}, of which at most ${this.pushed} pushed`);
  }

  /** Some task has begun: the first threads are there. */
  get begun() {
    return this.#plan.tasks.some(({ index }) => Atomics.load(this.ledger, at(index, STARTED)) > 0);
  }

  async play() {
    for (const step of this.#plan.steps) {
      if (this.stopping) return;
      switch (step.do) {
        case 'admit':
          await this.#admit(step);
          break;
        case 'terminate':
          this.#terminate(step.victim);
          break;
        case 'terminate all':
          for (const thread of [...this.threads.values()]) if (thread.ready && !thread.gone) this.#strike(thread);
          break;
        case 'recycle':
          this.recycled++;
          this.queue.recycle();
          break;
        case 'pause':
          await sleep(step.ms);
          break;
        default:
          await turn();
      }
    }
  }

  async #admit({ verb, tasks }) {
    if (this.queue.pending > HIGH_WATER) await this.#until(() => this.queue.pending < LOW_WATER, 'the backlog to fall');
    const { maxPending = 0 } = this.#profile.queue;
    if (maxPending > 0 && !this.stopping) await this.queue.ready().catch(() => {}); // that it comes is proved elsewhere; run.js has a limit
    const { queue } = this;
    const pairs = tasks.map((task) => [this.#handlerOf(task), this.#valueOf(task)]);
    let taken = 0;
    if (verb === 'run') for (const [k, task] of tasks.entries()) this.#run(task, ...pairs[k]);
    else if (verb === 'push') for (const pair of pairs) taken += Number(queue.push(...pair));
    else if (verb === 'submit') for (const pair of pairs) taken += Number(queue.submit(...pair));
    else if (verb === 'pushBatch') taken = queue.pushBatch(pairs);
    else {
      const values = pairs.map(([, value]) => value);
      if (verb === 'submitBatch') taken = queue.submitBatch(pairs[0][0], values);
      else taken = queue.trySubmitBatch(pairs[0][0], values) ? values.length : 0;
    }
    if (verb === 'run') return;
    this.pushed += taken;
    this.admitted += taken;
    this.refused += tasks.length - taken;
    if (taken < tasks.length && maxPending === 0 && !this.stopping) this.bad.push(`${verb} took ${taken} of ${tasks.length}`);
    for (const task of tasks) task.verb = verb;
  }

  #run(task, its, value) {
    const { index, abort } = task;
    task.verb = 'run';
    const options = { ...task.options };
    let controller;
    if (abort !== undefined) {
      controller = new AbortController();
      options.signal = controller.signal;
      this.signals.push(controller.signal);
    }
    this.admitted++;
    const settle = (fate, error) => {
      this.settled[index]++;
      this.fates[index] = fate;
      this.errors[index] = error;
      if (fate === 'E_QUEUE_FULL') {
        this.admitted--;
        this.refused++;
      }
    };
    const promise = Object.keys(options).length === 0 ? this.queue.run(its, value) : this.queue.run(its, value, options);
    promise.then(
      (result) =>
        settle(isDeepStrictEqual(result, this.#answerOf(task)) ? 'answer' : `WRONG result ${JSON.stringify(result)?.slice(0, 80)}`),
      (error) => settle(fateOf(error, index), error),
    );
    if (controller !== undefined) this.#abortLater(task, controller);
  }

  /** Tasks after the storm. `apart`: each begins before the next is admitted, so that no two are claimed together. */
  async admitAll(tasks, apart) {
    const wave = this.#profile.queue.maxPending || tasks.length;
    for (let k = 0; k < tasks.length; k += wave) {
      for (const task of tasks.slice(k, k + wave)) {
        this.#run(task, this.#handlerOf(task), this.#valueOf(task));
        if (apart)
          await this.#until(() => Atomics.load(this.ledger, at(task.index, STARTED)) > 0, `task ${task.index} to start beside the others`);
      }
      await this.calm();
    }
  }

  #abortLater({ index, abort }, controller) {
    const now = () => controller.abort(new Error(`abort ${index}`));
    if (abort.when === 'now') return now();
    if (abort.when === 'turn') {
      setImmediate(now);
      return;
    }
    const watched = abort.when === 'started' ? index : abort.head;
    const look = setInterval(() => {
      const begun = Atomics.load(this.ledger, at(watched, STARTED)) > 0;
      if (!begun && this.settled[index] === 0) return;
      clearInterval(look);
      this.#aborts.delete(look);
      if (abort.ms > 0) setTimeout(now, abort.ms);
      else now();
    }, 1);
    this.#aborts.add(look);
  }

  #handlerOf({ index, does, module }) {
    if (module !== undefined)
      return handler(new URL(`./broken/${module}?${index}`, import.meta.url), module === 'lacks.js' ? 'wanted' : 'default');
    if (does === 'function') return bare;
    if (!this.#handlers.has(does)) this.#handlers.set(does, handler(url, does));
    return this.#handlers.get(does);
  }

  #valueOf({ index, size, rest }) {
    if (size !== undefined) return [index, bodyOf(index, size), ...rest];
    return rest.length > 0 ? [index, ...rest] : index;
  }

  #answerOf({ index, size, does }) {
    return answerOf(index, size === undefined || does === 'function' ? undefined : bodyOf(index, size));
  }

  #terminate(at) {
    const threads = [...this.threads.values()].filter(
      ({ ready, gone, terminated }) => !gone && !terminated && (ready || this.#unready < UNREADY_MAX),
    );
    const thread = threads[Math.floor(at * threads.length)];
    if (thread !== undefined) this.#strike(thread);
  }

  #strike(thread) {
    if (!thread.ready) this.#unready++;
    thread.terminated = true;
    this.terminated++;
    void thread.worker.terminate();
  }

  async #until(condition, what) {
    const end = performance.now() + DEADLINE_MS;
    while (!condition()) {
      if (performance.now() > end) throw new Error(`Waited ${DEADLINE_MS} ms in vain for ${what}: ${this.describe()}`);
      await sleep(2);
    }
  }

  /** All that was admitted has settled. */
  async calm() {
    await this.#until(() => this.queue.pending === 0, 'all tasks to settle');
    await turn();
    await turn();
  }

  describe() {
    const open = this.#plan.tasks.filter(({ index, verb }) => verb === 'run' && this.settled[index] === 0);
    const list = open
      .slice(0, 8)
      .map(
        (task) =>
          `#${task.index} ${task.fault ?? task.does} started ${this.ledger[at(task.index, STARTED)]} ended ${this.ledger[at(task.index, ENDED)]} on ${this.ledger[at(task.index, WHERE)]}`,
      );
    return `${JSON.stringify(this.queue.stats())}; ${open.length} promises open: ${list.join(', ')}`;
  }

  end() {
    clearInterval(this.#sampler);
    for (const look of this.#aborts) clearInterval(look);
    this.#forget();
  }

  // ---- what came of it

  /** @param stopped the queue was stopped in the midst of it */
  audit(checks, stopped, report) {
    const { tasks } = this.#plan;
    const { ledger, fates } = this;
    const word = (index, field) => Atomics.load(ledger, at(index, field));
    const runs = tasks.filter(({ verb, index }) => verb === 'run' && fates[index] !== 'E_QUEUE_FULL');
    const open = tasks.filter(({ verb, index }) => verb === 'run' && this.settled[index] !== 1);
    checks.none(
      'each promise has settled, once',
      open.map((task) => this.#tell(task)),
      runs.length,
    );

    const { completed, failed, pending, queued, running } = this.queue.stats();
    const answered = runs.filter(({ index }) => fates[index] === 'answer').length;
    const rejected = runs.length - answered;
    const cut = report?.cut ?? 0;
    checks.that(
      'settled = admitted',
      completed + failed === this.admitted,
      `completed ${completed} + failed ${failed}, admitted ${this.admitted}`,
    );
    const toldOf = failed - rejected;
    checks.that(
      'what was pushed and failed was told, each once',
      this.told === toldOf || (stopped && this.told <= toldOf),
      `told ${this.told}, failed ${toldOf}`,
    );
    const ended = tasks.reduce((sum, { verb, index }) => sum + (verb !== 'run' && verb !== undefined && word(index, ENDED) > 0 ? 1 : 0), 0);
    checks.that('what was pushed and completed had run', completed - answered <= ended, `completed ${completed - answered}, ran ${ended}`);
    checks.that(
      'pending, queued and running are 0',
      pending === 0 && queued === 0 && running === 0 && this.queue.size === 0,
      `${pending} ${queued} ${running} ${this.queue.size}`,
    );
    if (report !== undefined) checks.that('the report adds up', report.completed === completed && report.failed + cut === failed, report);

    checks.none(
      'none has started twice',
      tasks
        .filter(({ index, retry, does }) => does !== 'meeting place' && word(index, STARTED) > 1 + retry)
        .map((task) => this.#tell(task)),
      tasks.length,
    );
    checks.none(
      'none that was refused has started',
      tasks
        .filter(
          ({ index, verb, does }) =>
            does !== 'meeting place' && (verb === undefined || fates[index] === 'E_QUEUE_FULL') && word(index, STARTED) > 0,
        )
        .map((task) => this.#tell(task)),
    );
    checks.none(
      'no result is wrong',
      runs.filter(({ index }) => fates[index]?.startsWith('WRONG')).map((task) => this.#tell(task)),
      answered,
    );
    checks.none(
      'each fate has its reason',
      runs.filter((task) => !this.#explained(task, stopped)).map((task) => this.#tell(task)),
      runs.length,
    );
    checks.none(
      'no answer without its handler having ended',
      runs
        .filter(({ index, fault }) => fates[index] === 'answer' && fault === undefined && word(index, ENDED) === 0)
        .map((task) => this.#tell(task)),
    );
    checks.none('errors outside any task are those of the storm', this.foreign);
    this.#auditDeaths(checks, runs);
    checks.none('live, condemned and pending are in bounds at every sample', this.bad);
    checks.none(
      'no listener is left on a signal',
      this.signals.filter((signal) => getEventListeners(signal, 'abort').length > 0).map(() => 'a signal'),
      this.signals.length,
    );
    checks.none('no uncaught error but those on purpose', surprises.splice(0));
  }

  #auditDeaths(checks, runs) {
    const { fates, errors, ledger } = this;
    const wrong = [];
    const perWorker = new Map();
    for (const task of runs) {
      if (fates[task.index] !== 'E_WORKER_DIED') continue;
      const { message, reason, exitCode } = errors[task.index];
      const workerId = Number(/^Worker (\d+) ended/.exec(message)?.[1]);
      const thread = this.threads.get(workerId);
      const started = Atomics.load(ledger, at(task.index, STARTED));
      const where = Atomics.load(ledger, at(task.index, WHERE));
      perWorker.set(workerId, (perWorker.get(workerId) ?? 0) + 1);
      const say = (what) => wrong.push(`${what}: ${this.#tell(task)}`);
      if (thread === undefined || !thread.gone) say('names a worker that is not gone');
      else if (started > 0 && task.retry === 0 && where !== workerId) say(`ran on ${where}`);
      else if (reason === 'terminated' && !thread.terminated) say('nobody terminated it');
      else if (reason === 'exit' && exitCode !== thread.exitCode) say(`the thread's exit code was ${thread.exitCode}`);
      else if (
        task.fault === 'exit in the task' &&
        reason === 'exit' &&
        !thread.terminated &&
        task.retry === 0 &&
        exitCode !== task.rest[0]
      )
        say('not its exit code');
      else if (task.sync && task.fault === undefined && started > 0 && this.tasksPerWorker === 1 && !thread.terminated)
        say('a good task, struck by another');
    }
    for (const [workerId, count] of perWorker)
      if (count > this.tasksPerWorker) wrong.push(`worker ${workerId} took ${count} tasks with it`);
    checks.none('a death fails what ran on its thread, and nothing else', wrong);
  }

  #explained(task, stopped) {
    const fate = this.fates[task.index];
    if (task.fates.includes(fate)) return true;
    if (fate === 'E_WORKER_DIED') return true; // looked at with the deaths
    if (fate === 'E_HANDLER_LOAD') return this.#endedInLoading(task);
    if (fate === 'E_WORKER_TERMINATED') return this.tasksPerWorker > 1 && this.errors[task.index].retryable === true;
    return fate === 'E_QUEUE_STOPPED' && stopped;
  }

  /**
   * A thread that ends by itself while it imports a module is put down to that module, also if a late timer of another task did it:
   * nobody can tell. One that somebody else terminated is not.
   */
  #endedInLoading({ index }) {
    const workerId = Number(/^Worker (\d+) ended/.exec(this.errors[index].cause?.message)?.[1]);
    const began = Atomics.load(this.ledger, at(index, STARTED)) > 0;
    return !began && this.threads.get(workerId)?.terminated !== true;
  }

  #tell(task) {
    const { index, does, module, verb, fault } = task;
    const word = (field) => Atomics.load(this.ledger, at(index, field));
    const error = this.errors[index];
    return `#${index} ${verb} ${fault ?? 'good'} ${does ?? module}: ${this.fates[index]}${error === undefined ? '' : ` (${error.message} ${error.reason ?? ''})`}, started ${word(STARTED)}, ended ${word(ENDED)}, struck ${word(STRUCK)}, on ${word(WHERE)}`;
  }

  /** Faults that really struck, by kind. */
  struck() {
    const counts = { terminate: this.terminated, recycle: this.recycled };
    for (const { index, fault } of this.#plan.tasks) {
      if (fault === undefined) continue;
      const fate = this.fates[index];
      const begun = Atomics.load(this.ledger, at(index, STARTED)) > 0;
      let hit = Atomics.load(this.ledger, at(index, STRUCK)) > 0;
      if (fault === 'abort while queued' || fault === 'abort in a batch') hit = fate === 'ABORT_ERR' && !begun;
      else if (fault.startsWith('abort')) hit = fate === 'ABORT_ERR' && begun;
      else if (fault === 'deadline') hit = fate === 'E_TASK_DEADLINE';
      else if (fault === 'out of memory') hit &&= fate !== 'E_TASK_TIMEOUT';
      counts[fault] = (counts[fault] ?? 0) + Number(hit);
    }
    return counts;
  }

  reasons() {
    const counts = {};
    for (const error of this.errors) {
      const name = error?.reason === undefined || error.code !== 'E_WORKER_DIED' ? error?.code : `${error.code} ${error.reason}`;
      if (name !== undefined) counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }
}

function fateOf(error, index) {
  if (error instanceof RangeError && error.message === `own ${index}`) return 'own';
  if (error?.code !== undefined) return error.code;
  return `WRONG error ${error?.stack ?? error}`;
}
