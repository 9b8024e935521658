/**
 * A queue whose worker threads are puppets: `Worker` is replaced before the package is loaded, so that no thread ever starts, and
 * the test itself does in the region what a worker would do, one step at a time, on a clock of its own. Used in vitest's fork,
 * which each test file has to itself.
 */
import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { type MessagePort } from 'node:worker_threads';
import type { QueueOptions, TaskQueue } from 'railhead';
import { vi } from 'vitest';
import type { Entry, Slot } from '#base';
import { attachRegion, HOST, recordAt, recordOf, type Region, SLOT_RUN, SLOT_STARTED, slotAt } from '#memory';
import { encode, putResult, Scratch } from '#payload';
import { type Claimer, claim, claimer, NO_ENTRY, takeNext, toLive } from '#pool';
import { complete, toSettled, toStarted } from '#ring';
import { followGlobalTimers, realm } from '../../support/open-realm.ts';
import { sequence } from '../ring/battery.ts';

interface Told {
  readonly type: string;
  readonly entry?: Entry;
  readonly reason?: unknown;
}
interface Boot {
  readonly buffer: SharedArrayBuffer;
  readonly settings: { readonly slot: Slot; readonly maxBatchSize: number };
  readonly port: MessagePort;
}

export class Puppet extends EventEmitter {
  readonly region: Region;
  readonly slot: Slot;
  readonly #claimer: Claimer;
  readonly #scratch: Scratch = new Scratch();
  readonly #port: MessagePort;
  /** How often the host has ended it. It goes on until the test lets it exit, as a thread does in a native call. */
  terminated = 0;
  gone = false;

  constructor(_file: URL, { workerData }: { workerData: Boot }) {
    super();
    this.region = attachRegion(workerData.buffer);
    this.slot = workerData.settings.slot;
    this.#port = workerData.port;
    this.#claimer = claimer(this.region, this.slot, workerData.settings.maxBatchSize, sequence(0));
    puppets.push(this);
  }
  ref(): void {}
  unref(): void {}
  terminate(): Promise<number> {
    this.terminated++;
    return Promise.resolve(1);
  }

  /** Claims from now on, so many at once. */
  boot(size = 1): this {
    toLive(this.region.m, this.slot);
    this.#claimer.size = size;
    return this;
  }
  /** Starts the next job, in this place of its run list. 0: there is none. */
  start(place = 0): Entry {
    const { m } = this.region;
    for (;;) {
      let entry = takeNext(m, slotAt(this.slot));
      if (entry === NO_ENTRY) entry = claim(this.#claimer, 255);
      if (entry === NO_ENTRY) return NO_ENTRY;
      Atomics.store(m, slotAt(this.slot) + SLOT_RUN + place, entry);
      if (toStarted(m, recordAt(this.region, recordOf(entry)), entry)) {
        Atomics.add(m, slotAt(this.slot) + SLOT_STARTED, 1);
        return entry;
      }
      Atomics.store(m, slotAt(this.slot) + SLOT_RUN + place, 0); // void
    }
  }
  /** Settles what runs there. */
  settle(value: unknown, place = 0, flags = 0): void {
    const { m } = this.region;
    const run = slotAt(this.slot) + SLOT_RUN + place;
    const record = recordOf(Atomics.load(m, run) as Entry);
    const at = recordAt(this.region, record);
    encode(value, this.#scratch);
    putResult(this.region, this.slot, at, this.#scratch, flags);
    if (!toSettled(m, at)) throw new Error('The job was not under way');
    complete(this.region, slotAt(HOST), record, at);
    Atomics.store(m, run, 0);
  }
  /** What the host has told it since it was last asked. */
  told(): Told[] {
    const all: Told[] = [];
    for (;;) {
      const next = workerThreads.receiveMessageOnPort(this.#port) as { message: Told } | undefined;
      if (next === undefined) return all;
      all.push(next.message);
    }
  }
  exit(code = 1): void {
    if (this.gone) return;
    this.gone = true;
    this.#port.close();
    this.emit('exit', code);
  }
}

/** In the order of their start. */
export const puppets: Puppet[] = [];

(workerThreads as { Worker: unknown }).Worker = Puppet;
syncBuiltinESMExports();
const railhead = await import('railhead');

let queue: TaskQueue | undefined;
/** A queue, and from here a clock that only `pass` moves. `end` it after the test. */
export function puppetQueue(options?: QueueOptions): TaskQueue {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'], now: 0 });
  followGlobalTimers();
  // It creeps while it is read: who spins for a few µs must see them go by.
  let last = 0;
  vi.spyOn(realm, 'now').mockImplementation(() => {
    last = Math.max(last + 0.000_5, Date.now());
    return last;
  });
  puppets.length = 0;
  queue = new railhead.TaskQueue({ concurrency: 1, graceMs: 100, ...options });
  return queue;
}
/** Lets the puppets go, stops the queue, and gives the clock back. */
export async function end(): Promise<void> {
  const stopping = queue?.stop({ timeoutMs: 0 });
  let stopped = false;
  void stopping?.then(() => {
    stopped = true;
  });
  while (stopping !== undefined && !stopped) {
    for (const puppet of puppets) puppet.exit();
    await pass(10);
    await new Promise((resolve) => setImmediate(resolve));
  }
  queue = undefined;
  vi.restoreAllMocks();
  vi.useRealTimers();
}
/** So many ms go by, 1 ms at a time for timers, and what follows from them happens. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  for (let k = 0; k < 20; k++) await Promise.resolve();
}

/** What a queue says of itself. */
export const counts = ({ size, pending }: TaskQueue): { size: number; pending: number } => ({ size, pending });

export const echo = (value: unknown): unknown => value;

export interface Seen {
  value?: unknown;
  code?: string;
  error?: Error;
}
/** How a promise has settled so far; `{}` while it has not. */
export function watch(promise: Promise<unknown>): Seen {
  const seen: Seen = {};
  promise.then(
    (value) => {
      seen.value = value;
    },
    (error: Error & { code: string }) => {
      seen.error = error;
      seen.code = error.code;
    },
  );
  return seen;
}
