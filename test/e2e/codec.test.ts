/** The option `codec`: a module of the user's own carries the values, in both threads. Real worker threads. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { move, TaskQueue } from 'railhead';
import { describe, expect, test } from 'vitest';
import { inChild } from '../support/index.ts';
import { errorOf, fixture, queueOf, upTo } from './gate.ts';

const url = fixture('json-codec.js');
/** As Node loads it: vitest would make a copy. */
const { calls } = createRequire(import.meta.url)(fileURLToPath(url)) as {
  calls: { serialize: number; deserialize: number; inside: number; depth: number };
};
const echo = (value: unknown): unknown => value;

describe('a codec', () => {
  test('carries arguments and results, small, large and huge', async () => {
    const queue = queueOf({ concurrency: 1, codec: url });
    const before = { ...calls };
    await expect(queue.run(echo, { big: 5n, gone: undefined, date: new Date(0) })).resolves.toEqual({
      big: '5n',
      date: '1970-01-01T00:00:00.000Z',
    });
    expect([calls.serialize - before.serialize, calls.deserialize - before.deserialize]).toEqual([1, 1]);
    for (const length of [10, 1_000, 200_000, 3_000_000]) await expect(queue.run(echo, 'x'.repeat(length))).resolves.toHaveLength(length);
    await expect(Promise.all(upTo(500).map((k) => queue.run(echo, { k })))).resolves.toEqual(upTo(500).map((k) => ({ k })));
  });

  test.each([
    ['argument out', 'E_ARGUMENT_CLONE', 'no writing'],
    ['argument in', 'E_ARGUMENT_CLONE', 'no reading'],
    ['result out', 'E_RESULT_CLONE', 'no writing'],
    ['result in', 'E_RESULT_CLONE', 'no reading'],
  ])('that throws fails only its task: %s', async (trap, code, message) => {
    const queue = queueOf({ concurrency: 1, codec: url });
    const make = (value: { trap: string }): unknown => (value.trap.startsWith('make') ? { trap: value.trap.slice(5) } : 'fine');
    const given = { trap: trap.startsWith('result') ? `make ${trap}` : trap };
    const others = [queue.run(echo, 1), queue.run(make, given).catch((error) => error), queue.run(echo, 2)];
    const [one, error, two] = await Promise.all(others);
    expect([one, two]).toEqual([1, 2]);
    expect(error).toMatchObject({ name: 'RailheadError', code, cause: { message } });
    expect(queue.stats()).toMatchObject({ completed: 2, pending: 0, workers: { started: 1 } });
  });

  test('that gives no bytes fails the task, and so does a result beyond the limit', async () => {
    const queue = queueOf({ concurrency: 1, codec: url, maxPayloadBytes: 100 });
    expect(await errorOf(queue.run(echo, { trap: 'no bytes' }))).toMatchObject({ code: 'E_ARGUMENT_CLONE' });
    expect(await errorOf(queue.run((n: number) => 'x'.repeat(n), 101))).toMatchObject({ code: 'E_TOO_LARGE' });
    expect(await errorOf(queue.run(echo, 'x'.repeat(101)))).toMatchObject({ code: 'E_TOO_LARGE' });
  });

  test('reads results in the drain tick, never inside a verb', async () => {
    const queue = queueOf({ concurrency: 1, codec: url, maxPending: 4 });
    await queue.warm(1);
    const first = upTo(4).map((k) => queue.run(echo, k));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200); // all four have settled, and nothing was read
    const inside = calls.inside;
    calls.depth++;
    const read = calls.deserialize;
    const fifth = queue.run(echo, 5).catch((error) => error.code); // full: it drains first
    expect(calls.deserialize).toBe(read);
    calls.depth--;
    expect(await Promise.all(first)).toEqual(upTo(4));
    await fifth;
    await queue.idle();
    expect(calls.inside).toBe(inside);
  });

  test('does not see errors, or what is moved', async () => {
    const queue = queueOf({ concurrency: 1, codec: url });
    const failed = await errorOf(
      queue.run(() => {
        throw new RangeError('mine');
      }),
    );
    expect(failed).toBeInstanceOf(RangeError);
    const bytes = new Uint8Array(100_000);
    await expect(queue.run((b: Uint8Array) => b.byteLength, move(bytes))).resolves.toBe(100_000);
    expect(bytes.byteLength).toBe(0);
  });

  test('that cannot be used is refused by the constructor', () => {
    expect(() => new TaskQueue({ codec: fixture('half-codec.js') })).toThrow(
      /Expected the codec module .* to export a function `deserialize`, got/,
    );
    expect(() => new TaskQueue({ codec: fixture('never-loads.js') })).toThrow(TypeError);
    expect(() => new TaskQueue({ codec: pathToFileURL(join(import.meta.dirname, 'not-there.js')) })).toThrow(/not-there/);
    expect(() => new TaskQueue({ codec: 'text' as never })).toThrow(TypeError);
  });
});

test('a queue with a codec lets the process exit once its results are read', async () => {
  const codec =
    "import { deserialize as read, serialize as write } from 'node:v8';\nexport const serialize = (value) => write(value);\nexport const deserialize = (bytes) => read(bytes);";
  const code = `
    import { TaskQueue } from 'railhead';
    const queue = new TaskQueue({ concurrency: 2, codec: new URL('./codec.js', import.meta.url) });
    for (let k = 0; k < 50; k++) void queue.run((n) => n, k).then((n) => n === 49 && console.log('last'));
  `;
  const { code: status, stdout, stderr } = await inChild(code, [], { files: { 'codec.js': codec } });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'last\n', stderr: '' });
});
