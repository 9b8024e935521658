/** What keeps a process alive and what does not. Each case in a child process that ends by itself, or the test fails at its deadline. */
import { describe, expect, test } from 'vitest';
import { inChild } from '../support/index.ts';

const child = async (code: string): Promise<string> => {
  const result = await inChild(`import { TaskQueue, Task } from 'railhead';\n${code}`);
  expect({ code: result.code, signal: result.signal, stderr: result.stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  return result.stdout;
};

describe('an idle queue lets the process exit', () => {
  test('one that never had work', async () => {
    expect(await child(`new TaskQueue(2); new Task((n) => n); console.log('end');`)).toBe('end\n');
  });

  test('one that is not stopped, with parked workers that would stay for ever', async () => {
    expect(
      await child(`
        const queue = new TaskQueue({ concurrency: 2, maxIdleMs: Infinity });
        await queue.warm(2);
        console.log(await queue.run((n) => n + 1, 1));
        while (queue.stats().workers.parked < 2) await new Promise((resolve) => setImmediate(resolve));
        console.log('end');
      `),
    ).toBe('2\nend\n');
  });

  test('one whose work was done while nothing else kept the process', async () => {
    expect(await child(`const queue = new TaskQueue(2); for (let k = 0; k < 100; k++) queue.push((n) => n, k);`)).toBe('');
  });

  test('one that has listeners, a pending ready() and a pending drain', async () => {
    expect(
      await child(`
        const queue = new TaskQueue({ concurrency: 1, maxPending: 1 });
        for (const name of ['drain', 'error', 'workerExit']) queue.on(name, () => {});
        queue.submit((n) => n, 1);
        queue.ready().then(() => console.log('ready'));
      `),
    ).toBe('ready\n');
  });

  test('one whose task left a timer behind in its worker', async () => {
    expect(
      await child(`const queue = new TaskQueue(1); await queue.run(() => void setInterval(() => {}, 1_000)); console.log('end');`),
    ).toBe('end\n');
  });

  test('B18 a stopped one that is asked for more', async () => {
    expect(
      await child(`
        const queue = new TaskQueue(1);
        await queue.run((n) => n, 1);
        await queue.stop();
        console.log(queue.push((n) => n, 1), (await queue.run((n) => n, 1).catch((error) => error)).code);
      `),
    ).toBe('false E_QUEUE_STOPPED\n');
  });

  test('one whose workers can never boot, after its work has failed', async () => {
    expect(
      await child(`
        const queue = new TaskQueue({ concurrency: 1, execArgv: ['--no-such-flag'] });
        console.log((await queue.run((n) => n, 1).catch((error) => error)).code);
      `),
    ).toBe('E_WORKER_DIED\n');
  });
});

describe('outstanding work keeps it', () => {
  test('run, though nobody else holds the process', async () => {
    expect(
      await child(`
        const queue = new TaskQueue(2);
        queue.run(async () => { await new Promise((resolve) => setTimeout(resolve, 300)); return 'done'; }).then(console.log);
      `),
    ).toBe('done\n');
  });

  test.each(['push(work, 1)', 'submit(work, 1)', 'pushBatch(work, [1])', 'submitBatch(work, [1])', 'trySubmitBatch(work, [1])'])(
    '%s, until the task has settled, and what it printed comes out',
    async (verb) => {
      expect(
        await child(`
          const queue = new TaskQueue(1);
          const work = async () => { await new Promise((resolve) => setTimeout(resolve, 200)); console.log('worked'); };
          queue.${verb};
          queue.idle().then(() => console.log('idle'));
        `),
      ).toBe('worked\nidle\n');
    },
  );

  test('also after an idle phase in which the process could have ended', async () => {
    expect(
      await child(`
        const queue = new TaskQueue({ concurrency: 1, maxIdleMs: 0 });
        await queue.run((n) => n, 1);
        const timer = setTimeout(() => {
          queue.run(async (n) => { await new Promise((resolve) => setTimeout(resolve, 100)); return n; }, 2).then(console.log);
        }, 100);
      `),
    ).toBe('2\n');
  });

  test('awaiting warm(), idle(), ready() and stop()', async () => {
    expect(
      await child(`
        const queue = new TaskQueue({ concurrency: 2, maxPending: 1 });
        await queue.warm(2);
        console.log('warm', queue.stats().workers.live);
        queue.submit(async () => { await new Promise((resolve) => setTimeout(resolve, 100)); });
        await queue.ready();
        console.log('ready');
        await queue.idle();
        console.log('idle');
        await queue.stop();
        console.log('stopped');
      `),
    ).toBe('warm 2\nready\nidle\nstopped\n');
  });

  test('while the module of a task is still loading', async () => {
    const { code, stdout } = await inChild(
      `import { TaskQueue } from 'railhead'; new TaskQueue(1).run(new URL('./slow.js', import.meta.url), 2).then(console.log);`,
      [],
      { files: { 'slow.js': 'await new Promise((resolve) => setTimeout(resolve, 200)); export default (n) => n * 2;' } },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: '4\n' });
  });
});

test('B41 importing and using the package adds no listener to the process and changes no global', async () => {
  expect(
    await child(`
      const look = () => JSON.stringify([process.eventNames().map((name) => [String(name), process.listenerCount(name)]).sort(), Reflect.ownKeys(globalThis).map(String).sort()]);
      // An earlier process tells what was there without the package.
      const { execFileSync } = await import('node:child_process');
      const before = execFileSync(process.execPath, ['--input-type=module', '-e', 'const look = ' + look + '; console.log(look())'], { encoding: 'utf8' }).trim();
      const queue = new TaskQueue(2);
      await queue.run((n) => n, 1);
      console.log(look() === before ? 'the same' : look() + ' was ' + before);
    `),
  ).toBe('the same\n');
});

test('a function that imports prints no warning', async () => {
  expect(
    await child(`
      const queue = new TaskQueue(1);
      console.log(await queue.run(async (text) => (await import('node:path')).basename(text), 'a/b'));
    `),
  ).toBe('b\n');
});

test('P7 with the host blocked, workers go on through everything already submitted', async () => {
  expect(
    await child(`
      const words = new Int32Array(new SharedArrayBuffer(4));
      const queue = new TaskQueue({ concurrency: 2, workerData: words });
      await queue.warm(1);
      queue.pushBatch(() => { const { workerData } = process.getBuiltinModule('node:worker_threads'); Atomics.add(workerData, 0, 1); Atomics.notify(workerData, 0); }, Array(500).fill(undefined));
      for (let n = Atomics.load(words, 0); n < 500; n = Atomics.load(words, 0)) if (Atomics.wait(words, 0, n, 20_000) === 'timed-out') break;
      console.log(Atomics.load(words, 0));
    `),
  ).toBe('500\n');
});
