/** How much room the machine, or the cgroups this process is in, leaves: processors and memory. Linux. Any thread. */
import { readFileSync } from 'node:fs';
import { cpuQuota, groupFolders, Math, memoryLimit, Number, type ReadText, performance } from '#base';
import { close, isAt, nextNumber, numberOf, open, read, toNextLine } from './kept-file.ts';

/** A group with a limit, as it was when the probe was made. */
interface Group {
  /** Processors, or bytes. */
  readonly limit: number;
  /** CPU time in ms, or bytes; NaN where it cannot be read. */
  readonly used: () => number;
  readonly descriptors: readonly number[];
  /** CPU time when last looked. */
  seen: number;
}

/** Hundredths of a second per processor below which a difference says nothing. */
const LEAST_TICKS = 2;
/** user, nice, system, idle, iowait, irq, softirq, steal; the guests' two are contained in the first. */
const TIMES = 8;
const IDLE = 3;
const IOWAIT = 4;

export class Room {
  readonly #stat: number;
  readonly #meminfo: number;
  /** Numbers of the processors this process may run on. */
  readonly #allowed: readonly boolean[];
  readonly #cpuGroups: readonly Group[];
  readonly #memoryGroups: readonly Group[];
  /** As counted last. */
  #idle = 0;
  #total = 0;
  /** As they were, and when, at the last answer. */
  #idleThen = 0;
  #totalThen = 0;
  #then = 0;
  #answer: number | undefined;

  constructor(root: string) {
    const text: ReadText = (path) => readFileSync(root + path, 'utf8');
    this.#stat = open(`${root}/proc/stat`);
    this.#meminfo = open(`${root}/proc/meminfo`);
    this.#allowed = allowedProcessors(text);
    this.#cpuGroups = limited('cpu', cpuQuota, cpuGroup, root, text);
    this.#memoryGroups = limited('memory', memoryLimit, memoryGroup, root, text);
    this.#count();
    this.#begin(); // there is nothing to compare with yet
  }

  /** Since the last call that was at least 20 ms before: the system's own counts move in steps of 10 ms. */
  idleProcessors(): number | undefined {
    const processors = this.#count();
    const passed = this.#total - this.#totalThen;
    if (processors === 0 || passed < LEAST_TICKS * processors) return this.#answer;
    const idle = (processors * (this.#idle - this.#idleThen)) / passed;
    this.#answer = Math.max(0, Math.min(idle, this.#begin(), processors));
    return this.#answer;
  }

  /** Adds up the times of the processors this process may use; how many they are. */
  #count(): number {
    let processors = 0;
    this.#idle = this.#total = 0;
    read(this.#stat);
    toNextLine(); // the first is the sum
    for (; isAt('cpu'); toNextLine()) {
      if (this.#allowed[nextNumber()] !== true) continue;
      processors++;
      for (let k = 0; k < TIMES; k++) {
        const time = nextNumber();
        this.#total += time;
        if (k === IDLE || k === IOWAIT) this.#idle += time;
      }
    }
    return processors;
  }

  /** From here the next answer counts. Returns what the groups' quotas have left of the time until here, in processors. */
  #begin(): number {
    const ms = performance.now() - this.#then;
    this.#then += ms;
    this.#idleThen = this.#idle;
    this.#totalThen = this.#total;
    let left = Infinity;
    for (let k = 0; k < this.#cpuGroups.length; k++) {
      const group = this.#cpuGroups[k] as Group;
      const usedMs = group.used();
      const here = group.limit - (usedMs - group.seen) / ms;
      if (here < left) left = here; // not of NaN
      group.seen = usedMs;
    }
    return left;
  }

  memoryFree(): number | undefined {
    if (!read(this.#meminfo)) return undefined;
    let free = numberOf('MemAvailable:') / numberOf('MemTotal:');
    for (let k = 0; k < this.#memoryGroups.length; k++) {
      const group = this.#memoryGroups[k] as Group;
      const share = Math.max(0, 1 - group.used() / group.limit);
      if (share < free) free = share; // not of NaN
    }
    return Number.isNaN(free) ? undefined : free;
  }

  close(): void {
    close(this.#stat);
    close(this.#meminfo);
    for (const group of [...this.#cpuGroups, ...this.#memoryGroups]) group.descriptors.forEach(close);
  }
}

function limited(
  controller: 'cpu' | 'memory',
  limitOf: (folder: string, text: ReadText) => number,
  make: (folder: string, limit: number) => Group,
  root: string,
  text: ReadText,
): Group[] {
  return groupFolders(controller, text).flatMap((folder) => {
    const limit = limitOf(folder, text);
    return limit === Infinity ? [] : [make(root + folder, limit)];
  });
}

function cpuGroup(folder: string, limit: number): Group {
  const first = open(`${folder}/cpuacct.usage`); // version 1, in ns
  const second = first >= 0 ? -1 : open(`${folder}/cpu.stat`);
  const used = (): number => (read(first) ? nextNumber() / 1e6 : read(second) ? numberOf('usage_usec ') / 1e3 : NaN);
  return { limit, used, descriptors: [first, second], seen: NaN };
}

/** What the group could drop at once, file pages not used lately, is not counted as used: the same as the system's MemAvailable. */
function memoryGroup(folder: string, limit: number): Group {
  const first = open(`${folder}/memory.usage_in_bytes`);
  const usage = first >= 0 ? first : open(`${folder}/memory.current`);
  const stat = open(`${folder}/memory.stat`);
  const droppable = first >= 0 ? 'total_inactive_file ' : 'inactive_file ';
  const used = (): number => {
    const bytes = read(usage) ? nextNumber() : NaN;
    return bytes - ((read(stat) && numberOf(droppable)) || 0);
  };
  return { limit, used, descriptors: [usage, stat], seen: NaN };
}

/** From a list like `0-3,8`. */
function allowedProcessors(text: ReadText): boolean[] {
  const allowed: boolean[] = [];
  try {
    const [, list = ''] = /^Cpus_allowed_list:\s*(\S+)/m.exec(text('/proc/self/status')) ?? [];
    for (const range of list.split(',')) {
      const [from, to = from] = range.split('-').map((number) => +number);
      for (let k = from as number; k <= (to as number); k++) allowed[k] = true;
    }
  } catch {
    // then nothing is known of processors
  }
  return allowed;
}
