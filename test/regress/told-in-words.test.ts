/**
 * What is told about values and deaths, in words a user can act on; and values of odd kinds. Real worker threads. Other deaths:
 * test/unit/queue/deaths.test.ts.
 */
import { move } from 'railhead/worker';
import { describe, expect, test } from 'vitest';
import { errorOf, of, queueOf } from '../e2e/gate.ts';

const echo = (value: unknown): unknown => value;

describe('18.4 a value that cannot be sent', () => {
  const throwing = (thrown: unknown): unknown => ({
    get field() {
      throw thrown;
    },
  });
  test.each(['too far', 'Invalid array length'])('because a getter threw a RangeError of its own says so: %s', async (message) => {
    const mine = new RangeError(message);
    const error = await errorOf(queueOf(1).run(echo, throwing(mine)));
    expect(error.message).toMatch(/cannot be sent: a getter of the value threw$/);
    expect(error.cause).toBe(mine);
  });

  test('because a getter threw an error that cannot be read says so too', async () => {
    const odd = Object.defineProperty(new RangeError(), 'message', {
      get() {
        throw new Error('no reading');
      },
    });
    expect((await errorOf(queueOf(1).run(echo, throwing(odd)))).message).toMatch(/a getter of the value threw$/);
  });

  test('because it is nested too deeply says that', async () => {
    let deep: unknown = 1;
    for (let k = 0; k < 100_000; k++) deep = [deep];
    expect((await errorOf(queueOf(1).run(echo, deep))).message).toMatch(/it is nested too deeply, or a getter of it calls itself/);
  });

  test('nor a result, for the same reasons', async () => {
    const bad = (): unknown => ({
      get field() {
        throw new RangeError('too far');
      },
    });
    expect((await errorOf(queueOf(1).run(bad))).message).toMatch(/a getter of the result threw$/);
  });
});

test('18.4 an error whose message cannot be read says that, and keeps its class', async () => {
  const bad = (): never => {
    throw Object.defineProperty(new TypeError(), 'message', {
      get() {
        throw new Error('no reading');
      },
    });
  };
  const error = await errorOf(queueOf(1).run(bad));
  expect(error).toBeInstanceOf(TypeError);
  expect(error.message).toBe('The message of this error could not be read: its getter threw');
});

describe('18.4 a view of a resizable buffer', () => {
  const kinds = [
    ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
    ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array, DataView],
  ] as (new (
    buffer: ArrayBuffer,
    offset?: number,
    length?: number,
  ) => ArrayBufferView)[];
  type View = ArrayBufferView & { readonly buffer: ArrayBuffer & { readonly maxByteLength: number; resize(bytes: number): void } };
  const resizable = (): ArrayBuffer => {
    const buffer = new ArrayBuffer(32, { maxByteLength: 64 } as never);
    new Uint8Array(buffer).set([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    return buffer;
  };
  /** What can be seen of a view, before and after its buffer has grown and shrunk. */
  const seen = (view: View): unknown[] => {
    const all: unknown[] = [Object.getPrototypeOf(view).constructor.name, view.buffer.maxByteLength];
    for (const bytes of [32, 64, 48, 24]) {
      view.buffer.resize(bytes);
      all.push([view.byteLength, view.byteOffset, ...new Uint8Array(view.buffer)]);
    }
    return all;
  };
  const views = (Kind: (typeof kinds)[number]): ArrayBufferView[] => [
    new Kind(resizable()), // its length follows
    new Kind(resizable(), 8),
    new Kind(resizable(), 8, 2),
  ];

  test.each(kinds.map((Kind) => [Kind.name, Kind] as const))(
    'stays that, and follows its length as after structuredClone: %s',
    async (_name, Kind) => {
      const queue = queueOf(1);
      for (const wrap of [(view: unknown) => [view], (view: unknown) => ({ a: [1, view] }), (view: unknown) => new Map([[1, view]])]) {
        for (const view of views(Kind)) {
          const find = (held: unknown): View =>
            Array.isArray(held) ? held[0] : held instanceof Map ? held.get(1) : (held as { a: [number, View] }).a[1];
          const expected = seen(find(structuredClone(wrap(view))));
          expect(seen(find(await queue.run(echo, wrap(view))))).toEqual(expected);
        }
      }
      for (const view of views(Kind)) expect(seen((await queue.run(echo, view)) as View)).toEqual(seen(structuredClone(view) as View));
      for (const view of views(Kind)) {
        const expected = seen(structuredClone(view) as View);
        expect(seen((await queue.run(echo, view, { transfer: [view.buffer as ArrayBuffer] })) as View)).toEqual(expected);
        expect(view.buffer.byteLength).toBe(0);
      }
    },
  );

  test('and a Buffer over one, two views of one, and a large one', async () => {
    const queue = queueOf(1);
    const buffer = resizable();
    const [one, two] = (await queue.run(echo, [new Uint8Array(buffer), new Uint8Array(buffer, 4)])) as [View, View];
    expect(one.buffer).toBe(two.buffer);
    expect(seen(two)).toEqual(seen(structuredClone(new Uint8Array(buffer, 4)) as never));
    expect(seen((await queue.run(echo, Buffer.from(resizable()))) as View)).toEqual(
      seen(structuredClone(Buffer.from(resizable())) as never),
    );
    const large = new Uint8Array(new ArrayBuffer(3_000_000, { maxByteLength: 4_000_000 } as never));
    const came = (await queue.run(echo, large)) as View;
    came.buffer.resize(4_000_000);
    expect(came.byteLength).toBe(4_000_000);
  });
});

describe('18.4 what is marked twice by `move` is moved once', () => {
  test('as an argument', async () => {
    const queue = queueOf(1);
    const small = new ArrayBuffer(4);
    await expect(queue.run(echo, move(move(small)))).resolves.toEqual(new ArrayBuffer(4));
    expect(small.byteLength).toBe(0);
    const [first, second] = [new Uint8Array(100_000), new Uint8Array(9)];
    const both = move(move({ first, second }, [first.buffer]), [second.buffer]);
    await expect(queue.run(echo, both)).resolves.toEqual({ first: new Uint8Array(100_000), second: new Uint8Array(9) });
    expect([first.length, second.length]).toEqual([0, 0]);
  });

  test('as a result', async () => {
    await expect(queueOf(1).run(of('moves.js', 'twice'), 5)).resolves.toEqual(new Uint8Array(5));
  });
});

describe('18.4 the death of a worker is told in a sentence', () => {
  test('by process.exit', async () => {
    const error = await errorOf(queueOf(1).run(function leave() { process.exit(3); })); // biome-ignore format: one line says it
    expect(error).toMatchObject({ reason: 'exit', exitCode: 3 });
    expect(error.message).toBe('Worker 1 ended itself (`process.exit`) with exit code 3 while it ran a task of handler `leave`');
  });

  test('by an error that nothing caught', async () => {
    const queue = queueOf({ concurrency: 1, graceMs: 1, onError: () => {} });
    const crash = (): Promise<never> => {
      setTimeout(() => {
        throw new Error('leaked');
      });
      return new Promise(() => {});
    };
    const error = await errorOf(queue.run(crash));
    expect(error).toMatchObject({ reason: 'crash' });
    expect(error.message).toBe('Worker 1 was ended by an error that nothing caught (leaked) while it ran a task of handler `crash`');
  });

  test('and when its task was to run again, that the argument is gone', async () => {
    const dies = (_value: unknown, task?: { attempt: number }): number => (task?.attempt === 1 ? process.exit(1) : 5);
    const queue = queueOf(1);
    const bytes = new Uint8Array(200_000);
    const error = await errorOf(queue.run(dies as never, bytes, { transfer: [bytes.buffer], onCrash: { retry: 2 } }));
    expect(error.message).toContain('handler `dies`. It did not run again: its argument was transferred to that worker and is gone');
    await expect(queue.run(dies as never, 'small', { onCrash: { retry: 2 } })).resolves.toBe(5);
    expect((await errorOf(queue.run(dies as never, new Uint8Array(200_000)))).message).not.toContain('gone');
  });
});
