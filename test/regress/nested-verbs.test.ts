/** Verbs called while a value is being read: neither value spoils the other. Real worker threads. */
import fc from 'fast-check';
import { TaskQueue } from 'railhead';
import { afterAll, describe, expect, test } from 'vitest';
import { errorOf, fixture, of, queueOf } from '../e2e/gate.ts';
import { build, callVerb, LEAF_COUNT, moves, type Part, type Plan, POSITIONS, VERBS } from '../fixtures/nested.js';
import { within } from '../support/index.ts';
import { difference } from '../unit/payload/crossing.ts';

const echo = (value: unknown): unknown => value;

describe('16.1 a verb inside a getter', () => {
  test('leaves what the outer value has set aside', async () => {
    const queue = queueOf(1);
    const value = {
      a: new Map([[1, 2]]),
      get b() {
        queue.push(echo, new Date());
        return 2;
      },
      c: new Date(5),
    };
    await expect(queue.run(echo, value)).resolves.toEqual({ a: new Map([[1, 2]]), b: 2, c: new Date(5) });
  });

  test('leaves it also where the getter sits in a Map, or the last foreign part comes before it', async () => {
    const queue = queueOf(1);
    const holder = {
      get b() {
        queue.push(echo, new Map([[1, new Date()]]));
        return 2;
      },
    };
    await expect(queue.run(echo, { a: new Date(1), map: new Map([[1, holder]]) })).resolves.toEqual({
      a: new Date(1),
      map: new Map([[1, { b: 2 }]]),
    });
    await expect(queue.run(echo, { a: new Date(1), holder })).resolves.toEqual({ a: new Date(1), holder: { b: 2 } });
  });

  test('that throws, or sends what cannot be sent, spoils nothing', async () => {
    const queue = queueOf({ concurrency: 1, onError: () => {} });
    const value = {
      a: new Date(1),
      get b() {
        expect(() => queue.push(5 as never, new Date())).toThrow(TypeError);
        expect(queue.push(echo, { map: new Map(), bad: () => {} })).toBe(false);
        return 2;
      },
      c: new Date(5),
    };
    await expect(queue.run(echo, value)).resolves.toEqual({ a: new Date(1), b: 2, c: new Date(5) });
  });

  test('may stop the queue: the outer task is refused, what was admitted settles', async () => {
    const queue = queueOf(1);
    const first = queue.run(echo, 1);
    const error = errorOf(
      queue.run(echo, {
        a: new Date(1),
        get b() {
          void queue.stop();
          expect(queue.push(echo, new Map())).toBe(false);
          return 1;
        },
      }),
    );
    expect(await error).toMatchObject({ code: 'E_QUEUE_STOPPED' });
    await expect(first).resolves.toBe(1);
    expect(await queue.stop()).toMatchObject({ completed: 1, failed: 0, cut: 0 });
  });

  test('may define so many handlers that the outer one is forgotten: it is defined again', async () => {
    const queue = queueOf(1);
    const define = (): void => {
      for (let k = 0; k < 5_000; k++) expect(queue.pushBatch(new URL(`file:///none-${k}.js`), [])).toBe(0);
    };
    const value = {
      get b() {
        define();
        return 3;
      },
    };
    await expect(queue.run(echo, value)).resolves.toEqual({ b: 3 });
    const twice = (n: { b: number }): number => n.b * 2;
    expect(queue.pushBatch([[twice, value], [twice, value]])).toBe(2); // biome-ignore format: one line says it
    await within(queue.idle(), 'idle');
    expect(await queue.stop()).toMatchObject({ completed: 3, failed: 0 });
  });

  test('of `workerData` starts no second thread in the place of the first', async () => {
    let inner: Promise<unknown> | undefined;
    const workerData = {
      get again() {
        inner ??= queue.run(echo, new Date(2));
        return 1;
      },
    };
    const queue: TaskQueue = queueOf({ concurrency: 4, parallelism: 4, workerData });
    await expect(within(queue.run(echo, 1), 'the outer task')).resolves.toBe(1);
    await expect(within(inner as Promise<unknown>, 'the inner task')).resolves.toEqual(new Date(2));
    const { workers } = queue.stats();
    await expect(within(queue.stop(), 'stop')).resolves.toMatchObject({ completed: 2, stuck: [] });
    expect([workers.live, queue.stats().workers.live]).toEqual([workers.started, 0]);
  });

  test('of a codec gets bytes of its own, in both threads', async () => {
    const queue = queueOf({ concurrency: 1, codec: fixture('json-codec.js') });
    const seen: unknown[] = [];
    const value = {
      a: 'a',
      toJSON() {
        void queue.run(echo, { inner: 'x'.repeat(5_000) }).then((came) => seen.push(came));
        queue.push(echo, 'y'.repeat(200));
        return { a: 'a', b: 'b'.repeat(100) };
      },
    };
    await expect(queue.run(echo, value)).resolves.toEqual({ a: 'a', b: 'b'.repeat(100) });
    await within(queue.idle(), 'idle');
    expect(seen).toEqual([{ inner: 'x'.repeat(5_000) }]);
  });

  test.each(['pushBatch', 'submitBatch', 'trySubmitBatch'] as const)(
    '%s of an array whose own accessor throws takes nothing',
    async (verb) => {
      const queue = queueOf(1);
      const mine = new Error('mine');
      const values = Object.defineProperty([1, 2, 3], 2, {
        get() {
          throw mine;
        },
      });
      const batch = queue[verb].bind(queue) as (handler: typeof echo, values: unknown[]) => unknown;
      expect(() => batch(echo, values)).toThrow(mine);
      await expect(queue.run(echo, 1)).resolves.toBe(1);
      const never = errorOf(queue.run(() => new Promise(() => {})));
      expect(queue.pending).toBe(1);
      expect(await queue.stop({ timeoutMs: 0 })).toMatchObject({ completed: 1, failed: 0, cut: 1 }); // cuts what it finds written
      expect(await never).toMatchObject({ code: 'E_QUEUE_STOPPED' });
    },
  );
});

const part: fc.Arbitrary<Part> = fc.record(
  {
    leaf: fc.nat(LEAF_COUNT - 1),
    n: fc.nat(255),
    verb: fc.option(fc.constantFrom(...VERBS), { nil: undefined, freq: 3 }),
    next: fc.option(fc.constantFrom(...VERBS), { nil: undefined, freq: 1 }),
    large: fc.nat(40).map((n) => n === 0),
  },
  { requiredKeys: ['leaf', 'n', 'verb', 'next', 'large'] },
);
const plan: fc.Arbitrary<Plan> = fc.record({
  position: fc.constantFrom(...POSITIONS),
  parts: fc.array(part, { minLength: 1, maxLength: 6 }),
});
const innerOf = (n: number): unknown => ({ date: new Date(n), inner: new Map([[n, 'inner']]), list: [new Set([n])] });

describe('16.1 verbs of every kind, nested in every place of a value', () => {
  const queue = new TaskQueue({ concurrency: 1, tasksPerWorker: 4, onError: () => {} });
  afterAll(() => queue.stop({ timeoutMs: 0 }));

  test('give the worker what structuredClone makes of the value without them', async () => {
    const its = of('nested.js', 'echo');
    const agrees = async (one: Plan): Promise<void> => {
      const promises: Promise<[number, unknown]>[] = [];
      const value = build(one, (nested) => callVerb(queue, its, nested, promises));
      const transfer = moves(one, value);
      const plain = build(one);
      const expected = structuredClone(plain, { transfer: moves(one, plain) });
      const came = await queue.run(its, value, transfer.length > 0 ? { transfer } : undefined);
      expect(difference(came, expected)).toBeUndefined();
      for (const [n, inner] of await Promise.all(promises)) expect(difference(inner, innerOf(n))).toBeUndefined();
    };
    await fc.assert(fc.asyncProperty(plan, agrees), { numRuns: 300 });
  });

  test('in one batch give each value whole', async () => {
    const its = of('nested.js', 'echo');
    const both = async (first: Plan, second: Plan): Promise<void> => {
      const nest = (nested: Part): void => callVerb(queue, its, nested, []);
      const before = queue.pending;
      expect(queue.pushBatch(its, [build(first, nest), build(second, nest)])).toBe(2);
      expect(queue.pending).toBeGreaterThanOrEqual(before + 2);
      await queue.idle();
    };
    await fc.assert(fc.asyncProperty(plan, plan, both), { numRuns: 50 });
  });

  test('give the host what structuredClone makes of a result without them', async () => {
    const its = of('nested.js', 'produce');
    const agrees = async (several: Plan[]): Promise<void> => {
      const came = await Promise.all(several.map((one) => queue.run(its, one)));
      for (const [k, one] of several.entries()) expect(difference(came[k], structuredClone(build(one)))).toBeUndefined();
      const inners = (await queue.run(of('nested.js', 'produced'), undefined)) as [number, unknown][];
      for (const [n, inner] of inners) expect(difference(inner, innerOf(n))).toBeUndefined();
    };
    await fc.assert(fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 4 }), agrees), { numRuns: 100 });
  });
});
