/** How much room the machine, or the cgroups this process is in, leaves: processors and memory. Linux. Any thread. */
import { readFileSync } from 'node:fs';
import { cpuQuota, groupFolders, Math, memoryLimit, Number, type ReadText, performance } from '#base';
import { close, isAt, nextNumber, numberOf, open, read, toNextLine } from './kept-file.ts';

/** A group with a limit that was found when the probe was made. */
interface Group {
  readonly limit: number;
  readonly usage: number; // descriptors
  readonly stat: number;
  /** Processors: ms of CPU time used when last looked. */
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
  #idle = 0;
  #total = 0;
  #at = 0;
  #processors: number | undefined;

  constructor(root: string) {
    const text: ReadText = (path) => readFileSync(root + path, 'utf8');
    this.#stat = open(`${root}/proc/stat`);
    this.#meminfo = open(`${root}/proc/meminfo`);
    this.#allowed = allowedProcessors(text);
    this.#cpuGroups = groupFolders('cpu', text)
      .map((folder) => group(root + folder, cpuQuota(folder, text), 'cpuacct.usage', 'cpu.stat'))
      .filter((found) => found !== undefined);
    this.#memoryGroups = groupFolders('memory', text)
      .map((folder) => group(root + folder, memoryLimit(folder, text), '', 'memory.stat'))
      .filter((found) => found !== undefined);
    this.idleProcessors(); // a first look, to count from
  }

  /** Counted since the last call that was at least 20 ms before: the system's own counts move in steps of 10 ms. */
  idleProcessors(): number | undefined {
    if (!read(this.#stat)) return undefined;
    let idle = 0;
    let total = 0;
    let processors = 0;
    toNextLine(); // the first is the sum
    for (; isAt('cpu'); toNextLine()) {
      if (this.#allowed[nextNumber()] !== true) continue;
      processors++;
      for (let k = 0; k < TIMES; k++) {
        const time = nextNumber();
        total += time;
        if (k === IDLE || k === IOWAIT) idle += time;
      }
    }
    const passed = total - this.#total;
    if (processors === 0 || passed < LEAST_TICKS * processors) return this.#processors;
    const first = this.#at === 0;
    const free = (processors * (idle - this.#idle)) / passed;
    const left = this.#leftOfQuota();
    this.#idle = idle;
    this.#total = total;
    this.#processors = first ? undefined : Math.max(0, Math.min(free, left, processors));
    return this.#processors;
  }

  /** What the groups' quotas leave of the time since the last look, in processors. */
  #leftOfQuota(): number {
    const now = performance.now();
    const ms = now - this.#at;
    this.#at = now;
    let left = Infinity;
    for (let k = 0; k < this.#cpuGroups.length; k++) {
      const group = this.#cpuGroups[k] as Group;
      const usedMs = usedCpuMs(group);
      left = Math.min(left, group.limit - (usedMs - group.seen) / ms);
      group.seen = usedMs;
    }
    return left;
  }

  memoryFree(): number | undefined {
    if (!read(this.#meminfo)) return undefined;
    let free = numberOf('MemAvailable:') / numberOf('MemTotal:');
    for (let k = 0; k < this.#memoryGroups.length; k++) {
      const group = this.#memoryGroups[k] as Group;
      const used = usedBytes(group);
      if (!Number.isNaN(used)) free = Math.min(free, Math.max(0, 1 - used / group.limit));
    }
    return Number.isNaN(free) ? undefined : free;
  }

  close(): void {
    close(this.#stat);
    close(this.#meminfo);
    for (const { usage, stat } of [...this.#cpuGroups, ...this.#memoryGroups]) {
      close(usage);
      close(stat);
    }
  }
}
