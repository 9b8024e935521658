/** Values in one line, for error messages. */
import { describe, expect, it } from 'vitest';
import { got, readable } from '#base';

const boom = (): never => {
  throw new Error('trap');
};

describe('readable', () => {
  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'true'],
    [0, '0'],
    [-0, '-0'],
    [Number.NaN, 'NaN'],
    [10n, '10n'],
    [1n << 100n, 'a large bigint'],
    ['', '""'],
    ['a"b\n', '"a\\"b\\n"'],
    ['x'.repeat(1000), `"${'x'.repeat(60)}…"`],
    [Symbol('s\n'), 'Symbol(s\\n)'],
    [Symbol.iterator, 'Symbol(Symbol.iterator)'],
    [() => 1, 'a function'],
    [class Foo {}, 'function Foo'],
    [[], '[]'],
    [[1, 'a', [2], 3], '[1, "a", […], …]'],
    [{}, '{}'],
    [{ a: 1, b: { c: 2 } }, '{ a: 1, b: {…} }'],
    [{ a: 1, b: 2, c: 3, d: 4 }, '{ a: 1, b: 2, c: 3, … }'],
    [Object.create(null), '{}'],
    [new Map(), 'an instance of Map'],
    [new Date(Number.NaN), 'an instance of Date'],
    [new TypeError('no\ngood'), 'TypeError: no\\ngood'],
    [new URL('file:///a'), 'file:///a'],
  ])('describes %o', (value, text) => {
    expect(readable(value)).toBe(text);
  });

  it('never throws, and gives one short line whatever it is', () => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const thrower = Object.defineProperty({}, 'a', { get: boom, enumerable: true });
    const named = Object.defineProperty(() => 1, 'name', { get: boom });
    const wide = Object.fromEntries(Array.from({ length: 9999 }, (_, k) => [`${'k'.repeat(500)}${k}`, 'v'.repeat(5000)]));
    const error = Object.assign(new Error('x'), { name: Symbol('n'), message: { toString: boom } });
    for (const value of [
      proxy,
      circular,
      thrower,
      named,
      wide,
      error,
      new Proxy({}, { ownKeys: boom }),
      { constructor: null },
      new Array(1e9),
      globalThis,
      process.env,
    ]) {
      expect(readable(value)).toMatch(/^.{1,500}$/);
      expect(got(value)).toMatch(/^got `.{1,500}` \(\w+\)$/);
    }
  });
});

describe('got', () => {
  it('names the type, and tells null and arrays from objects', () => {
    expect(got(0)).toBe('got `0` (number)');
    expect(got(null)).toBe('got `null` (null)');
    expect(got(['a'])).toBe('got `["a"]` (array)');
    expect(got({})).toBe('got `{}` (object)');
    expect(got(undefined)).toBe('got `undefined` (undefined)');
  });
});
