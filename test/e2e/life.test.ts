/** Life in a worker: hooks, options of the thread, output, and what tasks leave behind. Real worker threads; output in a child process. */
import { SHARE_ENV } from 'node:worker_threads';
import { describe, expect, test, vi } from 'vitest';
import { inChild, once, until, within } from '../support/index.ts';
import { errorOf, fixture, Gate, gone, of, parked, queueOf, upTo } from './gate.ts';
import { its, settled, workerOf } from './limits.ts';

const HOOKS = fixture('hooks.js');
/** Of the ledger: see the fixture. */
const SETUPS = 0;
const TEARDOWNS = 2;
const TORN_DOWN = 3;

describe('hooks', () => {
  test('setup is over before the first task, teardown before the thread has gone: once in each worker', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 2, parallelism: 2, hooks: HOOKS, workerData: gate.workerData });
    expect(await Promise.all(upTo(20).map(() => queue.run(of('hooks.js', 'isReady'))))).toEqual(Array(20).fill(true));
    await queue.warm(2);
    expect([...gate.ledger.subarray(0, 4)]).toEqual([2, 2, 0, 0]);
    await queue.stop();
    expect([...gate.ledger.subarray(0, 4)]).toEqual([2, 2, 2, 2]);
  });

  test.each([
    ['idling out', { maxIdleMs: 0 }],
    ['retiring', { maxJobs: 1 }],
  ])('teardown is awaited on %s too', async (_what, options) => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, hooks: HOOKS, workerData: gate.workerData, ...options });
    for (let k = 0; k < 3; k++) await queue.run((n: number) => n, k);
    await gone(queue);
    expect(gate.ledger[SETUPS]).toBe(gate.ledger[TORN_DOWN]);
    expect(gate.ledger[SETUPS]).toBeGreaterThan(0);
  });

  test('teardown is awaited on recycle() too', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, hooks: HOOKS, workerData: gate.workerData });
    await queue.warm(1);
    await parked(queue, 1);
    queue.recycle();
    await gone(queue);
    expect([...gate.ledger.subarray(0, 4)]).toEqual([1, 1, 1, 1]);
  });

  test('teardown is awaited where graceMs is longer than a timer reaches', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, maxIdleMs: 0, graceMs: 2 ** 31, hooks: HOOKS, workerData: gate.workerData });
    await queue.run((n: number) => n, 1);
    await gone(queue);
    expect([...gate.ledger.subarray(0, 4)]).toEqual([1, 1, 1, 1]);
  });

  test('no teardown runs in a thread that dies or is ended', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, graceMs: 1, hooks: HOOKS, workerData: gate.workerData });
    await errorOf(queue.run(() => process.exit(1)));
    await errorOf(queue.run(its('loop'), 10, { timeoutMs: 5 }));
    await settled(queue);
    expect(gate.ledger[TEARDOWNS]).toBe(0);
  });

  test('a setup that throws fails what waits with its error, and warm() too', async () => {
    const queue = queueOf({ concurrency: 1, hooks: fixture('setup-throws.js') });
    const error = await within(errorOf(queue.run((n: number) => n, 1)), 'the rejection');
    expect(error).toMatchObject({ code: 'E_WORKER_DIED', reason: 'crash', cause: { message: 'in the setup' } });
    expect(error.cause).toBeInstanceOf(RangeError);
    expect(await within(errorOf(queue.warm(1)), 'warm')).toMatchObject({ code: 'E_WORKER_DIED' });
    expect(await within(queue.stop(), 'stop')).toMatchObject({ stuck: [] });
  });

  test('a module that is not there fails what waits with the reason', async () => {
    const queue = queueOf({ concurrency: 1, hooks: fixture('no-such-hooks.js') });
    const error = await within(errorOf(queue.run((n: number) => n, 1)), 'the rejection');
    expect(error).toMatchObject({ code: 'E_WORKER_DIED', cause: { code: 'ERR_MODULE_NOT_FOUND' } });
  });

  test.each(['throws', 'rejects'])(
    'a teardown that %s is told to error, with its worker, and the thread goes all the same',
    async (how) => {
      const queue = queueOf({ concurrency: 1, maxIdleMs: 0, hooks: fixture('teardown.cjs'), workerData: { how }, onError: () => {} });
      const told = once(queue, 'error');
      await queue.run((n: number) => n, 1);
      const [error, job] = (await told) as [Error, unknown];
      expect(error).toMatchObject({ name: 'RangeError', message: 'in the teardown' });
      expect(job).toMatchObject({ workerId: 1 });
      await gone(queue);
      await expect(workerOf(queue)).resolves.toBe(2);
    },
  );

  test('a teardown that hangs holds its thread for graceMs and no longer', async () => {
    const queue = queueOf({ concurrency: 1, maxIdleMs: 0, graceMs: 20, hooks: fixture('teardown.cjs'), workerData: { how: 'hangs' } });
    await queue.run((n: number) => n, 1);
    await gone(queue);
    await expect(workerOf(queue)).resolves.toBe(2);
    expect(await within(queue.stop(), 'stop')).toMatchObject({ completed: 2, cut: 0, stuck: [] });
  });
});

describe('options of the thread', () => {
  test('the environment is a copy by default, and one of its own or the shared one by choice', async () => {
    process.env.RAILHEAD_TEST_LIFE = 'of the host';
    try {
      const read = (): string | undefined => process.env.RAILHEAD_TEST_LIFE;
      const write = (): void => {
        process.env.RAILHEAD_TEST_LIFE = 'of a worker';
      };
      const copy = queueOf({ concurrency: 1 });
      await expect(copy.run(read)).resolves.toBe('of the host');
      await copy.run(write);
      await expect(copy.run(read)).resolves.toBe('of a worker');
      expect(process.env.RAILHEAD_TEST_LIFE).toBe('of the host');
      await expect(queueOf({ concurrency: 1, env: { OTHER: 'x' } }).run(read)).resolves.toBe(undefined);
      const shared = queueOf({ concurrency: 1, env: SHARE_ENV });
      await shared.run(write);
      expect(process.env.RAILHEAD_TEST_LIFE).toBe('of a worker');
    } finally {
      delete process.env.RAILHEAD_TEST_LIFE;
    }
  });

  test('workerData is the user’s own, in modules and functions; without any it is as Node has it', async () => {
    const read = (): unknown => process.getBuiltinModule('node:worker_threads').workerData;
    await expect(queueOf({ concurrency: 1, workerData: { list: [1, { two: 2 }] } }).run(read)).resolves.toEqual({ list: [1, { two: 2 }] });
    for (const workerData of [0, '', null, false])
      await expect(queueOf({ concurrency: 1, workerData }).run(read)).resolves.toBe(workerData);
    expect((await queueOf({ concurrency: 1 }).run(read)) ?? null).toBe(null);
  });

  test('argv and execArgv are those of each worker, also of one that replaces another', async () => {
    const queue = queueOf({ concurrency: 1, argv: ['one', 'two'], execArgv: ['--no-warnings'] });
    const read = (): unknown => [process.argv.slice(2), process.execArgv];
    for (let k = 0; k < 2; k++) {
      await expect(queue.run(read)).resolves.toEqual([['one', 'two'], ['--no-warnings']]);
      await errorOf(queue.run(() => process.exit(1)));
    }
  });

  test('resourceLimits hold in each worker', async () => {
    const queue = queueOf({ concurrency: 1, resourceLimits: { maxOldGenerationSizeMb: 48, stackSizeMb: 2 } });
    const read = (): unknown => process.getBuiltinModule('node:worker_threads').resourceLimits;
    await expect(queue.run(read)).resolves.toMatchObject({ maxOldGenerationSizeMb: 48, stackSizeMb: 2 });
  });

  test('the name is that of the thread where Node tells it', async (context) => {
    const queue = queueOf({ concurrency: 1, name: 'crew' });
    const name = await queue.run(() => (process.getBuiltinModule('node:worker_threads') as { threadName?: string }).threadName ?? null);
    if (name === null) return context.skip('this Node does not tell a thread its name');
    expect(name).toBe('crew');
  });
});

describe('output', () => {
  const child = async (code: string): Promise<{ out: string[]; err: string[] }> => {
    const { code: status, stdout, stderr } = await inChild(`import { TaskQueue } from 'railhead';\n${code}`);
    expect(status).toBe(0);
    const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
    return { out: lines(stdout), err: lines(stderr) };
  };
  /** That the lines are these, without 2,000 lines of difference where not. */
  const expectLines = (lines: string[], kind: string, count: number): void => {
    const wrong = lines.findIndex((line, k) => line !== `${kind} ${k}`);
    expect({ count: lines.length, last: lines.at(-1), wrong }).toEqual({ count, last: `${kind} ${count - 1}`, wrong: -1 });
  };
  const prints =
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the child that fills it in
    'const prints = ({ from, lines }) => { for (let k = 0; k < lines; k++) { console.log(`out ${from} ${k}`); console.error(`err ${from} ${k}`); } };';

  test.each([
    ['stop()', '{}', 'await queue.stop();'],
    ['idling out', '{ maxIdleMs: 0 }', 'while (queue.stats().workers.live > 0) await new Promise((resolve) => setImmediate(resolve));'],
    ['recycle()', '{}', 'queue.recycle(); while (queue.stats().workers.live > 0) await new Promise((resolve) => setImmediate(resolve));'],
    ['retiring', '{ maxJobs: 1 }', 'while (queue.stats().workers.live > 0) await new Promise((resolve) => setImmediate(resolve));'],
  ])('B68 none is lost when a worker leaves in good order: %s', async (_what, options, leave) => {
    const { out, err } = await child(`
      ${prints}
      const queue = new TaskQueue({ concurrency: 1, ...${options} });
      await queue.run(prints, { from: 0, lines: 2_000 });
      ${leave}
    `);
    expectLines(out, 'out 0', 2_000);
    expectLines(err, 'err 0', 2_000);
  });

  test('B68 none is lost though the host was blocked while it was printed', async () => {
    const { out } = await child(`
      ${prints}
      const words = new Int32Array(new SharedArrayBuffer(4));
      const queue = new TaskQueue({ concurrency: 1, maxIdleMs: 0, workerData: words });
      await queue.warm(1);
      queue.push(prints, { from: 1, lines: 500 });
      queue.push(() => { const { workerData } = process.getBuiltinModule('node:worker_threads'); Atomics.store(workerData, 0, 1); Atomics.notify(workerData, 0); });
      Atomics.wait(words, 0, 0, 20_000);
      await queue.stop();
    `);
    expectLines(out, 'out 1', 500);
  });

  test('tagOutput says which worker each line is from, and never mixes two lines', async () => {
    const { out, err } = await child(`
      ${prints}
      const queue = new TaskQueue({ concurrency: 2, parallelism: 2, maxBatchSize: 1, tagOutput: true, name: 'crew' });
      await queue.warm(2);
      await Promise.all(Array.from({ length: 20 }, (_, from) => queue.run(prints, { from, lines: 50 })));
      await queue.run(() => void process.stdout.write('no newline at the end'));
      await queue.stop();
    `);
    const last = out.pop();
    expect(last).toMatch(/^\[crew [12]\] no newline at the end$/);
    for (const [lines, kind] of [
      [out, 'out'],
      [err, 'err'],
    ] as const) {
      expect(lines.length).toBe(1_000);
      for (const line of lines) expect(line).toMatch(new RegExp(`^\\[crew [12]\\] ${kind} \\d+ \\d+$`));
      expect(new Set(lines.map((line) => line.replace(/^\[crew \d+\] /, ''))).size).toBe(1_000);
    }
  });

  test('without a name the tag is that of the package', async () => {
    const { out } = await child(`
      const queue = new TaskQueue({ concurrency: 1, tagOutput: true });
      await queue.run(() => console.log('one\\ntwo'));
      await queue.stop();
    `);
    expect(out).toEqual(['[railhead 1] one', '[railhead 1] two']);
  });
});

describe('work that a task does not await', () => {
  test('B51 goes on while the worker is parked, and the next task has its own result', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    await expect(queue.run(of('leak.js', 'later'), 5)).resolves.toBe(undefined);
    await parked(queue, 1);
    await until(() => gate.ledger[0] === 1, 'what was left behind');
    await expect(workerOf(queue)).resolves.toBe(1);
  });

  test.each(['throws', 'rejects'])(
    'B51 and then %s is told to error with its worker, not charged to the tasks that came and went meanwhile',
    async (how) => {
      const gate = new Gate();
      const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
      const told = once(queue, 'error');
      await expect(queue.run(of('leak.js', 'bomb'), { how, ms: 20 })).resolves.toBe('returned');
      // As many sync tasks as it takes, each of which must return whatever happens between them.
      let over = false;
      void told.then(() => {
        over = true;
      });
      for (let k = 0; !over; k++) await expect(queue.run((n: number) => n, k)).resolves.toBe(k);
      const [error, job] = (await told) as [Error, unknown];
      expect(error).toMatchObject({ name: 'RangeError', message: 'left behind' });
      expect(job).toMatchObject({ handler: undefined, workerId: 1 });
      await expect(workerOf(queue)).resolves.toBe(2);
      await settled(queue);
      expect(queue.stats().failed).toBe(0);
    },
  );

  test('and then throws: an async task beside it may end within graceMs, and only what is left then fails', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, tasksPerWorker: 4, graceMs: 1_500, onError: () => {}, workerData: gate.workerData });
    const ends = queue.run(its('beatUntilOpen'), 0);
    const stays = errorOf(queue.run(its('never'), 1));
    await gate.entered(2);
    const told = once(queue, 'error');
    await queue.run(of('leak.js', 'bomb'), { how: 'throws', ms: 1 });
    await told;
    const next = workerOf(queue);
    gate.open();
    await expect(ends).resolves.toBe('undisturbed');
    expect(await within(stays, 'the rejection')).toMatchObject({
      code: 'E_WORKER_DIED',
      reason: 'crash',
      cause: { message: 'left behind' },
    });
    await expect(next).resolves.toBe(2);
    await settled(queue);
    expect(queue.stats()).toMatchObject({ failed: 1 });
  });

  test('and then throws, with nothing under way: no task fails', async () => {
    const gate = new Gate();
    const onError = vi.fn();
    const queue = queueOf({ concurrency: 2, parallelism: 2, onError, workerData: gate.workerData });
    for (let k = 0; k < 4; k++) await queue.run(of('leak.js', 'bomb'), { how: k % 2 ? 'throws' : 'rejects', ms: 0 });
    await until(() => onError.mock.calls.length > 0, 'a report');
    await expect(Promise.all(upTo(50).map((k) => queue.run((n: number) => n, k)))).resolves.toEqual(upTo(50));
    await settled(queue);
    expect(queue.stats()).toMatchObject({ completed: 54, failed: 0 });
    for (const [error] of onError.mock.calls) expect(error).toMatchObject({ message: 'left behind' });
  });

  test('and then throws, beside a task that never yields: the thread is ended after graceMs', async () => {
    const queue = queueOf({ concurrency: 1, tasksPerWorker: 2, graceMs: 50, onError: () => {} });
    const stuck = errorOf(
      queue.run(async () => {
        setTimeout(() => {
          throw new RangeError('left behind');
        });
        await new Promise((resolve) => setTimeout(resolve, 20));
        for (;;); // no timer of this thread fires any more
      }),
    );
    expect(await within(stuck, 'the rejection', 10_000)).toMatchObject({ code: 'E_WORKER_DIED', reason: 'crash' });
    await expect(workerOf(queue)).resolves.toBe(2);
    await settled(queue);
  });
});
