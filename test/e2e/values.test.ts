/** Values there and back: what arrives is what was sent, or the task alone fails. Real worker threads. */
import { describe, expect, test } from 'vitest';
import { errorOf, queueOf, upTo } from './gate.ts';

const echo = (value: unknown): unknown => value;

describe('values arrive as they were sent', () => {
  const shared = { a: 1 };
  const loop: Record<string, unknown> = { name: 'loop' };
  loop.self = loop;
  const cases: [string, unknown][] = [
    ['0', 0],
    ['-0', -0],
    ['an integer', 123456],
    ['2^53', 2 ** 53],
    ['a fraction', 0.1],
    ['the smallest number', Number.MIN_VALUE],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['NaN', Number.NaN],
    ['true', true],
    ['false', false],
    ['null', null],
    ['undefined', undefined],
    ['an empty string', ''],
    ['a short string', 'railhead'],
    ['latin letters', 'größe ÿ'],
    ['wide letters', '火車 🚂'],
    ['half of a surrogate pair', 'a\ud83d'],
    ['a NUL', 'a\0b'],
    ['an empty object', {}],
    ['an object', { a: 1, b: 'two', c: [true, null, undefined], d: { e: -0 } }],
    ['an empty array', []],
    ['an array', [1, 'two', [3, [4]]]],
    // biome-ignore lint/suspicious/noSparseArray: holes are what this is about.
    ['an array with holes', [1, , 3, , ,]],
    ['a key named __proto__', JSON.parse('{"__proto__": 1, "constructor": 2}')],
    ['one object twice', [shared, shared]],
    ['a circle', loop],
    ['keys like numbers', { 2: 'b', 1: 'a', x: 'c' }],
    ['no bytes', new Uint8Array(0)],
    ['bytes', Uint8Array.from(upTo(256))],
    ['bytes inside', { bytes: Uint8Array.of(1, 2, 3) }],
    ['a bigint', -(2n ** 70n)],
    ['a Map', new Map<unknown, unknown>([[1, { a: 2 }], [{ key: true }, new Map()]])], // biome-ignore format: one line says it
    ['a Set', new Set([1, 'two', [3]])],
    ['a Date', new Date(86_400_000)],
    ['an invalid Date', new Date(Number.NaN)],
    ['a regular expression', /a(b+)\/?/giu],
    ['a boxed number', Object(5)],
    ['a boxed string', Object('text')],
    ['a floating-point array', new Float64Array([1.5, -0, Number.NaN])],
    ['big integers', new BigUint64Array([2n ** 63n])],
    ['a DataView', new DataView(new ArrayBuffer(4), 1, 2)],
    ['an ArrayBuffer', new ArrayBuffer(5)],
    ['an empty ArrayBuffer', new ArrayBuffer(0)],
    ['an object of a class', new (class Own { field = 1; })()], // biome-ignore format: one line says it
    ['an error', new TypeError('wrong', { cause: { why: 1 } })],
    ['many kinds at once', { when: new Date(1), ids: new Set([1n]), map: new Map([[loop, shared]]), loop }],
    ['nesting of 1,500 levels', upTo(1_500).reduce<unknown>((inner) => ({ inner }), 1)],
    ['40 bytes', new Uint8Array(40).fill(7)],
    ['41 bytes', new Uint8Array(41).fill(7)],
  ];
  test.each(cases)('%s', async (_what, value) => {
    const queue = queueOf(1);
    const result = await queue.run(echo, value);
    expect(result).toStrictEqual(structuredClone(value));
    expect(Object.is(result, -0)).toBe(Object.is(value, -0));
  });

  test('identity inside a value is kept, and holes stay holes', async () => {
    const queue = queueOf(1);
    const [first, second] = (await queue.run(echo, [shared, shared])) as object[];
    expect(first).toBe(second);
    const circle = (await queue.run(echo, loop)) as { self: unknown };
    expect(circle.self).toBe(circle);
    expect(1 in ((await queue.run(echo, new Array(3))) as object)).toBe(false);
  });

  test('no argument is undefined', async () => {
    const queue = queueOf(1);
    await expect(queue.run((value: unknown) => typeof value)).resolves.toBe('undefined');
  });

  test('10 MB of bytes both ways, and the sender keeps its own', async () => {
    const queue = queueOf(1);
    const bytes = new Uint8Array(10_000_000);
    for (let k = 0; k < bytes.length; k += 997) bytes[k] = k % 251;
    const result = (await queue.run(echo, bytes)) as Uint8Array;
    expect(Buffer.compare(result, bytes)).toBe(0);
    expect(bytes.length).toBe(10_000_000);
  });

  test('strings of a million characters, narrow and wide', async () => {
    const queue = queueOf(1);
    for (const text of ['x'.repeat(1_000_000), '火'.repeat(1_000_000)]) expect((await queue.run(echo, text)) === text).toBe(true);
  });

  test('many values of many sizes in flight at once do not mix', async () => {
    const queue = queueOf(2);
    const values = upTo(600).map((k) => ({ k, text: String.fromCharCode(97 + (k % 26)).repeat((k * 37) % 3_000), list: upTo(k % 50) }));
    await expect(Promise.all(values.map((value) => queue.run(echo, value)))).resolves.toEqual(values);
  });

  test('a handler may change its argument and the sender its value afterwards', async () => {
    const queue = queueOf(1);
    const value = { list: [1] };
    const result = queue.run((its: { list: number[] }) => {
      its.list.push(2);
      return its;
    }, value);
    value.list.push(3);
    await expect(result).resolves.toEqual({ list: [1, 2] });
    expect(value).toEqual({ list: [1, 3] });
  });
});

describe('what cannot be sent', () => {
  test.each([
    ['a function', () => () => 1],
    ['a symbol', () => Symbol('x')],
    ['a WeakMap', () => new WeakMap()],
    ['a function in a Map', () => new Map([[1, () => 1]])],
    ['a Proxy', () => new Proxy({}, {})],
    ['a promise inside', () => ({ later: Promise.resolve(1) })],
    ['a function deep inside', () => [{ a: { b: [() => 1] } }]],
    ['a port that is not moved', () => new MessageChannel().port1],
  ])('%s is refused as an argument, with its place', async (_what, make) => {
    const queue = queueOf(1);
    const error = await errorOf(queue.run(echo, make()));
    expect(error).toMatchObject({ name: 'RailheadError', code: 'E_ARGUMENT_CLONE' });
    expect(error.message).toContain('`value');
    await expect(queue.run(echo, 1)).resolves.toBe(1);
  });

  test.each<[string, () => unknown]>([
    ['a function', () => () => 1],
    ['a symbol', () => Symbol('x')],
    ['a WeakSet', () => new WeakSet()],
    ['a function in an instance', () => new (class Own { f = () => 1; })()], // biome-ignore format: one line says it
    ['a promise inside', () => [Promise.resolve(1)]],
    ['a Proxy', () => new Proxy({}, {})],
    [
      'a getter that throws',
      () => ({
        get field() {
          throw new Error('no reading');
        },
      }),
    ],
  ])('B56 %s is refused as a result, and its worker goes on', async (_what, make) => {
    const queue = queueOf(1);
    const error = await errorOf(queue.run(make as () => unknown, undefined));
    expect(error).toMatchObject({ name: 'RailheadError', code: 'E_RESULT_CLONE' });
    await expect(queue.run((_: undefined, task) => task.workerId, undefined)).resolves.toBe(1);
    expect(queue.stats().workers.started).toBe(1);
  });

  test('B56 a hundred of each leave the worker as it was', async () => {
    const queue = queueOf(1);
    const results = upTo(100).flatMap((k) => [queue.run(echo, () => k), queue.run((n: number) => () => n, k as never), queue.run(echo, k)]);
    const settled = await Promise.allSettled(results);
    const codes = settled.map((each) => (each.status === 'rejected' ? each.reason.code : each.value));
    expect(codes).toEqual(upTo(100).flatMap((k) => ['E_ARGUMENT_CLONE', 'E_RESULT_CLONE', k]));
    expect(queue.stats().workers.started).toBe(1);
  });

  test('a pushed task’s result is not looked at', async () => {
    const queue = queueOf({ concurrency: 1, onError: (error) => expect(error).toBeUndefined() });
    queue.push(() => () => 1);
    await queue.idle();
    expect(queue.stats()).toMatchObject({ completed: 1, failed: 0 });
  });

  test('maxPayloadBytes bounds argument and result', async () => {
    const queue = queueOf({ concurrency: 1, maxPayloadBytes: 1_000 });
    await expect(queue.run(echo, 'x'.repeat(900))).resolves.toHaveLength(900);
    expect(await errorOf(queue.run(echo, 'x'.repeat(1_001)))).toMatchObject({ code: 'E_TOO_LARGE' });
    expect(await errorOf(queue.run(() => 'x'.repeat(1_001)))).toMatchObject({ code: 'E_TOO_LARGE' });
    expect(queue.push(echo, 'x')).toBe(true);
    await expect(queue.run(echo, 1)).resolves.toBe(1);
  });

  test('an error that cannot be sent whole still arrives as an error', async () => {
    const queue = queueOf(1);
    const failed = await errorOf(
      queue.run(() => {
        throw Object.assign(new RangeError('mine'), { bad: () => 1, good: 2 });
      }),
    );
    expect(failed).toBeInstanceOf(RangeError);
    expect(failed).toMatchObject({ message: 'mine', good: 2 });
  });
});
