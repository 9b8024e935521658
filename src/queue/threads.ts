/**
 * Starting worker threads, and seeing them end. Host thread: only it can start threads.
 *
 * A thread that leaves or is being ended still counts until its `exit`, so there are never more than `concurrency`. When
 * threads keep dying before they are ready, the next ones are started ever more slowly.
 */
import { type MessagePort, Worker, type WorkerOptions } from 'node:worker_threads';
import type { ResolvedOptions, Sequence, Slot } from '#base';
import { HOST, type Region } from '#memory';
import { unreadMost } from '#payload';
import { LIVE, READY, type Receivers, STARTING, type ToHost, toStarting, toVacant, type WorkerSettings } from '#pool';
import { HostChannel } from './channel.ts';

export interface Thread {
  readonly worker: Worker;
  readonly workerId: number;
  readonly slot: Slot;
  readonly channel: HostChannel;
  /** It has said that it claims. */
  ready: boolean;
  /** What ended it, if it said so. */
  error: unknown;
  /** We are ending it. */
  condemned: boolean;
}

export interface ThreadsListener {
  /** Who hears what the thread in this slot sends over its channel. */
  receiversFor(slot: Slot): Receivers<ToHost>;
  onReady(thread: Thread): void;
  /** Nothing of the thread runs any more. Called before its slot is given to another. */
  onExit(thread: Thread, exitCode: number): void;
  /** The `failures`th thread in a row that ended before it was ready. */
  onBootFailure(error: unknown, failures: number): void;
  /** The pause after boot failures is over. */
  onMayStart(): void;
}

/** What a worker thread is given besides the user's `workerData`. */
export interface Boot {
  readonly buffer: SharedArrayBuffer;
  readonly settings: WorkerSettings;
  readonly channel: MessagePort;
  readonly userData: unknown;
}

/** Boot failures in a row after which starting pauses. More: more threads are spent on what cannot work. */
export const BOOT_FAILURES_MAX = 5;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

const ENTRY = new URL('./worker-entry.js', import.meta.url);

export class Threads {
  readonly #region: Region;
  readonly #options: Readonly<ResolvedOptions>;
  readonly #parallelism: number;
  readonly #firstSequence: Sequence;
  readonly #listener: ThreadsListener;
  /** By slot; slot 0 is the host's. */
  readonly #bySlot: (Thread | undefined)[];
  #count = 0;
  #started = 0;
  #bootFailures = 0;
  #pause: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(region: Region, options: Readonly<ResolvedOptions>, parallelism: number, firstSequence: Sequence, listener: ThreadsListener) {
    this.#region = region;
    this.#options = options;
    this.#parallelism = parallelism;
    this.#firstSequence = firstSequence;
    this.#listener = listener;
    this.#bySlot = new Array(options.concurrency + 1).fill(undefined);
  }

  get count(): number {
    return this.#count;
  }

  /** Threads started so far. */
  get started(): number {
    return this.#started;
  }

  /** The thread in a slot. */
  in(slot: Slot): Thread | undefined {
    return this.#bySlot[slot];
  }

  *[Symbol.iterator](): Generator<Thread> {
    for (const thread of this.#bySlot) if (thread !== undefined) yield thread;
  }

  /** Starts one thread. False: at the cap, pausing, or closed; or it could not even be created. */
  start(): boolean {
    if (this.#closed || this.#pause !== undefined || this.#count >= this.#options.concurrency) return false;
    const slot = this.#bySlot.indexOf(undefined, HOST + 1) as Slot;
    const channel = new HostChannel(this.#listener.receiversFor(slot));
    let worker: Worker;
    try {
      worker = new Worker(ENTRY, this.#workerOptions(slot, ++this.#started, channel.remote));
    } catch (error) {
      channel.close();
      setImmediate(() => this.#noteBootFailure(error)); // we may be inside a verb: nobody is told from here
      this.#pauseFor(0);
      return false;
    }
    toStarting(this.#region.m, slot);
    const thread: Thread = { worker, workerId: this.#started, slot, channel, ready: false, error: undefined, condemned: false };
    this.#bySlot[slot] = thread;
    this.#count++;
    worker.on('message', (message) => {
      if (message === READY) this.#onReady(thread); // handlers may post messages of their own
    });
    worker.on('error', (error) => {
      thread.error = error;
    });
    worker.on('exit', (code) => this.#onExit(thread, code));
    worker.unref(); // after the listeners, which ref it: an idle queue must not keep the process alive; work does, in the inbox
    return true;
  }

  /** From here nothing is started. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#pause);
    this.#pause = undefined;
  }

  #workerOptions(slot: Slot, workerId: number, channel: MessagePort): WorkerOptions {
    const { maxBatchSize, maxIdleMs, maxJobs, maxHeapMb, maxPayloadBytes, maxResultBytes, codec, tasksPerWorker, spinUs } = this.#options;
    const settings: WorkerSettings = {
      ...{ slot, workerId, maxBatchSize, maxIdleMs, maxJobs, maxHeapMb, maxPayloadBytes, spinUs },
      ...{ unreadMost: unreadMost(maxResultBytes), codec: codec?.href },
      ...{ tasksPerWorker: tasksPerWorker === 'auto' ? 64 : tasksPerWorker, parallelism: this.#parallelism, firstSequence: this.#firstSequence },
    };
    const { name, env, argv, execArgv, resourceLimits, workerData } = this.#options;
    const boot: Boot = { buffer: this.#region.buffer, settings, channel, userData: workerData };
    const given = Object.entries({ env, argv, execArgv, resourceLimits }).filter(([, value]) => value !== undefined);
    return { ...Object.fromEntries(given), name: name ?? 'railhead', workerData: boot, transferList: [channel] };
  }

  #onReady(thread: Thread): void {
    thread.ready = true;
    this.#bootFailures = 0;
    this.#listener.onReady(thread);
  }

  #onExit(thread: Thread, code: number): void {
    const was = toVacant(this.#region.m, thread.slot); // first: it must not count as running while its jobs are published again
    thread.channel.pump(); // what it has sent is received before it is gone
    this.#listener.onExit(thread, code);
    thread.channel.close();
    this.#bySlot[thread.slot] = undefined;
    this.#count--;
    if (was === STARTING && !thread.condemned) this.#noteBootFailure(thread.error ?? new Error(`The thread ended with code ${code}`));
    else if (was === LIVE) this.#bootFailures = 0;
    if (!this.#closed) this.#listener.onMayStart();
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
      this.#listener.onMayStart();
    }, ms).unref();
  }
}
