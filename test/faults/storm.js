/**
 * One storm: plays a plan on a queue, and keeps what came of it for `audit.js`. Main thread of a child process.
 *
 * The promise of each `run` says how its task ended; a pushed one is counted, since nobody is told which it was.
 */
import { isDeepStrictEqual } from 'node:util';
import { INTERNALS } from '#queue';
import { handler, TaskQueue } from 'railhead';
import { at, ENDED, ledgerFor, STARTED, WHERE } from './ledger.js';
import { OnPurpose, onThread, purposes } from './surroundings.js';
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
  plan;
  #handlers = new Map();
  #forget;
  #sampler;
  #unready = 0;
  #aborts = new Set();
  /** Signals, to see that no listener is left on them. */
  signals = [];

  constructor(profile, plan) {
    this.#profile = profile;
    this.plan = plan;
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
    return this.plan.tasks.some(({ index }) => Atomics.load(this.ledger, at(index, STARTED)) > 0);
  }

  async play() {
    for (const step of this.plan.steps) {
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
    const open = this.plan.tasks.filter(({ index, verb }) => verb === 'run' && this.settled[index] === 0);
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
}

function fateOf(error, index) {
  if (error instanceof RangeError && error.message === `own ${index}`) return 'own';
  if (error?.code !== undefined) return error.code;
  return `WRONG error ${error?.stack ?? error}`;
}
