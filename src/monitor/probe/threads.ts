/** What the system knows of this process's threads. Linux. Any thread, each with an instance of its own. */
import { readlinkSync } from 'node:fs';
import { forEachOfMap, OwnMap } from '#base';
import { byteAfterLast, close, nextNumber, open, read } from './kept-file.ts';
import { loadNative, type Native } from './native.ts';

/** Of one thread; each `undefined` where it cannot be known, both once the thread has ended. */
export interface ThreadSample {
  /** It runs or is ready to run, as against: it waits. */
  readonly running: boolean | undefined;
  /** CPU time it has used since it began. Exact with the addon; without, it moves in steps of 10 ms. */
  readonly cpuMs: number | undefined;
}

/** Kept for as long as its thread, so that a sample makes nothing. */
interface Watched {
  running: boolean | undefined;
  cpuMs: number | undefined;
  readonly tid: number;
  readonly descriptor: number;
  /** Another instance opened it, and will close it. */
  readonly shared: boolean;
}

export const UNKNOWN: ThreadSample = { running: undefined, cpuMs: undefined };
const BRACKET = 41;
const RUNNING = 82;
/** The kernel's times for programs are in hundredths of a second on every processor that Node runs on. */
const MS_PER_TICK = 10;
/** Fields of a `stat` line between state and user time. */
const FIELDS_BETWEEN = 10;
/** Holds the `stat` line of a thread up to its times. */
const STAT_BYTES = 512;

/** The calling thread's id in the system; `undefined` where it has none that the probe could use. */
export function threadTid(native: boolean): number | undefined {
  try {
    // "<process>/task/<thread>". First, since it costs microseconds while loading the addon into one more thread costs a hundred.
    const [, tid] = /\/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self')) ?? [];
    if (tid !== undefined) return +tid;
  } catch {
    // no /proc: another system, or a sandbox
  }
  return native ? loadNative()?.gettid() : undefined;
}

export class Threads {
  readonly #native: Native | undefined;
  readonly #root: string;
  readonly #watched: Map<number, Watched> = new OwnMap();

  constructor(native: Native | undefined, root: string) {
    this.#native = native;
    this.#root = root;
  }

  add(tid: number, theirs: number): number {
    this.remove(tid);
    const shared = theirs >= 0;
    const descriptor = shared ? theirs : open(`${this.#root}/proc/self/task/${tid}/stat`);
    this.#watched.set(tid, { running: undefined, cpuMs: undefined, tid, descriptor, shared });
    return descriptor;
  }

  remove(tid: number): void {
    const watched = this.#watched.get(tid);
    if (watched === undefined) return;
    this.#watched.delete(tid);
    if (!watched.shared) close(watched.descriptor);
  }

  sample(tid: number): ThreadSample {
    const watched = this.#watched.get(tid);
    if (watched === undefined) return UNKNOWN;
    const state = this.#native === undefined ? sampleByText(watched) : sampleByAddon(watched, this.#native);
    watched.running = state === 0 ? undefined : state === RUNNING;
    return watched;
  }

  close(): void {
    forEachOfMap(this.#watched, ({ shared, descriptor }) => {
      if (!shared) close(descriptor);
    });
    this.#watched.clear();
  }
}

/** The state's letter, 0 if unknown. The descriptor stays with the thread it was opened for: a later one of the same id is not read. */
function sampleByText(watched: Watched): number {
  watched.cpuMs = undefined;
  // A shared descriptor may be another file's by now: the line of a thread begins with the thread's id.
  if (!read(watched.descriptor, STAT_BYTES) || nextNumber() !== watched.tid) return 0;
  const state = byteAfterLast(BRACKET, 2); // after the name, which may hold anything
  if (state === 0) return 0;
  for (let k = 0; k < FIELDS_BETWEEN; k++) nextNumber();
  watched.cpuMs = (nextNumber() + nextNumber()) * MS_PER_TICK;
  return state;
}

function sampleByAddon(watched: Watched, native: Native): number {
  const { tid, descriptor } = watched;
  const state = descriptor < 0 ? 0 : native.state(descriptor, tid);
  // Without /proc there is still the clock; with it, no state means that the thread has ended and its id may be another's.
  const cpuMs = state === 0 && descriptor >= 0 ? -1 : native.cpuMs(tid);
  watched.cpuMs = cpuMs < 0 ? undefined : cpuMs;
  return state;
}
