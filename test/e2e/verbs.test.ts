/** Every verb in every column of the table in api.md, on `TaskQueue` and on `Task`. Real worker threads. */
import { type FailedJob, type QueueOptions, type RunOptions, Task, type TaskQueue } from 'railhead';
import { describe, expect, test } from 'vitest';
import { DEADLINE_MS, until, within } from '../support/index.ts';
import { errorOf, fixture, Gate, of, onceEach, queueOf, taskOf, upTo } from './gate.ts';

/** The verbs, whichever class they are of; `count` notes that a value ran, `hold` keeps a worker. */
interface Verbs {
  readonly queue: TaskQueue | Task;
  run(value: unknown, options?: RunOptions): Promise<unknown>;
  push(value: unknown): boolean;
  pushBatch(values: unknown): number;
  submit(value: unknown): boolean;
  submitBatch(values: unknown): number;
  trySubmitBatch(values: unknown): boolean;
}
type Make = (exportName: string | undefined, options: QueueOptions) => Verbs;

const onQueue: Make = (exportName, options) => {
  const queue = queueOf(options);
  const its = of('gate.js', exportName);
  return {
    queue,
    run: (value, runOptions) => queue.run(its, value, runOptions),
    push: (value) => queue.push(its, value),
    pushBatch: (values) => queue.pushBatch(its, values as unknown[]),
    submit: (value) => queue.submit(its, value),
    submitBatch: (values) => queue.submitBatch(its, values as unknown[]),
    trySubmitBatch: (values) => queue.trySubmitBatch(its, values as unknown[]),
  };
};
const onTask: Make = (exportName, options) => {
  const task = taskOf(of('gate.js', exportName), options);
  return {
    queue: task,
    run: (value, runOptions) => task.run(value, runOptions),
    push: (value) => task.push(value),
    pushBatch: (values) => task.pushBatch(values as unknown[]),
    submit: (value) => task.submit(value),
    submitBatch: (values) => task.submitBatch(values as unknown[]),
    trySubmitBatch: (values) => task.trySubmitBatch(values as unknown[]),
  };
};

describe.each([
  ['TaskQueue', onQueue],
  ['Task', onTask],
] as const)('%s', (_name, make) => {
  const gate = new Gate();
  const counting = (options: QueueOptions = {}): { verbs: Verbs; gate: Gate; told: { code: unknown; handler: unknown }[] } => {
    const its = new Gate();
    const told: { code: unknown; handler: unknown }[] = [];
    const onError = (error: unknown, job: FailedJob): void =>
      void told.push({ code: (error as { code?: unknown }).code, handler: job.handler });
    return { verbs: make('count', { concurrency: 2, workerData: its.workerData, onError, ...options }), gate: its, told };
  };
  /** One worker, held by a task of `run` and full beyond it. */
  const held = async (maxPending: number): Promise<{ verbs: Verbs; gate: Gate; first: Promise<unknown> }> => {
    const its = new Gate();
    const verbs = make(undefined, { concurrency: 1, maxPending, workerData: its.workerData });
    const first = verbs.run(0);
    first.catch(() => {}); // a failing test may stop the queue under it
    await its.entered();
    return { verbs, gate: its, first };
  };
  /** A value with a getter that cannot be read. */
  const unreadable = (): unknown => ({
    get field(): never {
      throw new Error('no reading');
    },
  });

  test('P1 every verb runs what it took, once', async () => {
    const { verbs, gate } = counting();
    await expect(verbs.run(0)).resolves.toBe(0);
    expect(verbs.push(1)).toBe(true);
    expect(verbs.pushBatch([2, 3])).toBe(2);
    expect(verbs.submit(4)).toBe(true);
    expect(verbs.submitBatch([5, 6])).toBe(2);
    expect(verbs.trySubmitBatch([7, 8])).toBe(true);
    await within(verbs.queue.idle(), 'idle');
    expect(gate.ran()).toEqual(onceEach(upTo(9)));
  });

  test('an empty batch is taken whole, also on a full queue', async () => {
    const { verbs, gate } = await held(1);
    for (const values of [[], []]) {
      expect(verbs.pushBatch(values)).toBe(0);
      expect(verbs.submitBatch(values)).toBe(0);
      expect(verbs.trySubmitBatch(values)).toBe(true);
    }
    expect(verbs.queue.pending).toBe(1);
    gate.open();
  });

  test('P6 a full queue refuses run, submit and both submit batches, and bounds no push', async () => {
    const { verbs, gate, first } = await held(2);
    expect(verbs.submit(1)).toBe(true);
    expect(await errorOf(verbs.run(20))).toMatchObject({ name: 'RailheadError', code: 'E_QUEUE_FULL' });
    expect(verbs.submit(21)).toBe(false);
    expect(verbs.submitBatch([22, 23])).toBe(0);
    expect(verbs.trySubmitBatch([24])).toBe(false);
    expect(verbs.push(2)).toBe(true);
    expect(verbs.pushBatch([3, 4, 5])).toBe(3);
    expect(verbs.queue.pending).toBe(6);
    gate.open();
    await first;
    await within(verbs.queue.idle(), 'idle');
    expect(gate.ran()).toEqual(onceEach(upTo(6)));
    await expect(verbs.run(6)).resolves.toBe(6); // there is room again
  });

  test('P6 submitBatch admits exactly the prefix that fits', async () => {
    const { verbs, gate } = await held(6);
    expect(verbs.submitBatch(upTo(20).slice(1))).toBe(5);
    expect(verbs.submitBatch([30])).toBe(0);
    gate.open();
    await within(verbs.queue.idle(), 'idle');
    expect(gate.ran()).toEqual(onceEach(upTo(6)));
  });

  test('P6 trySubmitBatch admits all or nothing', async () => {
    const { verbs, gate } = await held(6);
    expect(verbs.trySubmitBatch([20, 21, 22, 23, 24, 25])).toBe(false);
    expect(verbs.queue.pending).toBe(1);
    expect(verbs.trySubmitBatch([1, 2, 3, 4, 5])).toBe(true);
    expect(verbs.trySubmitBatch([26])).toBe(false);
    gate.open();
    await within(verbs.queue.idle(), 'idle');
    expect(gate.ran()).toEqual(onceEach(upTo(6)));
  });

  test('pushed tasks do not count against maxPending', async () => {
    const { verbs, gate } = await held(2);
    expect(verbs.pushBatch([1, 2, 3])).toBe(3);
    expect(verbs.submit(4)).toBe(true);
    expect(verbs.submit(20)).toBe(false);
    gate.open();
    await within(verbs.queue.idle(), 'idle');
    expect(gate.ran()).toEqual(onceEach(upTo(5)));
  });

  test.each(['run', 'submit', 'submitBatch', 'trySubmitBatch'] as const)('P6 %s takes in results before it refuses', async (verb) => {
    const { verbs } = counting({ maxPending: 1, concurrency: 1 });
    await verbs.run(0);
    expect(verbs.submit(1)).toBe(true);
    // No turn of the event loop from here: only the verb itself can see that the task has settled.
    const end = performance.now() + DEADLINE_MS;
    const admits: Record<typeof verb, () => boolean> = {
      run: () => {
        const before = verbs.queue.pending;
        verbs.run(2).catch(() => {});
        return before === 1 && verbs.queue.stats().completed === 2;
      },
      submit: () => verbs.submit(2),
      submitBatch: () => verbs.submitBatch([2]) === 1,
      trySubmitBatch: () => verbs.trySubmitBatch([2]),
    };
    let admitted = false;
    while (!admitted && performance.now() < end) admitted = admits[verb]();
    expect(admitted).toBe(true);
    await within(verbs.queue.idle(), 'idle');
    expect(verbs.queue.stats().completed).toBe(3);
  });

  test('idle() resolves when the last results were taken in by a verb', async () => {
    const { verbs, gate } = await held(1);
    const idle = verbs.queue.idle();
    let told = 0;
    verbs.queue.on('error', () => told++);
    gate.open();
    const end = performance.now() + DEADLINE_MS;
    while (verbs.queue.pending > 0 && performance.now() < end) verbs.submit(Symbol('never sent'));
    expect(verbs.queue.pending).toBe(0);
    await within(idle, 'idle', 5_000);
    expect(told).toBeGreaterThan(0);
  });

  test('a stopped queue takes nothing', async () => {
    const { verbs, gate, told } = counting();
    await verbs.queue.stop();
    expect(await errorOf(verbs.run(0))).toMatchObject({ name: 'RailheadError', code: 'E_QUEUE_STOPPED' });
    expect(verbs.push(1)).toBe(false);
    expect(verbs.pushBatch([2, 3])).toBe(0);
    expect(verbs.submit(4)).toBe(false);
    expect(verbs.submitBatch([5, 6])).toBe(0);
    expect(verbs.trySubmitBatch([7])).toBe(false);
    expect(verbs.push(unreadable())).toBe(false);
    expect(verbs.queue.pending).toBe(0);
    expect(verbs.queue.stats().workers.started).toBe(0);
    expect(gate.ran()).toEqual({});
    expect(told).toEqual([]); // refused before the value was looked at
  });

  test.each([
    ['a function', () => () => 1],
    ['a symbol deep inside', () => ({ a: [{ b: Symbol('x') }] })],
    ['a promise', () => Promise.resolve()],
    ['a Map with a function in it', () => new Map([[1, () => 1]])],
    ['a getter that throws', unreadable],
  ])('%s is not sent, and each verb says so in its own way', async (_what, bad) => {
    const { verbs, gate, told } = counting();
    expect(await errorOf(verbs.run(bad()))).toMatchObject({ name: 'RailheadError', code: 'E_ARGUMENT_CLONE' });
    const refused = { code: 'E_ARGUMENT_CLONE', handler: 'gate.js#count' };
    expect(verbs.push(bad())).toBe(false);
    expect(verbs.pushBatch([0, bad(), 1, bad()])).toBe(2);
    expect(verbs.submit(bad())).toBe(false);
    expect(verbs.submitBatch([2, 3, bad(), 20])).toBe(2);
    expect(verbs.trySubmitBatch([21, bad()])).toBe(false);
    expect(told).toEqual([]); // not inside a verb
    await within(verbs.queue.idle(), 'idle');
    await until(() => told.length >= 6, 'six reports');
    expect(told).toEqual(Array(6).fill(refused)); // push 1, pushBatch 2, submit, submitBatch, trySubmitBatch
    expect(gate.ran()).toEqual(onceEach(upTo(4)));
  });

  test('the error a getter threw is the cause', async () => {
    const { verbs } = counting();
    expect((await errorOf(verbs.run(unreadable()))).cause).toMatchObject({ message: 'no reading' });
  });

  test('a getter may call every verb, and both values arrive whole', async () => {
    const { verbs, gate } = counting();
    const inner: Promise<unknown>[] = [];
    const value = {
      before: 'x'.repeat(500),
      get field() {
        verbs.push(0);
        verbs.submit(1);
        verbs.pushBatch([2, 3]);
        verbs.submitBatch([4]);
        verbs.trySubmitBatch([5]);
        inner.push(verbs.run({ inner: 'y'.repeat(900) }));
        return ['field'];
      },
      after: [1, 2, { three: 3 }],
    };
    expect(await verbs.run(value)).toEqual({ before: 'x'.repeat(500), field: ['field'], after: [1, 2, { three: 3 }] });
    expect(await inner[0]).toEqual({ inner: 'y'.repeat(900) });
    await within(verbs.queue.idle(), 'idle');
    expect(gate.ran()).toEqual(onceEach(upTo(6)));
  });

  test('P6 a getter that fills the queue does not let its own verb exceed maxPending', async () => {
    const fill = (verbs: Verbs): unknown => ({
      get field() {
        while (verbs.submit(60));
        return 1;
      },
    });
    const refusals: ((verbs: Verbs) => unknown)[] = [
      async (verbs) => expect(await errorOf(verbs.run(fill(verbs)))).toMatchObject({ code: 'E_QUEUE_FULL' }),
      (verbs) => expect(verbs.submitBatch([1, fill(verbs), 2])).toBe(0),
      (verbs) => expect(verbs.trySubmitBatch([1, fill(verbs)])).toBe(false),
    ];
    for (const isRefused of refusals) {
      const gate = new Gate(); // closed until the end: what has settled would make room
      const verbs = make(undefined, { concurrency: 1, maxPending: 4, workerData: gate.workerData });
      const refused = isRefused(verbs);
      expect(verbs.queue.pending).toBe(4);
      await refused;
      gate.open();
      await within(verbs.queue.idle(), 'idle');
      expect(gate.ran()).toEqual({ 60: 4 });
    }
  });

  test.each(['run', 'push', 'pushBatch', 'submit', 'submitBatch', 'trySubmitBatch'] as const)(
    'P1 when a getter stops the queue during %s, what is admitted still settles',
    async (verb) => {
      const { verbs, gate } = counting();
      let stopping: Promise<unknown> | undefined;
      const value = {
        get field() {
          stopping = verbs.queue.stop();
          return 1;
        },
      };
      let admitted = 0;
      if (verb === 'run')
        admitted = await verbs.run(value).then(
          () => 1,
          () => 0,
        );
      else if (verb === 'push' || verb === 'submit') admitted = Number(verbs[verb](value));
      else if (verb === 'trySubmitBatch') admitted = verbs.trySubmitBatch([0, value, 1]) ? 3 : 0;
      else admitted = verbs[verb]([0, value, 1]);
      expect(await within(stopping as Promise<unknown>, 'stop')).toMatchObject({ completed: admitted, failed: 0, cut: 0 });
      expect(verbs.queue.pending).toBe(0);
      expect(Object.keys(gate.ran()).length).toBeLessThanOrEqual(admitted);
    },
  );

  test.each([
    ['null', null, TypeError],
    ['a number', 5, TypeError],
    ['an unknown name', { timeout: 5 }, TypeError],
    ['a time below 0', { timeoutMs: -1 }, RangeError],
    ['a time that is text', { deadlineMs: '5' }, TypeError],
    ['a signal that is none', { signal: {} }, TypeError],
    ['a transfer list that is none', { transfer: 1 }, TypeError],
    ['an onProgress that is none', { onProgress: 1 }, TypeError],
  ])('run rejects for run options that are wrong: %s', async (_what, options, kind) => {
    const { verbs } = counting();
    const error = await errorOf(verbs.run(0, options as RunOptions));
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ code: kind === TypeError ? 'ERR_INVALID_ARG_TYPE' : 'ERR_OUT_OF_RANGE' });
    expect(verbs.queue.pending).toBe(0);
  });

  test.each([
    ['a number', 5],
    ['undefined', undefined],
    ['a set', new Set([1])],
    ['a string', '12'],
  ])('a batch that is no array is a TypeError: %s', (_what, values) => {
    const { verbs } = counting();
    for (const verb of ['pushBatch', 'submitBatch', 'trySubmitBatch'] as const) expect(() => verbs[verb](values)).toThrow(TypeError);
    expect(verbs.queue.pending).toBe(0);
  });

  test.each([
    [{ concurrency: 0 }, RangeError],
    [{ concurrency: 1025 }, RangeError],
    [{ concurrency: 1.5 }, RangeError],
    [{ concurrency: '2' }, TypeError],
    [{ maxBatchSize: 0 }, RangeError],
    [{ maxBatchSize: 256 }, RangeError],
    [{ maxIdleMs: -1 }, RangeError],
    [{ maxPending: Number.NaN }, RangeError],
    [{ backlogMax: 0 }, RangeError],
    [{ onError: 1 }, TypeError],
    [{ hooks: 'file:///x.js' }, TypeError],
    [{ workers: 2 }, TypeError],
    [{ concurency: 2 }, TypeError],
  ])('a wrong option is refused by the constructor: %o', (options, kind) => {
    expect(() => make(undefined, options as QueueOptions)).toThrow(kind);
  });

  test('an option given as undefined is not given', async () => {
    const verbs = make('count', { concurrency: undefined, maxPending: undefined, workerData: gate.workerData });
    await expect(verbs.run(1)).resolves.toBe(1);
  });
});

describe('a wrong handler', () => {
  const wrong: [string, unknown][] = [
    ['a number', 7],
    ['null', null],
    ['undefined', undefined],
    ['an object', {}],
    ['an array', [() => 1]],
    ['a relative path', './double.js'],
    ['a bare name', 'double.js'],
    ['an http: URL', new URL('http://localhost/double.js')],
    ['a data: URL', new URL('data:text/javascript,export default 1')],
    ['a data: URL as text', 'data:text/javascript,export default 1'],
    ['a native function', Math.max],
    ['a bound function', ((n: number) => n).bind(null)],
    ['a class', class Job {}],
  ];
  test.each(wrong)('every verb throws at once, and run rejects: %s', async (_what, given) => {
    const queue = queueOf(1);
    const its = given as () => unknown;
    const error = await errorOf(queue.run(its));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
    expect(() => queue.push(its)).toThrow(TypeError);
    expect(() => queue.pushBatch(its, [1])).toThrow(TypeError);
    expect(() =>
      queue.pushBatch([
        [() => 1, 1],
        [its, 1],
      ]),
    ).toThrow(TypeError);
    expect(() => queue.submit(its)).toThrow(TypeError);
    expect(() => queue.submitBatch(its, [1])).toThrow(TypeError);
    expect(() => queue.trySubmitBatch(its, [1])).toThrow(TypeError);
    expect(() => new Task(its)).toThrow(TypeError);
    expect(queue.pending).toBe(0);
    expect(queue.stats().workers.started).toBe(0);
  });

  test('pairs that are none are a TypeError, and nothing was taken', () => {
    const queue = queueOf(1);
    expect(() => queue.pushBatch([[(n: number) => n, 1], 5 as never])).toThrow(TypeError);
    expect(queue.pending).toBe(0);
  });

  test('functions are refused where allowFunctions is false, and modules are not', async () => {
    const queue = queueOf({ concurrency: 1, allowFunctions: false });
    expect(await errorOf(queue.run((n: number) => n, 1))).toBeInstanceOf(TypeError);
    await expect(queue.run(fixture('double.js'), 4)).resolves.toBe(8);
  });
});

describe('pairs of handler and value', () => {
  test('P2 they are one run in the queue, in order, each with its own handler', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    const slow = of('order.js', 'slow');
    const quick = of('order.js', 'quick');
    expect(
      queue.pushBatch([
        [slow, 1],
        [quick, 2],
        [slow, 3],
        [of('gate.js', 'count'), 5],
      ]),
    ).toBe(4);
    await expect(queue.run(of('order.js', 'read'))).resolves.toEqual(['+1', '-1', '+2', '-2', '+3', '-3']);
    expect(gate.ran()).toEqual({ 5: 1 });
  });
});
