/** Where and on what a result was measured: stored with every result. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';

const root = new URL('../', import.meta.url);
const text = (path) => {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return 'unknown';
  }
};
const git = (...args) => {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined; // no commit yet, or not a clone
  }
};

export function machine() {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    processors: availableParallelism(),
    cpuQuota: text('/sys/fs/cgroup/cpu.max'),
    governor: text('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    loadAverage: Number(loadavg()[0].toFixed(2)),
  };
}

/** Node, V8, and the exact version of each package measured. */
export function versions(packages) {
  const installed = packages.map((name) => [name, JSON.parse(text(new URL(`node_modules/${name}/package.json`, root))).version]);
  return { node: process.versions.node, v8: process.versions.v8, ...Object.fromEntries(installed) };
}

/** `dirty`: files under version control, or new ones in src and bench, differ from the commit. */
export function commit() {
  const hash = git('rev-parse', 'HEAD') ?? 'none';
  const changed = git('status', '--porcelain', '--', 'src', 'bench', 'package.json', 'package-lock.json', ':!bench/results');
  return { hash, dirty: changed === undefined || changed !== '' };
}
