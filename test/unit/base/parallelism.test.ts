/** Processors of this process, on made-up machines. */
import { describe, expect, it } from 'vitest';
import { parallelism } from '#base';

function on(available: number, files: Record<string, string>): number {
  const read = (path: string): string => {
    const content = files[path];
    if (content === undefined) throw new Error(`ENOENT ${path}`);
    return content;
  };
  return parallelism({ available: () => available, read });
}

describe('parallelism', () => {
  it('is the affinity where there are no cgroups, or none with a quota', () => {
    expect(on(6, {})).toBe(6);
    expect(on(6, { '/proc/self/cgroup': '' })).toBe(6);
    expect(on(6, { '/proc/self/cgroup': '0::/\n' })).toBe(6);
    expect(on(6, { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': 'max 100000\n' })).toBe(6);
    expect(
      on(6, {
        '/proc/self/cgroup': '3:cpu:/\n',
        '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
        '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
      }),
    ).toBe(6);
  });

  it('is the quota of version 2, rounded up, and at least 1', () => {
    const quota = (text: string) => on(8, { '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/cpu.max': text });
    expect(quota('200000 100000\n')).toBe(2);
    expect(quota('150000 100000\n')).toBe(2);
    expect(quota('1000 100000\n')).toBe(1);
    expect(quota('1600000 100000\n')).toBe(8);
  });

  it('is the least of its own group and every group above it', () => {
    const files = {
      '/proc/self/cgroup': '0::/pod/app\n',
      '/sys/fs/cgroup/pod/app/cpu.max': 'max 100000\n',
      '/sys/fs/cgroup/pod/cpu.max': '300000 100000\n',
    };
    expect(on(8, files)).toBe(3);
    expect(on(8, { ...files, '/sys/fs/cgroup/cpu.max': '100000 100000\n' })).toBe(1);
  });

  it('is the root that a container sees where the path is that of the host', () => {
    expect(on(8, { '/proc/self/cgroup': '0::/docker/0123\n', '/sys/fs/cgroup/cpu.max': '400000 100000\n' })).toBe(4);
  });

  it('is the quota of version 1, under either name of the folder', () => {
    const list = '9:name=systemd:/\n4:cpu,cpuacct:/docker/0123\n3:cpuset:/\n';
    const at = (folder: string) => ({
      '/proc/self/cgroup': list,
      [`${folder}/cpu.cfs_quota_us`]: '250000\n',
      [`${folder}/cpu.cfs_period_us`]: '100000\n',
    });
    expect(on(8, at('/sys/fs/cgroup/cpu,cpuacct/docker/0123'))).toBe(3);
    expect(on(8, at('/sys/fs/cgroup/cpu,cpuacct'))).toBe(3);
    expect(on(8, at('/sys/fs/cgroup/cpu'))).toBe(3);
    expect(on(8, at('/sys/fs/cgroup/cpuset'))).toBe(8);
  });

  it('does not mind nonsense', () => {
    for (const text of ['', 'x', '0 0', '5', '-5 100000', 'NaN NaN'])
      expect(on(8, { '/proc/self/cgroup': '0::/\nrubbish\n::::\n', '/sys/fs/cgroup/cpu.max': text })).toBe(8);
  });

  it('is a processor count on this machine', () => {
    expect(Number.isInteger(parallelism())).toBe(true);
    expect(parallelism()).toBeGreaterThanOrEqual(1);
  });
});
