/**
 * Starting worker threads, and seeing them end. Host thread: only it can start threads.
 *
 * A thread that leaves or is being ended still counts until its `exit`, so there are never more than `concurrency`. When
 * threads keep dying before they are ready, the next ones are started ever more slowly.
 */
import type { Readable, Writable } from 'node:stream';
import { type MessagePort, Worker, type WorkerOptions } from 'node:worker_threads';
import {
  Array,
  clearTimeout,
  type Entry,
  Error,
  fromWire,
  Math,
  Object,
  process,
  type ResolvedOptions,
  type Sequence,
  Set,
  setImmediate,
  setTimeout,
  type Slot,
} from '#base';
import { HOST, type Region } from '#memory';
import { unreadMost } from '#payload';
import {
  discount,
  HostChannel,
  passWakeOn,
  type Receivers,
  STARTING,
  type ToHost,
  toStarting,
  toVacant,
  type WorkerSettings,
  wasLoading,
} from '#pool';
import { inheritedFlags } from './exec-argv.ts';
import { workerEntry } from './entry-file.ts';
import { waitLong } from './timers.ts';

export interface Thread {
  readonly worker: Worker;
  /** For what is rare. */
  readonly channel: HostChannel;
  readonly workerId: number;
  readonly slot: Slot;
  /** It has said that it claims. */
  ready: boolean;
  /** To be called once it answers `warm`. */
  readonly onWarm: Set<() => void>;
  /** What ended it, if it said so. */
  error: unknown;
  /** We are ending it. */
  condemned: boolean;
  /** Because of this job; 0 where for another reason. */
  condemnedFor: Entry;
  /** Forgets that it will be ended unless it ends by itself. */
  forgetEnd: () => void;
  /** It has exited. */
  ended: boolean;
}

export interface ThreadsListener {
  /** Who hears of the values that the thread in this slot asks for and sends. */
  receiversFor(slot: Slot): Pick<Receivers<ToHost>, 'ask' | 'result'>;
  onReady(thread: Thread): void;
  /** An error was thrown in it outside any handler's own promise: it takes nothing new. */
  onUncaught(thread: Thread): void;
  /** The library's own code threw in it: it ends. */
  onBroken(thread: Thread): void;
  /** Nothing of the thread runs any more. Called before its slot is given to another. */
  onExit(thread: Thread, exitCode: number): void;
  /** The `failures`th thread in a row that ended before it was ready. */
  onBootFailure(error: unknown, failures: number): void;
  /** A thread has gone or answered, or a pause after boot failures is over: another may be started. */
  jobsMoved(): void;
}

/** What a worker thread is given besides the user's `workerData`. */
export interface Boot {
  readonly buffer: SharedArrayBuffer;
  readonly settings: WorkerSettings;
  readonly userData: unknown;
  readonly port: MessagePort;
}

/** Threads' name, where the user gives none. */
const DEFAULT_NAME = 'railhead';
/** Boot failures in a row after which starting pauses. More: more threads are spent on what cannot work. */
export const BOOT_FAILURES_MAX = 5;
/** How long a thread may take to end by itself: on a loaded machine, with output that waits for the host's loop. */
const ENDING_MS = 250;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

/** Slots of a region: the host's, and two for each worker, since a condemned thread keeps its own while another replaces it. */
export const slotsFor = (concurrency: number): number => 1 + 2 * concurrency;

export class Threads {
  readonly #region: Region;
  readonly #options: Readonly<ResolvedOptions>;
  readonly #parallelism: number;
  readonly #firstSequence: Sequence;
  readonly #listener: ThreadsListener;
  /** By slot; slot 0 is the host's. */
  readonly #bySlot: (Thread | undefined)[];
  /** Threads that may claim, or will. */
  #live = 0;
  /** Threads that we are ending and that have not exited. */
  #condemned = 0;
  #started = 0;
  #starting = false;
  #bootFailures = 0;
  #pause: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(region: Region, options: Readonly<ResolvedOptions>, parallelism: number, firstSequence: Sequence, listener: ThreadsListener) {
    this.#region = region;
    this.#options = options;
    this.#parallelism = parallelism;
    this.#firstSequence = firstSequence;
    this.#listener = listener;
    this.#bySlot = Array.from({ length: slotsFor(options.concurrency) }, () => undefined);
  }

  /** Threads that have not exited. */
  get count(): number {
    return this.#live + this.#condemned;
  }

  /** Threads that may claim, or will: never more than `concurrency`. */
  get live(): number {
    return this.#live;
  }

  get condemned(): number {
    return this.#condemned;
  }

  /** Nothing is started for a while, since what was started failed. */
  get pausing(): boolean {
    return this.#pause !== undefined;
  }

  at(slot: Slot): Thread | undefined {
    return this.#bySlot[slot];
  }

  /** Threads started so far. */
  get started(): number {
    return this.#started;
  }

  *[Symbol.iterator](): Generator<Thread> {
    for (const thread of this.#bySlot) if (thread !== undefined) yield thread;
  }

  /** Starts one thread. Undefined: at the cap, pausing, or closed; or it could not even be created. */
  start(): Thread | undefined {
    if (this.#starting) return undefined; // a getter of `workerData` has called a verb, and our slot is not taken yet
    this.#starting = true;
    try {
      return this.#start();
    } finally {
      this.#starting = false;
    }
  }

  #start(): Thread | undefined {
    const { concurrency } = this.#options;
    if (this.#closed || this.#pause !== undefined || this.#live >= concurrency || this.count >= 2 * concurrency) return undefined;
    const slot = this.#bySlot.indexOf(undefined, HOST + 1) as Slot;
    const channel = new HostChannel(this.#receiversFor(slot, () => thread));
    toStarting(this.#region.m, slot); // before the thread exists: it may claim, and even leave, before our next line
    let worker: Worker;
    try {
      worker = new Worker(workerEntry(this.#options.workerEntry), this.#workerOptions(slot, ++this.#started, channel.remote));
    } catch (error) {
      channel.close();
      toVacant(this.#region.m, slot);
      setImmediate(() => this.#noteBootFailure(error)); // we may be inside a verb: nobody is told from here
      this.#pauseFor(0);
      return undefined;
    }
    const thread: Thread = {
      worker,
      channel,
      workerId: this.#started,
      slot,
      ready: false,
      onWarm: new Set(),
      error: undefined,
      condemned: false,
      condemnedFor: 0 as Entry,
      forgetEnd: () => {},
      ended: false,
    };
    this.#bySlot[slot] = thread;
    this.#live++;
    if (this.#options.tagOutput) tagOutput(worker, `${this.#options.name ?? DEFAULT_NAME} ${thread.workerId}`);
    worker.on('error', (error) => {
      thread.error ??= error;
    });
    worker.on('exit', (code) => this.#onExit(thread, code));
    worker.unref(); // after the listeners, which ref it: an idle queue must not keep the process alive; work does, in the inbox
    return thread;
  }

  /** Ends a thread. From here it is not live, and may be replaced; its slot stays taken until its `exit`. */
  condemn(thread: Thread, because: Entry = 0 as Entry): void {
    if (thread.condemned) return;
    thread.condemned = true;
    thread.forgetEnd();
    thread.condemnedFor = because;
    this.#live--;
    this.#condemned++;
    discount(this.#region.m, thread.slot);
    void thread.worker.terminate();
    passWakeOn(this.#region); // it may have been woken for a job
    setImmediate(() => this.#listener.jobsMoved());
  }

  /** The thread should end by itself, after `graceMs` at the latest and the time that takes; if it does not, it is ended. */
  #endLater(thread: Thread): void {
    thread.forgetEnd();
    if (!thread.ended) thread.forgetEnd = waitLong(this.#options.graceMs + ENDING_MS, () => this.condemn(thread));
  }

  /** From here nothing is started. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#pause);
    this.#pause = undefined;
  }

  #workerOptions(slot: Slot, workerId: number, port: MessagePort): WorkerOptions {
    const { maxBatchSize, maxIdleMs, maxJobs, maxHeapMb, maxPayloadBytes, graceMs, tasksPerWorker, spinUs, tagOutput } = this.#options;
    const { maxResultBytes, hooks, codec } = this.#options;
    const settings: WorkerSettings = {
      ...{ slot, workerId, maxBatchSize, maxIdleMs, maxJobs, maxHeapMb, maxPayloadBytes, graceMs, spinUs },
      ...{ unreadMost: unreadMost(maxResultBytes), hooks: hooks?.href, codec: codec?.href },
      ...{
        tasksPerWorker: tasksPerWorker === 'auto' ? 64 : tasksPerWorker,
        parallelism: this.#parallelism,
        firstSequence: this.#firstSequence,
      },
    };
    const output = tagOutput ? { stdout: true, stderr: true } : {};
    const { name, env, argv, resourceLimits, workerData } = this.#options;
    const theirEnv = typeof env === 'object' ? env : process.env;
    const execArgv = this.#options.execArgv ?? inheritedFlags(process.execArgv, theirEnv.NODE_OPTIONS);
    const boot: Boot = { buffer: this.#region.buffer, settings, userData: workerData, port };
    const given = Object.entries({ env, argv, execArgv, resourceLimits }).filter(([, value]) => value !== undefined);
    return { ...Object.fromEntries(given), ...output, name: name ?? DEFAULT_NAME, workerData: boot, transferList: [port] };
  }

  #receiversFor(slot: Slot, its: () => Thread): Receivers<ToHost> {
    return {
      ...this.#listener.receiversFor(slot),
      ready: () => {
        its().ready = true;
        this.#bootFailures = 0;
        this.#listener.onReady(its());
      },
      warm: () => {
        for (const call of its().onWarm) call();
        its().onWarm.clear();
        this.#listener.jobsMoved();
      },
      leaving: () => this.#endLater(its()),
      uncaught: ({ error }) => {
        its().error = fromWire(error);
        this.#endLater(its()); // its own timer may never fire: a task beside it may not yield
        this.#listener.onUncaught(its());
      },
      broken: ({ error }) => {
        its().error = fromWire(error);
        this.#endLater(its()); // it ends by itself, unless a handler keeps it from that
        this.#listener.onBroken(its());
      },
    };
  }

  #onExit(thread: Thread, code: number): void {
    const was = toVacant(this.#region.m, thread.slot); // first: it must not count as running while its jobs are published again
    thread.ended = true;
    thread.forgetEnd();
    thread.channel.pump(); // what it has sent is received before it is gone
    this.#listener.onExit(thread, code);
    thread.channel.close();
    this.#bySlot[thread.slot] = undefined;
    if (thread.condemned) this.#condemned--;
    else this.#live--;
    const loading = wasLoading(this.#region.m, thread.slot); // then a handler's module is at fault, not the boot
    if (was === STARTING && !thread.condemned && loading === 0)
      this.#noteBootFailure(thread.error ?? new Error(`The thread ended with code ${code}`));
    else if (was !== STARTING) this.#bootFailures = 0;
    this.#listener.jobsMoved();
  }

  #noteBootFailure(error: unknown): void {
    if (this.#closed) return;
    this.#bootFailures++;
    this.#listener.onBootFailure(error, this.#bootFailures);
    const over = this.#bootFailures - BOOT_FAILURES_MAX;
    this.#pauseFor(over < 0 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(over, 20)));
  }

  #pauseFor(ms: number): void {
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#listener.jobsMoved();
    }, ms).unref();
  }
}

/** `tag` goes before each line, and one `writev`-sized piece is one line, so lines of two workers never mix. */
export function tagOutput(worker: Worker, tag: string): void {
  tagLines(worker.stdout, process.stdout, tag);
  tagLines(worker.stderr, process.stderr, tag);
}

function tagLines(from: Readable, to: Writable, tag: string): void {
  // Loaded here and not above: it takes longer than most of the package, and few queues tag.
  const { createInterface } = process.getBuiltinModule('node:readline');
  createInterface({ input: from }).on('line', (line) => to.write(`[${tag}] ${line}\n`));
}
