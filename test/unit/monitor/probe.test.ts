/** The probe, each kind, against real threads that spin, wait and end; and its readings of made-up machines. Linux only. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { loadNative, type Probe, probeFor, threadTid } from '#monitor';
import { inChild, once, projectFolder, ROOT, until } from '../../support/index.ts';

const linux = process.platform === 'linux';
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Started {
  readonly worker: Worker;
  readonly tid: number;
  readonly byAddon: number | undefined;
  readonly words: Int32Array;
}
async function start(
  task: 'spin' | 'wait' | 'sample',
  native: boolean,
  words = new Int32Array(new SharedArrayBuffer(64)),
): Promise<Started> {
  const worker = new Worker(new URL('./threads.js', import.meta.url), { workerData: { task, native, words } });
  cleanUps.push(() => worker.terminate());
  const [{ tid, byAddon }] = (await once(worker, 'message')) as [{ tid: number; byAddon: number | undefined }];
  return { worker, tid, byAddon, words };
}
function made(options: { native: boolean }, root?: string, system?: string): Probe {
  const probe = probeFor(options, root, system);
  cleanUps.push(() => probe.close());
  return probe;
}
const burn = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end; );
};

describe('the addon', () => {
  // Without the files the whole suite passes too; that the package has them is for tools/package-check.js to say.
  it.runIf(existsSync(`${ROOT}native/prebuilds/${process.platform}-${process.arch}`))('loads where there is a file for the system', () => {
    expect(made({ native: true }).kind).toBe('native');
  });
  it.runIf(linux)('is not looked for under native: false, neither by the probe nor for a thread id', async () => {
    const code = `
      import { readFileSync } from 'node:fs';
      import { probeFor, threadTid } from ${JSON.stringify(new URL('../../../dist/monitor/index.js', import.meta.url).href)};
      const isLoaded = () => readFileSync('/proc/self/maps', 'utf8').includes('railhead.node');
      const native = process.argv[2] === 'on';
      const { kind } = probeFor({ native });
      console.log(kind, threadTid(native) === process.pid, isLoaded());`;
    expect((await inChild(code, ['off'])).stdout).toBe('proc true false\n');
    if (loadNative() !== undefined) expect((await inChild(code, ['on'])).stdout).toBe('native true true\n');
    expect((await inChild(code, ['on'], { execArgv: ['--no-addons'] })).stdout).toBe('proc true false\n');
  });
  it('that is missing, cut short or made for another system is done without', async () => {
    const place = `${process.platform}-${process.arch}/railhead.node`;
    const project = await projectFolder({ [`text/${place}`]: 'no library', [`empty/${place}`]: '' });
    cleanUps.push(project.remove);
    for (const folder of ['text', 'empty', 'missing']) expect(loadNative(join(project.path, folder))).toBeUndefined();
  });
  it.runIf(loadNative() !== undefined)('answers a wrong argument as it does an ended thread', () => {
    const { cpuMs, state, release } = loadNative() as unknown as Record<string, (...args: unknown[]) => number>;
    for (const wrong of [[], ['1'], [0], [-5], [NaN], [1, 2]]) expect(cpuMs?.(...wrong)).toBe(-1);
    for (const wrong of [[], [-1, process.pid], [99_999, process.pid], ['a', 'b'], [1]]) expect(state?.(...wrong)).toBe(0);
    const bytes = new Uint8Array(65_536);
    for (const wrong of [
      [],
      [{}, 0, 1],
      [bytes, -1, 65_536],
      [bytes, 0, 65_537],
      [bytes, 9, 8],
      [new Int32Array(9), 0, 36],
      [bytes, 'a', 2],
    ])
      expect(release?.(...wrong)).toBe(0);
  });
});

for (const native of [true, false]) {
  const usable = linux && (!native || loadNative() !== undefined);
  describe.runIf(usable)(native ? 'with the addon' : 'by /proc alone', () => {
    it('a thread knows its id', async () => {
      const { tid, byAddon } = await start('wait', native);
      expect(tid).not.toBe(process.pid);
      expect(byAddon).toBe(native ? tid : undefined);
      expect(threadTid(native)).toBe(process.pid); // vitest runs this on the main thread of a fork
    });

    it('a spinning thread runs and its CPU time grows', async () => {
      const { tid } = await start('spin', native);
      const probe = made({ native });
      expect(probe.add(tid)).toBeGreaterThan(0);
      const { running, cpuMs = NaN } = { ...probe.sample(tid) };
      expect(running).toBe(true); // ready to run counts as well
      await until(() => (probe.sample(tid).cpuMs ?? 0) >= cpuMs + 30, 'CPU time of a spinning thread');
    });

    it('a thread in Atomics.wait does not run and its CPU time stands still', async () => {
      const { tid } = await start('wait', native);
      const probe = made({ native });
      probe.add(tid);
      await until(() => probe.sample(tid).running === false, 'the thread to wait');
      // It may only just have got there, and V8's own jobs are on other threads: from some time on nothing moves.
      await until(() => {
        const before = probe.sample(tid).cpuMs;
        burn(25);
        const { running, cpuMs } = probe.sample(tid);
        return cpuMs !== undefined && cpuMs === before && running === false;
      }, 'no CPU time over 25 ms of waiting');
    });

    it('nothing is known of a thread that has ended, that was never added or no longer is, or of one that does not exist', async () => {
      const { worker, tid } = await start('wait', native);
      const probe = made({ native });
      const unknown = { running: undefined, cpuMs: undefined };
      const known = (id: number) => ({ running: probe.sample(id).running, cpuMs: probe.sample(id).cpuMs });
      expect(known(tid)).toEqual(unknown);
      probe.add(tid);
      expect(known(tid).cpuMs).toBeGreaterThan(0);
      await worker.terminate();
      await until(() => probe.sample(tid).running === undefined, 'the system to end the thread');
      expect(known(tid)).toEqual(unknown);
      expect(probe.add(2 ** 22 + 1)).toBe(-1); // beyond the largest there can be
      expect(known(2 ** 22 + 1)).toEqual(unknown);
      probe.add(process.pid);
      expect(known(process.pid).running).toBe(true);
      probe.remove(process.pid);
      probe.remove(process.pid);
      expect(known(process.pid)).toEqual(unknown);
    });

    it('a probe may watch through the descriptor of another, and notices when that is of another thread', async () => {
      const { tid } = await start('wait', native);
      const [first, second] = [made({ native }), made({ native })];
      const descriptor = first.add(tid);
      expect(second.add(tid, descriptor)).toBe(descriptor);
      await until(() => second.sample(tid).running === false, 'the thread to wait');
      second.close();
      await until(() => first.sample(tid).running === false, 'the first to see as before');
      const third = made({ native });
      third.add(process.pid, descriptor);
      expect(third.sample(process.pid).running).toBeUndefined();
    });

    it('idle processors are some of those there are, and memory free is a share', async () => {
      const probe = made({ native });
      let idle: number | undefined;
      await until(() => {
        idle = probe.idleProcessors();
        return idle !== undefined;
      }, 'a first answer');
      expect(idle).toBeGreaterThanOrEqual(0);
      expect(idle).toBeLessThanOrEqual(availableParallelism());
      expect(probe.memoryFree()).toBeGreaterThan(0);
      expect(probe.memoryFree()).toBeLessThanOrEqual(1);
    });

    it('closed, it knows nothing, and opens nothing', () => {
      const probe = probeFor({ native });
      probe.add(process.pid);
      probe.close();
      probe.close();
      expect(probe.add(process.pid)).toBe(-1);
      expect(probe.sample(process.pid).cpuMs).toBeUndefined();
      expect([probe.idleProcessors(), probe.memoryFree()]).toEqual([undefined, undefined]);
    });

    it('a storm of terminated threads, sampled from two threads without a pause, harms nobody', async () => {
      const probe = made({ native });
      const sampler = await start('sample', native);
      const [, ...places] = sampler.words.keys();
      for (let round = 0; round < 5; round++) {
        const threads = await Promise.all([1, 2, 3, 4].map((k) => start(k % 2 === 0 ? 'wait' : 'spin', native)));
        for (const [k, { tid }] of threads.entries()) {
          Atomics.store(sampler.words, places[k] as number, tid);
          probe.add(tid);
        }
        let ended = 0;
        for (const { worker } of threads) void worker.terminate().then(() => ended++);
        await until(() => {
          for (const { tid } of threads) for (let k = 0; k < 50; k++) probe.sample(tid);
          return ended === threads.length;
        }, 'the threads of a round to end');
        for (const { tid } of threads) await until(() => probe.sample(tid).running === undefined, 'an ended thread to be gone');
      }
      Atomics.store(sampler.words, 0, 1);
      const [{ samples }] = (await once(sampler.worker, 'message')) as [{ samples: number }];
      expect(samples).toBeGreaterThan(1000);
    });
  });
}

describe('on another system', () => {
  it('nothing is known', () => {
    const probe = made({ native: true }, '', 'win32');
    expect(probe.kind).toBe('none');
    expect(probe.add(process.pid)).toBe(-1);
    expect({ ...probe.sample(process.pid) }).toEqual({ running: undefined, cpuMs: undefined });
    expect([probe.idleProcessors(), probe.memoryFree()]).toEqual([undefined, undefined]);
    probe.remove(process.pid);
  });
  it('and none of /proc is needed on Linux', () => {
    const probe = made({ native: false }, '/does/not/exist', 'linux');
    expect(probe.add(process.pid)).toBe(-1);
    expect(probe.sample(process.pid).cpuMs).toBeUndefined();
    expect([probe.idleProcessors(), probe.memoryFree()]).toEqual([undefined, undefined]);
  });
});

describe('room on a made-up machine', () => {
  const busy = (ticks: number, idle: number) => `${ticks} 0 0 ${idle} 0 0 0 0 0 0`;
  async function machine(files: Record<string, string>) {
    const project = await projectFolder({});
    cleanUps.push(project.remove);
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(project.path, path)), { recursive: true });
      writeFileSync(join(project.path, path), text);
    };
    for (const [path, text] of Object.entries(files)) write(path, text);
    return { write, root: project.path };
  }
  const base = {
    'proc/self/status': 'Name:\tnode\nCpus_allowed_list:\t0-1,3\n',
    'proc/stat': `cpu  1 1 1\n${[0, 1, 2, 3].map((k) => `cpu${k} ${busy(0, 0)}\n`).join('')}intr 5 6\n`,
    'proc/meminfo': 'MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    600 kB\n',
    'proc/self/cgroup': '0::/app\n',
  };

  it('processors are those of the affinity, and too short a time changes nothing', async () => {
    const { write, root } = await machine(base);
    const probe = made({ native: false }, root, 'linux');
    expect(probe.idleProcessors()).toBeUndefined();
    write('proc/stat', `cpu  0\ncpu0 ${busy(10, 0)}\ncpu1 ${busy(0, 10)}\ncpu2 ${busy(0, 10)}\ncpu3 ${busy(5, 5)}\nintr 1\n`);
    expect(probe.idleProcessors()).toBeCloseTo(1.5);
    write('proc/stat', `cpu  0\ncpu0 ${busy(11, 0)}\ncpu1 ${busy(1, 10)}\ncpu2 ${busy(0, 11)}\ncpu3 ${busy(6, 5)}\nintr 1\n`);
    expect(probe.idleProcessors()).toBeCloseTo(1.5);
  });

  it('a quota that is used up leaves no processor idle', async () => {
    const group = 'sys/fs/cgroup/app';
    const { write, root } = await machine({
      ...base,
      [`${group}/cpu.max`]: '100000 100000\n',
      [`${group}/cpu.stat`]: 'usage_usec 0\nuser_usec 0\n',
    });
    const probe = made({ native: false }, root, 'linux');
    write(`${group}/cpu.stat`, 'usage_usec 900000000\nuser_usec 0\n');
    write('proc/stat', `cpu  0\ncpu0 ${busy(0, 10)}\ncpu1 ${busy(0, 10)}\ncpu2 ${busy(0, 10)}\ncpu3 ${busy(0, 10)}\n`);
    expect(probe.idleProcessors()).toBe(0);
    write('proc/stat', `cpu  0\ncpu0 ${busy(0, 20)}\ncpu1 ${busy(0, 20)}\ncpu2 ${busy(0, 20)}\ncpu3 ${busy(0, 20)}\n`);
    expect(probe.idleProcessors()).toBeCloseTo(1); // the quota, though three stood idle
  });

  it('memory is the least of the machine, of version 2 and of version 1, file pages that could go not counted as used', async () => {
    const alone = await machine(base);
    expect(made({ native: false }, alone.root, 'linux').memoryFree()).toBeCloseTo(0.6);
    const second = await machine({
      ...base,
      'sys/fs/cgroup/app/memory.max': '1000\n',
      'sys/fs/cgroup/app/memory.current': '900\n',
      'sys/fs/cgroup/app/memory.stat': 'anon 5\ninactive_file 200\nactive_file 100\n',
    });
    expect(made({ native: false }, second.root, 'linux').memoryFree()).toBeCloseTo(0.3);
    const first = await machine({
      ...base,
      'proc/self/cgroup': '4:memory:/app\n1:cpu:/\n',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
      'sys/fs/cgroup/memory/app/memory.limit_in_bytes': '1000\n',
      'sys/fs/cgroup/memory/app/memory.usage_in_bytes': '950\n',
      'sys/fs/cgroup/memory/app/memory.stat': 'cache 5\ninactive_file 1\ntotal_inactive_file 50\n',
    });
    const probe = made({ native: false }, first.root, 'linux');
    expect(probe.memoryFree()).toBeCloseTo(0.1);
    first.write('sys/fs/cgroup/memory/app/memory.usage_in_bytes', '2000\n');
    expect(probe.memoryFree()).toBe(0);
  });
});

describe.runIf(loadNative() !== undefined)('release', () => {
  const residentMiB = (): number => +(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? NaN) / 1024;

  it('gives whole pages of a shared buffer back: resident memory falls, they read as zero, and what surrounds them stays', () => {
    const size = 2 ** 26;
    const buffer = new SharedArrayBuffer(2 ** 21, { maxByteLength: 2 ** 28 });
    buffer.grow(size);
    const bytes = Buffer.from(buffer, 0, size);
    bytes.fill(7);
    const full = residentMiB();
    const released = loadNative()?.release(bytes, 100, size - 100) as number;
    expect(full - residentMiB()).toBeGreaterThan(56); // of 64, while other threads of the process allocate
    expect(released).toBeGreaterThan(size - 2 ** 18);
    expect([bytes[99], bytes[size - 99], bytes[size / 2]]).toEqual([7, 7, 0]);
    const zeros = Buffer.alloc(released);
    const first = bytes.indexOf(0);
    expect(bytes.subarray(first, first + released).equals(zeros)).toBe(true);
    expect(bytes.subarray(0, first).every((byte) => byte === 7)).toBe(true);
    bytes.fill(9);
    expect(bytes[size / 2]).toBe(9); // and can be used again
  });
});
