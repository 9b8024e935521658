/**
 * The probe: how the monitor learns what threads, processors and memory are doing. Any thread, each with a probe of its own; best
 * made on the host, since a worker's descriptors are closed when it ends.
 *
 * Three kinds, chosen once: `native` reads exact CPU times through the addon and the rest from /proc; `proc` reads everything from
 * /proc; `none`, on other systems, knows nothing, and the monitor goes by progress alone.
 */
import { platform } from 'node:os';
import { loadNative } from './native.ts';
import { Room } from './room.ts';
import { Threads, type ThreadSample, UNKNOWN } from './threads.ts';

export { loadNative, type Native } from './native.ts';
export type { ThreadSample } from './threads.ts';
export { threadTid } from './threads.ts';

export interface Probe {
  readonly kind: 'native' | 'proc' | 'none';
  /**
   * Begins to watch a thread of this process. Returns the descriptor it is watched through, -1 if there is none: another
   * thread's probe may be given it instead of opening its own, for as long as this one keeps the thread.
   */
  add(tid: number, descriptor?: number): number;
  remove(tid: number): void;
  /** Never throws, whatever became of the thread. The same object for each sample of a thread: read it before the next. */
  sample(tid: number): ThreadSample;
  /** How many of the processors this process may use, by affinity and cgroups, stood idle since the last call (of 20 ms ago or more); a fraction counts. */
  idleProcessors(): number | undefined;
  /** Least share of memory still free, of the machine and of the cgroups with a limit: 0 to 1. */
  memoryFree(): number | undefined;
  /** Gives up all descriptors. After it nothing is known. */
  close(): void;
}

export interface ProbeOptions {
  /** `false`: the addon is not even looked for. */
  readonly native: boolean;
}

/** `root` stands before every path of the system; for tests, with files of their own. */
export function probeFor({ native }: ProbeOptions, root = '', system: string = platform()): Probe {
  return system === 'linux' ? linuxProbe(native, root) : NONE;
}

function linuxProbe(native: boolean, root: string): Probe {
  const addon = native ? loadNative() : undefined;
  let threads: Threads | undefined = new Threads(addon, root);
  let room: Room | undefined = new Room(root);
  return {
    kind: addon === undefined ? 'proc' : 'native',
    add: (tid, descriptor = -1) => threads?.add(tid, descriptor) ?? -1,
    remove: (tid) => threads?.remove(tid),
    sample: (tid) => threads?.sample(tid) ?? UNKNOWN,
    idleProcessors: () => room?.idleProcessors(),
    memoryFree: () => room?.memoryFree(),
    close() {
      threads?.close();
      room?.close();
      threads = room = undefined; // the numbers of closed descriptors may be those of other files by now
    },
  };
}

const NONE: Probe = {
  kind: 'none',
  add: () => -1,
  remove() {},
  sample: () => UNKNOWN,
  idleProcessors: () => undefined,
  memoryFree: () => undefined,
  close() {},
};
