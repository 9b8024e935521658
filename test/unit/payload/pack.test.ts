/** How values travel that the fast codec does not carry: which form they take, what is read how often, what is moved. */
import { createSecretKey } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { type Codec, FORM_BYTES, FORM_CODEC, FORM_PLAIN, FORM_PORT, FORM_V8, move, pack, Scratch, TooLarge } from '#payload';
import { arrive, cross, PLAIN_PACKING } from './crossing.ts';

/** The form, and what arrives. */
function sent(value: unknown, transfer?: readonly (ArrayBuffer | MessagePort)[]): [form: number, value: unknown] {
  const scratch = new Scratch();
  pack(value, scratch, PLAIN_PACKING, transfer);
  return [scratch.form, arrive(scratch)];
}

describe('the form', () => {
  it('of an instance is plain once it is cloned', () => {
    class Point {
      x = 1;
    }
    expect(sent({ at: new Point() })).toEqual([FORM_PLAIN, { at: { x: 1 } }]);
  });

  it('of other kinds of the language is v8', () => {
    for (const value of [new Map([[1, { a: new Date(0) }]]), [1n], new Float32Array(2), new Error('e')]) {
      const [form, copy] = sent(value);
      expect(form).toBe(FORM_V8);
      expect(copy).toEqual(structuredClone(value));
    }
  });

  it("of Node's own objects and of shared memory is a port", async () => {
    const shared = new SharedArrayBuffer(4);
    const [form, copy] = sent({ blob: new Blob(['text']), key: createSecretKey(Buffer.from('k')), bytes: new Uint8Array(shared) });
    const { blob, key, bytes } = copy as { blob: Blob; key: { export(): Buffer }; bytes: Uint8Array };
    expect(form).toBe(FORM_PORT);
    expect(await blob.text()).toBe('text');
    expect(key.export().toString()).toBe('k');
    bytes[0] = 9;
    expect(new Uint8Array(shared)[0]).toBe(9);
  });

  it('of anything above 1 MiB is a port', () => {
    const large = ['x'.repeat(2 ** 20 + 1), '日'.repeat(2 ** 20), new Uint8Array(2 ** 20 + 1).fill(3), { a: 'y'.repeat(2 ** 21) }];
    for (const value of [...large, new Float64Array(2 ** 18), new Map([[1, large]])]) {
      const [form, copy] = sent(value);
      expect(form).toBe(FORM_PORT);
      expect(isDeepStrictEqual(copy, value)).toBe(true); // vitest takes seconds for so much
    }
    expect(sent(new Uint8Array(2 ** 20))[0]).toBe(FORM_BYTES);
  });
});

describe('views of one buffer', () => {
  it('stay views of one buffer, of whatever kinds they are', () => {
    const buffer = new ArrayBuffer(8);
    const copy = cross({ a: new Uint8Array(buffer, 0, 4), b: [new Uint8Array(buffer)], c: new Int16Array(buffer, 2, 1), buffer });
    copy.a[2] = 1;
    expect(copy.b[0]![2]).toBe(1);
    expect(copy.c[0]).toBe(1);
    expect(copy.a.buffer).toBe(copy.buffer);
  });

  it('that are Buffers, which share a pool by chance, get buffers of their own', () => {
    const { a, b } = cross({ a: Buffer.from('one'), b: Buffer.from('two') });
    expect([a.buffer.byteLength, b.buffer.byteLength]).toEqual([3, 3]);
  });
});

describe('a getter', () => {
  const counted = (extra: object): { value: Record<string, unknown>; reads: () => number } => {
    let reads = 0;
    const value = { before: [1], get got() { return ++reads; }, ...extra, after: { deep: true } }; // biome-ignore format: one line says it
    Object.defineProperty(value, 'got', { get: () => ++reads, enumerable: true });
    return { value, reads: () => reads };
  };

  it.each([
    ['a Map', () => new Map([[1, 2]])],
    ['a bigint', () => 5n],
    ['an instance', () => new (class A { a = 1; })()], // biome-ignore format: one line says it
    ['shared memory', () => new SharedArrayBuffer(2)],
    ['deep nesting', () => Array.from({ length: 1_200 }).reduce<unknown>((inner) => [inner], 1)],
  ])('runs once beside %s', (_, make) => {
    const { value, reads } = counted({ other: make() });
    expect(cross(value)).toEqual({ before: [1], got: 1, other: structuredClone(make()), after: { deep: true } });
    expect(reads()).toBe(1);
  });

  it('runs once inside an instance, a Map or an error', () => {
    let reads = 0;
    class Lazy {
      constructor() {
        Object.defineProperty(this, 'got', { get: () => ++reads, enumerable: true });
      }
    }
    expect(cross(new Lazy())).toEqual({ got: 1 });
    expect(cross(new Map([['k', new Lazy()]]))).toEqual(new Map([['k', { got: 2 }]]));
    expect(cross(new Error('e', { cause: new Lazy() })).cause).toEqual({ got: 3 });
  });

  it('keeps what is shared and circular around it', () => {
    const { value } = counted({ when: new Date(1) });
    Object.assign(value, { self: value, again: value.before });
    const copy = cross(value);
    expect(copy.self).toBe(copy);
    expect(copy.again).toBe(copy.before);
  });

  it('that throws beside another kind passes its error through', () => {
    const mine = new Error('mine');
    expect(() => cross({ when: new Date(), get bad() { throw mine; } })).toThrow(mine); // biome-ignore format: one line says it
  });
});

describe('what is moved', () => {
  it('is detached here and whole there, copied or in a port', () => {
    for (const size of [16, 32 * 1024, 32 * 1024 + 1, 2 ** 21]) {
      const bytes = new Uint8Array(size).fill(5);
      const [form, copy] = sent({ bytes, n: 1 }, [bytes.buffer]);
      expect(bytes.byteLength).toBe(0);
      expect(form).toBe(size > 32 * 1024 ? FORM_PORT : FORM_PLAIN);
      expect(isDeepStrictEqual(copy, { bytes: new Uint8Array(size).fill(5), n: 1 })).toBe(true);
    }
  });

  it('is still here when the value or the list is refused', () => {
    const { port1 } = new MessageChannel();
    for (const size of [16, 2 ** 20]) {
      const buffer = new ArrayBuffer(size);
      expect(() => sent({ buffer, f: () => 1 }, [buffer])).toThrow();
      expect(() => sent({ buffer }, [buffer, buffer])).toThrow();
      expect(() => sent({ buffer }, [buffer, {} as never])).toThrow();
      expect(() => sent({ buffer, f: () => 1 }, [buffer, port1])).toThrow();
      expect(buffer.byteLength).toBe(size);
    }
    port1.close();
  });

  it('may be a port, and messages reach it', async () => {
    const { port1, port2 } = new MessageChannel();
    const [form, copy] = sent({ port: port2 }, [port2]);
    expect(form).toBe(FORM_PORT);
    const heard = new Promise((resolve) => port1.once('message', resolve));
    (copy as { port: MessagePort }).port.postMessage('hello');
    expect(await heard).toBe('hello');
    port1.close();
  });

  it('is what `move` names, or the whole value itself, but never a slice of a pool', () => {
    const whole = new Uint8Array(8);
    expect(cross(move(whole))).toEqual(new Uint8Array(8));
    expect(whole.byteLength).toBe(0);
    const named = { a: new ArrayBuffer(4) };
    expect(cross(move(named, [named.a]))).toEqual({ a: new ArrayBuffer(4) });
    expect(named.a.byteLength).toBe(0);
    const [slice, other] = [Buffer.from('x'), Buffer.from('y')];
    expect(Buffer.from(cross(move(slice))).toString()).toBe('x');
    expect([slice.toString(), other.toString()]).toEqual(['x', 'y']);
    expect(cross(move(42))).toBe(42);
  });

  it('may be marked and named at once', () => {
    const [a, b] = [new Uint8Array(4), new Uint8Array(4)];
    expect(sent(move({ a, b }, [a.buffer]), [b.buffer, a.buffer])[1]).toEqual({ a: new Uint8Array(4), b: new Uint8Array(4) });
    expect([a.byteLength, b.byteLength]).toEqual([0, 0]);
  });

  it('is marked as a whole: `move` inside a value is refused, and so is a list that is none', () => {
    expect(() => cross({ part: move(new ArrayBuffer(1)) })).toThrow(/marked by `move`/);
    expect(() => move(1, 'x' as never)).toThrow(TypeError);
  });
});

describe('a value beyond the limit', () => {
  const packing = { most: 1_000, codec: undefined };
  it.each<[string, unknown]>([
    ['bytes', new Uint8Array(1_001)],
    ['text', 'x'.repeat(1_001)],
    ['two-byte text', '日'.repeat(501)],
    ['a tree', { a: ['x'.repeat(500), 'y'.repeat(600)] }],
    ['bytes in a tree', [new Uint8Array(1_001)]],
    ['a Map', new Map([['k', 'x'.repeat(1_001)]])],
    ['a buffer', new ArrayBuffer(1_001)],
    ['shared memory', new SharedArrayBuffer(1_001)],
  ])('is refused: %s', (_, value) => {
    const scratch = new Scratch();
    expect(() => pack(value, scratch, packing)).toThrow(TooLarge);
    expect(scratch.port).toBeUndefined();
    pack('fine', scratch, packing);
    expect(arrive(scratch)).toBe('fine');
  });

  it('is refused before it is copied, and nothing is detached', () => {
    const buffer = new ArrayBuffer(2 ** 31 + 1); // of pages that nobody has touched
    const before = process.memoryUsage().rss;
    const limit = { most: 2 ** 31 - 1, codec: undefined };
    for (const value of [buffer, new Uint8Array(buffer), { bytes: new Uint8Array(buffer) }, new Map([[1, buffer]])]) {
      expect(() => pack(value, new Scratch(), limit)).toThrow(TooLarge);
    }
    expect(() => pack(buffer, new Scratch(), limit, [buffer])).toThrow(TooLarge);
    expect(buffer.byteLength).toBe(2 ** 31 + 1);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20);
  });
});

describe('a codec of the user’s own', () => {
  const codec: Codec = {
    serialize: (value) => Buffer.from(JSON.stringify(value)),
    deserialize: (bytes) => JSON.parse(Buffer.from(bytes).toString()),
  };

  it('writes the bytes, and they arrive as a copy', () => {
    const scratch = new Scratch();
    pack({ a: 1 }, scratch, { most: 100, codec });
    expect(scratch.form).toBe(FORM_CODEC);
    expect(codec.deserialize((arrive(scratch) as { bytes: Uint8Array }).bytes)).toEqual({ a: 1 });
    expect(() => pack('x'.repeat(200), scratch, { most: 100, codec })).toThrow(TooLarge);
  });

  it('that throws, or gives no bytes, says so', () => {
    const mine = new Error('mine');
    const broken = { ...codec, serialize: () => { throw mine; } }; // biome-ignore format: one line says it
    expect(() => pack(1, new Scratch(), { most: 100, codec: broken })).toThrow(expect.objectContaining({ cause: mine }));
    const wrong = { ...codec, serialize: () => 'text' as never };
    expect(() => pack(1, new Scratch(), { most: 100, codec: wrong })).toThrow(/Expected `serialize` of the codec to return a Uint8Array/);
  });
});
