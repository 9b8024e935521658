/** The control groups that bind this process, of both versions: where their files are, and what a processor quota says. Any thread. */
import { Number } from './realm.ts';

/** Content of a small text file. Throws where there is none. */
export type ReadText = (path: string) => string;

const ROOT = '/sys/fs/cgroup';

/** Folders of the groups whose limits bind this process: its own and every one above it. Some may not exist. */
export function groupFolders(controller: 'cpu' | 'memory', read: ReadText): string[] {
  const folders: string[] = [];
  for (const line of (attempt(read, '/proc/self/cgroup') ?? '').split('\n')) {
    const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (!path.startsWith('/')) continue;
    const unified = controllers === '';
    if (!unified && !controllers.split(',').includes(controller)) continue;
    // In a container the path may be the host's, which is not seen from inside: then only the root's files can be read.
    const roots = unified ? [ROOT, `${ROOT}/unified`] : [`${ROOT}/${controllers}`, `${ROOT}/${controller}`];
    for (let at = path; ; at = at.slice(0, at.lastIndexOf('/'))) {
      folders.push(...roots.map((root) => root + (at === '/' ? '' : at)));
      if (at === '' || at === '/') break;
    }
  }
  return folders;
}

/** In processors; Infinity where there is no quota. */
export function cpuQuota(folder: string, read: ReadText): number {
  const [quota, period] = attempt(read, `${folder}/cpu.max`)?.split(/\s+/) ?? [
    attempt(read, `${folder}/cpu.cfs_quota_us`),
    attempt(read, `${folder}/cpu.cfs_period_us`),
  ];
  const processors = +(quota ?? Number.NaN) / +(period ?? Number.NaN);
  return processors > 0 && +(period ?? 0) > 0 ? processors : Infinity; // "max" and -1 mean none
}

/** In bytes; Infinity where there is no limit. Version 1 writes a huge number for none. */
export function memoryLimit(folder: string, read: ReadText): number {
  const limit = +(attempt(read, `${folder}/memory.max`) ?? attempt(read, `${folder}/memory.limit_in_bytes`) ?? Number.NaN);
  return limit > 0 && limit < Number.MAX_SAFE_INTEGER ? limit : Infinity;
}

function attempt(read: ReadText, path: string): string | undefined {
  try {
    return read(path);
  } catch {
    return undefined;
  }
}
