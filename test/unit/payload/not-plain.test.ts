/** What cannot be sent, and how that is said. */
import { createRequire } from 'node:module';
import { runInThisContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { NotPlain, pack, Scratch } from '#payload';
import { cross, difference, PLAIN_PACKING } from './crossing.ts';

function refusal(value: unknown): NotPlain {
  try {
    pack(value, new Scratch(), PLAIN_PACKING);
  } catch (error) {
    if (error instanceof NotPlain) return error;
    throw error;
  }
  throw new Error('it was taken');
}

describe('a refusal', () => {
  class Point {
    x = 1;
  }
  const detached = new Uint8Array(4);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });

  it.each<[string, unknown]>([
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a Proxy', new Proxy({}, {})],
    ['a Proxy', new Proxy([], {})],
    ['a Proxy', Proxy.revocable({}, {}).proxy],
    ['an instance of Promise', Promise.resolve()],
    ['an instance of WeakMap', new WeakMap()],
    ['an instance of Symbol', Object(Symbol('s'))],
    ['an instance of Uint8Array', detached],
    ['an object of an unknown class', Object.create(new Proxy({ m: new WeakMap() }, {}), { f: { value: () => 1, enumerable: true } })],
    ['an instance of Point', Object.assign(new Point(), { f() {} })],
    ['an instance of Map', new Map([[1, () => 1]])],
    ['an instance of MessagePort', new MessageChannel().port1],
  ])('of %s says what it is, at the root and inside', (what, value: unknown) => {
    const says = `is ${what}, which cannot be sent`;
    expect(refusal(value).message.startsWith(`\`value\` ${says}`)).toBe(true);
    expect(refusal({ a: [0, { b: value }] }).message.startsWith(`\`value.a[1].b\` ${says}`)).toBe(true);
    expect(refusal({ 'two words': value }).path).toBe('value["two words"]');
    expect(refusal(Object.assign([1], { extra: value })).path).toBe('value.extra');
  });

  it('of arguments and of a module says what they are', () => {
    const given = runInThisContext('(function () { return arguments; })(1)');
    expect(refusal(given).message).toMatch(/is an arguments object/);
    expect(refusal({ base: createRequire(import.meta.url)('#base') }).message).toMatch(/^`value.base` is a module namespace/);
  });

  it('runs no code of the value while describing it', () => {
    const never = (): never => {
      throw new Error('user code ran');
    };
    const trap = new Proxy({}, { get: never, getPrototypeOf: never, ownKeys: never, getOwnPropertyDescriptor: never });
    const named = Object.defineProperty(class {}, 'name', { get: never });
    const made = Object.create(Object.defineProperty({}, 'constructor', { get: never }));
    for (const value of [trap, new named(), made, Object.create({ constructor: trap })]) {
      if (value !== trap) value.f = () => 1;
      expect(refusal([value]).path).toBe('value[0]');
    }
  });

  it('cuts long names and deep paths', () => {
    let value: unknown = Symbol('deep');
    for (let i = 0; i < 500; i++) value = { ['k'.repeat(1_000)]: value };
    expect(refusal(value).message.length).toBeLessThan(2_000);
    expect(refusal(value).path.endsWith('…')).toBe(true);
  });

  it('is not the answer to deep nesting, and the scratch is good afterwards', () => {
    const nest = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
      let value: unknown = 1;
      for (let i = 0; i < levels; i++) value = wrap(value);
      return value;
    };
    const scratch = new Scratch();
    for (const wrap of [(v: unknown) => [v], (v: unknown) => ({ v }), (v: unknown) => Object.assign(new Array(1), { v })]) {
      for (const levels of [1_000, 1_001, 1_500]) {
        const value = nest(levels, wrap);
        expect(difference(cross(value, scratch), structuredClone(value))).toBeUndefined();
      }
      expect(() => cross(nest(100_000, wrap), scratch)).toThrow(RangeError);
      expect(cross([1], scratch)).toEqual([1]);
    }
  });
});
