/** What the codec refuses, and how it says so. */
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { encode, NotPlain, Scratch } from '#payload';
import { cross, difference } from './crossing.ts';

function refusal(value: unknown): NotPlain {
  try {
    encode(value, new Scratch());
  } catch (error) {
    if (error instanceof NotPlain) return error;
    throw error;
  }
  throw new Error('it was taken');
}

const like = (value: unknown, expected: unknown = structuredClone(value)): void => {
  expect(difference(cross(value), expected)).toBeUndefined();
};

describe('a refusal', () => {
  class Point {
    x = 1;
  }
  const detached = new Uint8Array(4);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });

  it.each([
    [() => 1, 'a function'],
    [Symbol('s'), 'a symbol'],
    [1n, 'a bigint'],
    [new Point(), 'an instance of Point'],
    [new (class extends Array {})(), 'an instance of a class without name'],
    [new (class Bytes extends Uint8Array {})(1), 'an instance of Bytes'],
    [new Date(), 'an instance of Date'],
    [new Map(), 'an instance of Map'],
    [new Set(), 'an instance of Set'],
    [/x/, 'an instance of RegExp'],
    [new TypeError('t'), 'an instance of TypeError'],
    [new Uint16Array(1), 'an instance of Uint16Array'],
    [new ArrayBuffer(1), 'an instance of ArrayBuffer'],
    [new SharedArrayBuffer(1), 'an instance of SharedArrayBuffer'],
    [new DataView(new ArrayBuffer(1)), 'an instance of DataView'],
    [Promise.resolve(), 'an instance of Promise'],
    [new WeakMap(), 'an instance of WeakMap'],
    [Object(1), 'an instance of Number'],
    [Object('s'), 'an instance of String'],
    [new Proxy({}, {}), 'a Proxy'],
    [new Proxy([], {}), 'a Proxy'],
    [Proxy.revocable({}, {}).proxy, 'a Proxy'],
    [new Uint8Array(new SharedArrayBuffer(4)), 'a Uint8Array over a SharedArrayBuffer'],
    [detached, 'a detached Uint8Array'],
    [Object.create({}), 'an object with a prototype of its own'],
    [Object.create(new Proxy({}, {})), 'an object of an unknown class'],
    [runInNewContext('[]'), 'an instance of Array'],
    [Object.setPrototypeOf([], null), 'an object of an unknown class'],
  ])('of %o says what it is, at the root and inside', (value, what) => {
    expect(refusal(value).message).toBe(`\`value\` is ${what}, which cannot be sent`);
    expect(refusal({ a: [0, { b: value }] }).message).toBe(`\`value.a[1].b\` is ${what}, which cannot be sent`);
    expect(refusal({ 'two words': value }).path).toBe('value["two words"]');
    expect(refusal(Object.assign([1], { extra: value })).path).toBe('value.extra');
  });

  it('runs no code of the value while describing it', () => {
    const never = (): never => {
      throw new Error('user code ran');
    };
    const trap = new Proxy({}, { get: never, getPrototypeOf: never, ownKeys: never, getOwnPropertyDescriptor: never });
    const named = Object.defineProperty(class {}, 'name', { get: never });
    const made = Object.create(Object.defineProperty({}, 'constructor', { get: never }));
    for (const value of [trap, new named(), made, Object.create({ constructor: trap })]) expect(refusal([value]).path).toBe('value[0]');
  });

  it('cuts long names and deep paths', () => {
    let value: unknown = Symbol('deep');
    for (let i = 0; i < 500; i++) value = { ['k'.repeat(1_000)]: value };
    expect(refusal(value).message.length).toBeLessThan(2_000);
    expect(refusal(value).path.endsWith('…')).toBe(true);
  });

  it('is the answer to deep nesting, and the scratch is good afterwards', () => {
    const nest = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
      let value: unknown = 1;
      for (let i = 0; i < levels; i++) value = wrap(value);
      return value;
    };
    for (const wrap of [(v: unknown) => [v], (v: unknown) => ({ v }), (v: unknown) => Object.assign(new Array(1), { v })]) {
      like(nest(1_000, wrap));
      for (const levels of [1_001, 100_000])
        expect(refusal(nest(levels, wrap)).message).toMatch(/^`value.*…` is nested too deeply, which cannot be sent$/);
    }
  });
});
