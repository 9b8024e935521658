/**
 * How many processors this process may use: its affinity, and the processor quota of its cgroups where there is one. Main thread.
 *
 * Node's own `availableParallelism` knows the affinity, and the quota only in some versions; so both are read here. A quota
 * of 1.5 processors counts as 2: rounding down would leave half of one idle for ever.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Math, Number } from './realm.ts';

/** Where the answer comes from; a test hands in its own. */
export interface ProcessorSource {
  readonly available: () => number;
  /** Content of a small text file. Throws where there is none. */
  readonly read: (path: string) => string;
}

const HOST: ProcessorSource = { available: availableParallelism, read: (path) => readFileSync(path, 'utf8') };
const ROOT = '/sys/fs/cgroup';

/** An integer of at least 1. Never throws: without Linux or without cgroups it is the affinity. */
export function parallelism(source: ProcessorSource = HOST): number {
  const quota = Math.min(...groups(source).map((group) => quotaOf(group, source)), Infinity);
  return Math.max(1, Math.min(source.available(), Math.ceil(quota)));
}

/** Folders whose quota binds this process: its own group and every one above it, in both versions of cgroups. */
function groups(source: ProcessorSource): string[] {
  const folders: string[] = [];
  for (const line of (attempt(source, '/proc/self/cgroup') ?? '').split('\n')) {
    const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (!path.startsWith('/')) continue;
    const unified = controllers === '';
    if (!unified && !controllers.split(',').includes('cpu')) continue;
    // In a container the path may be the host's, which is not seen from inside: then only the root's files can be read.
    const roots = unified ? [ROOT, `${ROOT}/unified`] : [`${ROOT}/${controllers}`, `${ROOT}/cpu`];
    for (let at = path; ; at = at.slice(0, at.lastIndexOf('/'))) {
      folders.push(...roots.map((root) => root + (at === '/' ? '' : at)));
      if (at === '' || at === '/') break;
    }
  }
  return folders;
}

/** In processors; Infinity where there is no quota. */
function quotaOf(folder: string, source: ProcessorSource): number {
  const [quota, period] = attempt(source, `${folder}/cpu.max`)?.split(/\s+/) ?? [
    attempt(source, `${folder}/cpu.cfs_quota_us`),
    attempt(source, `${folder}/cpu.cfs_period_us`),
  ];
  const processors = +(quota ?? Number.NaN) / +(period ?? Number.NaN);
  return processors > 0 && +(period ?? 0) > 0 ? processors : Infinity; // "max" and -1 mean none
}

function attempt(source: ProcessorSource, path: string): string | undefined {
  try {
    return source.read(path);
  } catch {
    return undefined;
  }
}
