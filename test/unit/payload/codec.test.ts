/** The codec case by case: forms, exactness, identity, user code met while reading, the scratch. */
import { describe, expect, it } from 'vitest';
import {
  encode,
  FORM_BYTES,
  FORM_FALSE,
  FORM_NULL,
  FORM_NUMBER,
  FORM_PLAIN,
  FORM_TEXT_1,
  FORM_TEXT_2,
  FORM_TRUE,
  FORM_UNDEFINED,
  NotPlain,
  giveScratch,
  Scratch,
  takeScratch,
} from '#payload';
import { arrive, cross, difference } from './crossing.ts';

const upTo = (count: number): number[] => Array.from({ length: count }, (_, k) => k);

const like = (value: unknown, expected: unknown = structuredClone(value)): void => {
  expect(difference(cross(value), expected)).toBeUndefined();
};

describe('the form', () => {
  it.each([
    [undefined, FORM_UNDEFINED, 0],
    [null, FORM_NULL, 0],
    [false, FORM_FALSE, 0],
    [true, FORM_TRUE, 0],
    [1.5, FORM_NUMBER, 8],
    ['', FORM_TEXT_1, 0],
    ['é\0', FORM_TEXT_1, 2],
    ['日本', FORM_TEXT_2, 4],
    [new Uint8Array(3), FORM_BYTES, 3],
    [{}, FORM_PLAIN, 2],
    [[], FORM_PLAIN, 2],
  ])('of %o says how it is stored', (value, form, length) => {
    const scratch = new Scratch();
    encode(value, scratch);
    expect([scratch.form, scratch.length]).toEqual([form, length]);
  });

  it('of an object with five short fields fits in the 40 bytes a record carries inline', () => {
    const scratch = new Scratch();
    encode({ id: 1, name: 'abc', ok: true, price: 1.5, tag: 'xyz' }, scratch);
    expect(scratch.length).toBeLessThanOrEqual(40);
  });

  it('of bytes is the caller’s own array, not a copy', () => {
    const scratch = new Scratch();
    const bytes = Buffer.from('abc');
    encode(bytes, scratch);
    expect(scratch.source).toBe(bytes);
    scratch.release();
    expect(scratch.source).not.toBe(bytes);
  });
});

describe('a value that crosses', () => {
  it('keeps numbers exact at every border of their encodings', () => {
    const edges = [0, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32, 2 ** 53, 0.1, 1.5, 1e-320, Number.MAX_VALUE, Infinity];
    like(edges.flatMap((n) => [n, -n, n + 1, n - 1, -n - 1]).concat(Number.NaN));
  });

  it.each([0, 1, 4, 5, 8, 9, 14, 15, 62, 63, 64, 95, 96, 127, 128, 5_000])(
    'keeps text of %i units, one-byte or two-byte, as value and as key',
    (n) => {
      for (const unit of ['a', '\0', 'ÿ', '日', '\ud800', '\udc00']) {
        const text = unit.repeat(n);
        like(text);
        like({ [text]: text, [`${text}日`]: `${text}日`, [`日${text}`]: `日${text}` });
      }
    },
  );

  it('keeps integer-like keys first and the others in order', () => {
    like({ b: 1, 2: 2, a: 3, 1: 4, [Symbol('ignored')]: 5 });
  });

  it('keeps `__proto__` as data and never sets a prototype', () => {
    const copy = cross(JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":2,"a":3}'));
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(Object.keys(copy)).toEqual(['__proto__', 'constructor', 'toString', 'a']);
    expect(copy.polluted).toBeUndefined();
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('is not led astray by what Object.prototype has been given', () => {
    const prototype = Object.prototype as unknown as Record<string, unknown>;
    prototype.inherited = 'not the value’s own';
    try {
      like({ own: 1 });
      like({ inherited: 1 });
      like(Object.assign([1], { inherited: 1 }));
    } finally {
      delete prototype.inherited;
    }
  });

  it('turns an object without prototype into an ordinary one', () => {
    expect(Object.getPrototypeOf(cross(Object.assign(Object.create(null), { a: 1 })))).toBe(Object.prototype);
  });

  it('keeps holes, undefined elements, and properties of arrays besides their elements', () => {
    like(Object.assign(new Array(4), { 0: undefined, 2: 1 }));
    like(new Array(4_294_967_295));
    like(Object.assign(new Array(1e9), { 999999999: 'last' }));
    like('abc'.match(/b/));
    like(Object.assign([1, 2], { extra: 1, '-1': 2, '01': 3 }));
    like(Object.assign(new Array(6), [1, 2, 3, 4, 5], { '5.0': 'as many keys as places' }));
    like(Object.defineProperty([1, 2, 3], 1, { enumerable: false }));
  });

  it('gives bytes, Buffer or slice, back in a buffer of their own and of their length', () => {
    const pooled = Buffer.from('pooled');
    const copy = cross({ pooled, at: [pooled.subarray(1, 3)], empty: new Uint8Array() });
    expect(Object.getPrototypeOf(copy.pooled)).toBe(Uint8Array.prototype);
    expect(copy.pooled.buffer.byteLength).toBe(6);
    expect(copy.pooled.buffer).toBeInstanceOf(ArrayBuffer);
    expect(Buffer.from(copy.at[0]!).toString()).toBe('oo');
    expect(copy.empty.buffer.byteLength).toBe(0);
    expect(cross(pooled)).toEqual(new Uint8Array(pooled));
    expect(cross(pooled).buffer.byteLength).toBe(6);
    expect(pooled.toString()).toBe('pooled');
  });

  it('is not deceived by properties that hide those of a Uint8Array', () => {
    const bytes = Uint8Array.of(1, 2);
    for (const name of ['length', 'byteLength', 'buffer']) Object.defineProperty(bytes, name, { value: 99 });
    expect([...cross([bytes])[0]!]).toEqual([1, 2]);
  });

  it.each([2, 15, 16, 17, 18, 500])('keeps the identity of shared objects among %i of them', (n) => {
    const objects = Array.from({ length: n }, (_, i) => ({ i }));
    like({ first: objects, again: [...objects].reverse() });
  });

  it('keeps cycles', () => {
    const ring: Record<string, unknown> = { bytes: new Uint8Array(2) };
    Object.assign(ring, { self: ring, list: [ring, ring.bytes] });
    like(ring);
    const list: unknown[] = [];
    list.push(list);
    like(list);
    const sparse: unknown[] = new Array(3);
    sparse[1] = sparse;
    like(sparse);
  });

  it('is read once, getters too', () => {
    let reads = 0;
    const counted = { get a() { return ++reads; } }; // biome-ignore format: one line says it
    const array = Object.defineProperty([0, 0], 1, { get: () => ++reads, enumerable: true });
    expect(cross(counted)).toEqual({ a: 1 });
    expect(cross(array)).toEqual([0, 2]);
    expect(reads).toBe(2);
  });
});

describe('a getter that is met', () => {
  /** The same value made twice: once for us, once for structuredClone. */
  const both = (make: () => unknown): void => {
    expect(difference(cross(make()), structuredClone(make()))).toBeUndefined();
  };

  it('may add, change and delete properties, as with structuredClone', () => {
    both(() => ({
      get a() {
        delete (this as Record<string, unknown>).b;
        Object.assign(this, { c: 'changed', d: 'added' });
        return 1;
      },
      b: 2,
      c: 3,
      toString: 4,
    }));
    both(() => ({
      get a() {
        delete (this as { toString?: unknown }).toString;
        return 1;
      },
      toString: 'deleted meanwhile, and then inherited',
    }));
  });

  it('may shorten, lengthen and empty the array it is in, as with structuredClone', () => {
    for (const change of [
      (a: unknown[]) => a.splice(1),
      (a: unknown[]) => a.push(9),
      (a: unknown[]) => delete a[2],
      (a: unknown[]) => (a[1] = 'x'),
    ])
      both(() => {
        const array: unknown[] = [0, 1, 2, 3];
        array[0] = { get x() { change(array); return 1; } }; // biome-ignore format: one line says it
        return array;
      });
  });

  it('passes its own error through, and the next value is not affected', () => {
    const scratch = new Scratch();
    const mine = new RangeError('mine');
    const value = { a: [{ get b() { throw mine; } }] }; // biome-ignore format: one line says it
    expect(() => encode(value, scratch)).toThrow(mine);
    expect(cross({ fine: [1] }, scratch)).toEqual({ fine: [1] });
  });

  it.each([{ inner: [1, 2, 3] }, 'text', '日本', Uint8Array.of(7, 8), 42, undefined])(
    'may itself encode %o, with another scratch',
    (value) => {
      const scratch = takeScratch();
      let inner: unknown;
      const outer = {
        before: 'b'.repeat(100),
        get nested() {
          const other = takeScratch();
          encode(value, other);
          inner = arrive(other);
          giveScratch(other);
          return 'x'.repeat(9_000);
        },
        after: ['a'],
      };
      encode(outer, scratch);
      expect(arrive(scratch)).toEqual({ before: 'b'.repeat(100), nested: 'x'.repeat(9_000), after: ['a'] });
      expect(inner).toEqual(value);
      giveScratch(scratch);
    },
  );

  it('may fail to encode', () => {
    const scratch = takeScratch();
    const value = {
      a: 1,
      get b() {
        const other = takeScratch();
        expect(() => encode([() => 1], other)).toThrow(NotPlain);
        giveScratch(other);
        return 2;
      },
      c: 3,
    };
    encode(value, scratch);
    expect(arrive(scratch)).toEqual({ a: 1, b: 2, c: 3 });
    giveScratch(scratch);
  });

  it('that is given back is clean, and nobody else has it', () => {
    const first = takeScratch();
    encode({ list: upTo(40), when: new Date() }, first);
    giveScratch(first);
    expect(takeScratch()).toBe(first);
    expect(takeScratch()).not.toBe(first);
    expect(first).toMatchObject({ foreign: [], count: 0, index: undefined, views: undefined, port: undefined });
    expect(first.source).toBe(first.bytes);
    giveScratch(first);
  });
});

describe('the scratch', () => {
  it('grows for a large value and lets go of the memory afterwards', () => {
    const scratch = new Scratch();
    const large = { text: 'x'.repeat(3_000_000), list: Array.from({ length: 10_000 }, (_, i) => i) };
    encode(large, scratch);
    expect(scratch.source.length).toBeGreaterThan(3_000_000);
    scratch.release();
    expect(scratch.source.length).toBeLessThan(10_000);
    encode(large, scratch);
    encode({ small: 1 }, scratch);
    expect(scratch.source.length).toBeLessThan(10_000);
  });

  it('grows at every possible place', () => {
    let closings: unknown = {};
    for (let i = 0; i < 60; i++) closings = i % 2 === 0 ? { c: closings } : [closings];
    const mixed = {
      seventh: 1.1,
      eighthly: 1.1,
      bytes: new Uint8Array(40),
      b: 1.1,
      c: ['y', -2, [3e9]],
      d: {},
      e: new Uint8Array(9),
      f: '日本',
      g: [null, undefined, true],
      h: new Array(1),
    };
    for (let n = 3_500; n < 4_100; n++) like([new Array(n).fill(1), mixed, mixed, [1.1, 1.1, 1.1, 1.1], { ...mixed }, closings]);
  });

  it('lets go of a large buffer when a value is refused half-way', () => {
    const scratch = new Scratch();
    expect(() => encode(['x'.repeat(3_000_000), () => 1], scratch)).toThrow(NotPlain);
    scratch.release();
    expect(scratch.source.length).toBeLessThan(10_000);
  });
});
