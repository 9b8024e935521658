/**
 * How many processors this process may use: its affinity, and the processor quota of its cgroups where there is one. Main thread.
 *
 * Node's own `availableParallelism` knows the affinity, and the quota only in some versions; so both are read here. A quota
 * of 1.5 processors counts as 2: rounding down would leave half of one idle for ever.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { cpuQuota, groupFolders, type ReadText } from './cgroups.ts';
import { Math } from './realm.ts';

/** Where the answer comes from; a test hands in its own. */
export interface ProcessorSource {
  readonly available: () => number;
  readonly read: ReadText;
}

const HOST: ProcessorSource = { available: availableParallelism, read: (path) => readFileSync(path, 'utf8') };

/** An integer of at least 1. Never throws: without Linux or without cgroups it is the affinity. */
export function parallelism({ available, read }: ProcessorSource = HOST): number {
  const quota = Math.min(...groupFolders('cpu', read).map((folder) => cpuQuota(folder, read)), Infinity);
  return Math.max(1, Math.min(available(), Math.ceil(quota)));
}
