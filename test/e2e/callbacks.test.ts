/** What user callbacks see: never inside a verb, and what they throw stops nothing. Real worker threads; throwing ones in a child process. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from 'vitest';
import { inChild, once, until, within } from '../support/index.ts';
import { Gate, of, queueOf } from './gate.ts';

/** Marks what ran inside a verb. */
class Inside {
  #depth = 0;
  readonly seen: string[] = [];
  verb<T>(call: () => T): T {
    this.#depth++;
    try {
      return call();
    } finally {
      this.#depth--;
    }
  }
  callback = (name: string) => (): void => void this.seen.push(this.#depth > 0 ? `${name} inside a verb` : name);
}

describe('no user callback runs inside a verb', () => {
  test('onError and error for values that cannot be sent', async () => {
    const inside = new Inside();
    const queue = queueOf({ concurrency: 1, onError: inside.callback('onError') });
    queue.on('error', inside.callback('error'));
    const bad = Symbol('never sent') as never;
    inside.verb(() => {
      queue.push((x: unknown) => x, bad);
      queue.pushBatch((x: unknown) => x, [bad]);
      queue.submit((x: unknown) => x, bad);
      queue.submitBatch((x: unknown) => x, [bad]);
      queue.trySubmitBatch((x: unknown) => x, [bad]);
    });
    await until(() => inside.seen.length === 10, 'ten reports');
    expect(inside.seen).toEqual(Array(5).fill(['onError', 'error']).flat());
  });

  test('onError, error and promise reactions when a verb takes in the results', async () => {
    const inside = new Inside();
    const queue = queueOf({ concurrency: 1, maxPending: 2, onError: inside.callback('onError') });
    queue.on('error', inside.callback('error'));
    await queue.warm(1);
    const fails = (): never => {
      throw new Error('expected');
    };
    queue.run((x: number) => x, 1).then(inside.callback('then'));
    queue.submit(fails);
    const end = performance.now() + 30_000;
    // No turn of the event loop until both have settled and the verb has taken that in.
    inside.verb(() => {
      while (!queue.trySubmitBatch((x: number) => x, [1, 2]) && performance.now() < end);
    });
    expect(inside.seen).toEqual([]);
    await within(queue.idle(), 'idle');
    await until(() => inside.seen.length === 3, 'three callbacks');
    expect(inside.seen.toSorted()).toEqual(['error', 'onError', 'then']);
  });

  test('needsDrain, drain, ready and idle', async () => {
    const gate = new Gate();
    const inside = new Inside();
    const queue = queueOf({ concurrency: 1, backlogMax: 4, workerData: gate.workerData });
    for (const name of ['needsDrain', 'drain', 'workerStart'] as const) queue.on(name, inside.callback(name));
    inside.verb(() => queue.pushBatch(of('gate.js'), Array(12).fill('held')));
    expect(queue.needsDrain).toBe(true);
    const ready = queue.ready().then(inside.callback('ready'));
    await gate.entered();
    expect(inside.seen).toContain('needsDrain');
    expect(inside.seen).not.toContain('ready');
    gate.open();
    await within(ready, 'ready');
    await until(() => inside.seen.includes('drain'), 'drain');
    expect(inside.seen.filter((name) => name.includes('inside'))).toEqual([]);
  });

  test('crashLoop, workerStart and workerExit', async () => {
    const inside = new Inside();
    const queue = queueOf({ concurrency: 1, execArgv: ['--no-such-flag'], onError: inside.callback('onError') });
    queue.on('crashLoop', inside.callback('crashLoop'));
    inside.verb(() => queue.push((x: number) => x, 1));
    await until(() => inside.seen.includes('crashLoop') && inside.seen.includes('onError'), 'crashLoop and onError');
    expect(inside.seen.filter((name) => name.includes('inside'))).toEqual([]);
  });
});

describe('a failure that no promise tells', () => {
  test('goes to onError and then to error, each with the handler', async () => {
    const told: unknown[] = [];
    const queue = queueOf({ concurrency: 1, onError: (error, job) => told.push(['onError', (error as Error).message, job.handler]) });
    queue.on('error', (error, job) => told.push(['error', (error as Error).message, job.handler]));
    queue.push(function explode(text: string) {
      throw new RangeError(text);
    }, 'pushed');
    await until(() => told.length === 2, 'two reports');
    expect(told).toEqual([
      ['onError', 'pushed', 'explode'],
      ['error', 'pushed', 'explode'],
    ]);
  });

  test('submitted tasks and batches report too, and run never does', async () => {
    const told: unknown[] = [];
    const queue = queueOf({ concurrency: 1, onError: (error) => told.push((error as Error).message) });
    const explode = (text: string): never => {
      throw new Error(text);
    };
    const ran = queue.run(explode, 'run').catch((error: Error) => error.message);
    queue.submit(explode, 'submit');
    queue.pushBatch(explode, ['pushBatch']);
    queue.submitBatch(explode, ['submitBatch']);
    queue.trySubmitBatch(explode, ['trySubmitBatch']);
    expect(await ran).toBe('run');
    await within(queue.idle(), 'idle');
    await until(() => told.length === 4, 'four reports');
    expect(told).toEqual(['submit', 'pushBatch', 'submitBatch', 'trySubmitBatch']);
  });

  test('an error listener alone is enough', async () => {
    const queue = queueOf(1);
    const told = once(queue, 'error');
    queue.push(() => {
      throw new Error('pushed');
    });
    const [error, job] = await told;
    expect(error).toMatchObject({ message: 'pushed' });
    expect(job).toMatchObject({ handler: 'anonymous' });
  });

  test('with neither it is an uncaught exception, as an unhandled rejection is', async () => {
    const { code, stderr, stdout } = await inChild(`
      import { TaskQueue } from 'railhead';
      new TaskQueue(1).push(() => { throw new RangeError('nobody listens'); });
      process.on('exit', (code) => console.log('exit', code));
    `);
    expect(stderr).toContain('RangeError: nobody listens');
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'exit 1\n' });
  });

  test('a value that cannot be pushed is one too', async () => {
    const { code, stderr } = await inChild(`
      import { TaskQueue } from 'railhead';
      new TaskQueue(1).push((x) => x, () => 1);
    `);
    expect(stderr).toContain('E_ARGUMENT_CLONE');
    expect(code).toBe(1);
  });

  test('an unhandled rejection of run is Node’s own business', async () => {
    const { code, stderr } = await inChild(`
      import { TaskQueue } from 'railhead';
      new TaskQueue({ concurrency: 1, onError: () => console.log('told') }).run(() => { throw new RangeError('rejected'); });
    `);
    expect(stderr).toContain('RangeError: rejected');
    expect(code).toBe(1);
  });
});

test('callbacks run in the async context in which the queue was made, not in that of whoever called a verb', async () => {
  const context = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const note = (): void => void seen.push(context.getStore());
  const queue = context.run('made', () => queueOf({ concurrency: 1, backlogMax: 1, onError: note }));
  for (const name of ['needsDrain', 'drain', 'workerStart', 'error'] as const) queue.on(name, note);
  const fails = (): never => {
    throw new Error('expected');
  };
  context.run('pushed', () => {
    queue.push(fails);
    queue.push((x: unknown) => x, Symbol('never sent'));
    queue.pushBatch((n: number) => n, [1, 2, 3, 4]);
  });
  await within(queue.idle(), 'idle');
  await until(() => seen.length >= 7, 'seven callbacks');
  expect([...new Set(seen)]).toEqual(['made']);
});

describe('what a callback throws', () => {
  test('surfaces as an uncaught exception and stops nothing', async () => {
    const { code, stdout, stderr } = await inChild(`
      import { TaskQueue } from 'railhead';
      const caught = [];
      process.on('uncaughtException', (error) => caught.push(error.message));
      const queue = new TaskQueue({ concurrency: 2, backlogMax: 4, onError: (error) => { throw new Error('onError of ' + error.message); } });
      for (const name of ['error', 'drain', 'needsDrain', 'workerStart', 'workerExit']) {
        queue.on(name, () => { throw new Error('listener of ' + name); });
      }
      const fail = (text) => { throw new Error(text); };
      queue.push(fail, 'pushed');
      queue.push(fail, () => 1);
      queue.pushBatch((n) => n, Array.from({ length: 20 }, (_, k) => k));
      const results = await Promise.all(Array.from({ length: 50 }, (_, k) => queue.run((n) => n + 1, k)));
      await queue.idle();
      const report = await queue.stop();
      await new Promise((resolve) => setImmediate(resolve));
      console.log(JSON.stringify({ sum: results.reduce((a, b) => a + b), report, caught: [...new Set(caught)].sort() }));
    `);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { sum, report, caught } = JSON.parse(stdout);
    expect(sum).toBe(1275);
    expect(report).toEqual({ completed: 70, failed: 1, cut: 0, stuck: [] });
    expect(caught).toEqual([
      'listener of drain',
      'listener of error',
      'listener of needsDrain',
      'listener of workerExit',
      'listener of workerStart',
      'onError of The value for handler `fail` cannot be sent: `value` is a function, which cannot be sent',
      'onError of pushed',
    ]);
  });

  test('verbs and stop may be called from onError', async () => {
    const gate = new Gate();
    const queue = queueOf({
      concurrency: 1,
      workerData: gate.workerData,
      onError: () => {
        queue.push(of('gate.js', 'count'), 1);
        void queue.stop();
      },
    });
    queue.push(() => {
      throw new Error('pushed');
    });
    await until(() => queue.push(of('gate.js', 'count'), 'late') === false, 'a stopped queue');
    expect(await queue.stop()).toMatchObject({ failed: 1, cut: 0, stuck: [] });
    expect(gate.ran()).toEqual({ 1: 1 });
  });
});
