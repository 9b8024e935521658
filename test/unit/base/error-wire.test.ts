/** What is thrown on one side arrives on the other: the form on the wire, the rebuilt errors, odd values, and the bounds. */
import { AssertionError } from 'node:assert';
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { fromWire, RailheadError, railheadError, toWire } from '#base';

/** Everything a wire may be made of. Fails on anything else, at any depth. */
function onlyPlain(wire: unknown, depth = 0): number {
  if (wire === null || ['undefined', 'boolean', 'number', 'string'].includes(typeof wire)) return depth;
  const prototype: unknown = Object.getPrototypeOf(wire);
  if (prototype === Uint8Array.prototype) return depth;
  expect([Object.prototype, Array.prototype]).toContain(prototype);
  return Math.max(depth, ...Object.values(wire as object).map((part) => onlyPlain(part, depth + 1)));
}

function cross(thrown: unknown): unknown {
  const wire = toWire(thrown);
  onlyPlain(wire);
  return fromWire(structuredClone(wire));
}

const crossError = (thrown: unknown): Error & Record<string, unknown> => {
  const error = cross(thrown);
  expect(error).toBeInstanceOf(Error);
  return error as Error & Record<string, unknown>;
};

describe('an error that crosses', () => {
  it.each([Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError])(
    'arrives as its own built-in class: %o',
    (Class) => {
      const thrown = new Class('no good');
      const error = crossError(thrown);
      expect(Object.getPrototypeOf(error)).toBe(Class.prototype);
      expect(error.message).toBe('no good');
      expect(error.name).toBe(thrown.name);
      expect(error.stack).toBe(thrown.stack);
      expect(Object.keys(error)).toEqual([]);
      expect(Object.hasOwn(error, 'cause')).toBe(false);
    },
  );

  it('keeps its stack hidden, and has none of this thread where it had none', () => {
    const thrown = new Error('x');
    Object.defineProperty(thrown, 'stack', { value: undefined });
    const error = crossError(thrown);
    expect(error.stack).toBe('Error: x');
    expect(Object.keys(error)).toEqual([]);
    expect(Error.stackTraceLimit).toBeGreaterThan(0);
  });

  it('keeps class name, name, code and own properties of a custom class', () => {
    class PaymentError extends TypeError {
      code = 'E_CARD';
      status = 402;
      detail = { card: ['4', { ok: false }], at: new Date(5), big: -(1n << 70n), bytes: new Uint8Array([1, 2]) };
      lookup = new Map<unknown, unknown>([
        ['a', [1, 2]],
        [{ k: 1 }, new Set([1, 'x'])],
      ]);
    }
    const error = crossError(new PaymentError('declined'));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.constructor.name).toBe('PaymentError');
    expect(error.name).toBe('TypeError');
    expect({ ...error }).toEqual({ ...new PaymentError('declined') });
    expect(inspect(error)).toMatch(/PaymentError/);
  });

  it('keeps a name set by hand, enumerable or not', () => {
    class Custom extends Error {
      override name = 'CustomName';
    }
    expect(crossError(new Custom('x')).name).toBe('CustomName');
    expect(Object.keys(crossError(new Custom('x')))).toEqual([]);
    expect(crossError(Object.assign(new Error('x'), { name: 'ByHand' })).name).toBe('ByHand');
  });

  it('arrives as RailheadError by its code, with its fields and cause', () => {
    const error = crossError(railheadError('E_WORKER_DIED', 'gone', { exitCode: 1, reason: 'oom', cause: new RangeError('deep') }));
    expect(error).toBeInstanceOf(RailheadError);
    expect(Object.getPrototypeOf(error)).toBe(RailheadError.prototype);
    expect({ ...error }).toEqual({ code: 'E_WORKER_DIED', exitCode: 1, reason: 'oom' });
    expect(error.cause).toBeInstanceOf(RangeError);
    expect(crossError(railheadError('ABORT_ERR', 'x')).name).toBe('AbortError');
  });

  it('is not taken for ours because its class has the same name', () => {
    const Other = { RailheadError: class extends Error {} }.RailheadError;
    const error = crossError(new Other('x'));
    expect(error).not.toBeInstanceOf(RailheadError);
    expect(error.constructor.name).toBe('RailheadError');
  });

  it('arrives as DOMException with its name and its numeric code', () => {
    const error = crossError(new DOMException('stop', 'AbortError'));
    expect(Object.getPrototypeOf(error)).toBe(DOMException.prototype);
    expect([error.name, error.code, error.message]).toEqual(['AbortError', 20, 'stop']);
    expect(crossError(new DOMException('late', 'TimeoutError')).name).toBe('TimeoutError');
    class Quota extends DOMException {}
    expect(crossError(new Quota('x', 'QuotaExceededError'))).toBeInstanceOf(DOMException);
  });

  it('keeps the errors of an AggregateError, whatever they are', () => {
    const error = crossError(new AggregateError([new TypeError('a'), 7, 'text', () => 1], 'all failed'));
    expect(error).toBeInstanceOf(AggregateError);
    const [first, second, third, fourth] = error.errors as unknown[];
    expect(first).toBeInstanceOf(TypeError);
    expect([second, third]).toEqual([7, 'text']);
    expect(fourth).toBeInstanceOf(Error);
    expect(Object.keys(error)).toEqual([]);
    expect(error.errors).toHaveLength(4);
  });

  it('keeps `errors` of a class that is not an AggregateError as a property', () => {
    const error = crossError(Object.assign(new Error('invalid'), { errors: { name: new RangeError('short') } }));
    expect((error.errors as Record<string, unknown>).name).toBeInstanceOf(RangeError);
  });

  it('keeps the chain of causes, plain causes, and a cause that is undefined', () => {
    const error = crossError(new Error('a', { cause: new TypeError('b', { cause: { reason: 'c' } }) }));
    expect(error.cause).toBeInstanceOf(TypeError);
    expect((error.cause as Error).cause).toEqual({ reason: 'c' });
    expect(Object.keys(error)).toEqual([]);
    expect(Object.hasOwn(crossError(new Error('a', { cause: undefined })), 'cause')).toBe(true);
    expect(crossError(Object.assign(new Error('a'), { cause: 'set by hand' })).cause).toBe('set by hand');
  });

  it('cuts a circle of causes and of properties', () => {
    const thrown: Error & Record<string, unknown> = Object.assign(new Error('a'), { ok: 1 } as Record<string, unknown>);
    thrown.cause = new Error('b', { cause: thrown });
    thrown.self = thrown;
    thrown.nested = { list: [thrown, 2] };
    const error = crossError(thrown);
    expect((error.cause as Error).message).toBe('b');
    expect((error.cause as Error).cause).toBeUndefined();
    expect({ ...error }).toEqual({ ok: 1, nested: { list: [undefined, 2] } });
  });

  it('keeps the code of errors made by Node', () => {
    const thrown = ((): unknown => {
      try {
        return readFileSync('/nowhere');
      } catch (error) {
        return error;
      }
    })();
    expect({ ...crossError(thrown) }).toEqual({ errno: -2, code: 'ENOENT', syscall: 'open', path: '/nowhere' });
    const error = crossError(new AssertionError({ actual: 1, expected: 2, operator: 'strictEqual' }));
    expect([error.constructor.name, error.code, error.actual, error.expected]).toEqual(['AssertionError', 'ERR_ASSERTION', 1, 2]);
  });

  it('keeps a code that the class has as a getter', () => {
    class Coded extends Error {
      get code(): string {
        return 'E_GETTER';
      }
    }
    expect(crossError(new Coded('x')).code).toBe('E_GETTER');
  });

  it('arrives as an error of this realm from another one', () => {
    const error = crossError(runInNewContext('Object.assign(new TypeError("far"), { plain: { a: [1] } })'));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.plain).toEqual({ a: [1] });
  });

  it('leaves out functions, symbols, instances of classes and getters that throw, and keeps the rest', () => {
    const thrown = Object.assign(new Error('x'), {
      f: () => 1,
      s: Symbol('s'),
      m: new WeakMap(),
      p: Promise.resolve(),
      kept: { f: () => 1, list: [() => 1, 2] },
    });
    Object.defineProperty(thrown, 'bad', {
      enumerable: true,
      get: () => {
        throw new Error('getter');
      },
    });
    Object.defineProperty(thrown, 'hidden', { value: 1 });
    Object.assign(thrown, { [Symbol('key')]: 1, last: null, none: undefined });
    expect({ ...crossError(thrown) }).toEqual({ kept: { list: [undefined, 2] }, last: null, none: undefined });
  });

  it('never pollutes a prototype: __proto__ and constructor are data', () => {
    const thrown = Object.assign(new Error('x'), {
      deep: JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as object,
    });
    Object.defineProperty(thrown, '__proto__', { value: { polluted: 1 }, enumerable: true });
    const error = crossError(thrown);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(error.polluted).toBeUndefined();
    expect(Object.getPrototypeOf(error)).toBe(Error.prototype);
    expect(Object.getOwnPropertyDescriptor(error, '__proto__')?.value).toEqual({ polluted: 1 });
    expect(Object.getPrototypeOf(error.deep)).toBe(Object.prototype);
    expect(Object.keys(error.deep as object)).toEqual(['__proto__', 'constructor']);
  });

  it('crosses twice without a change', () => {
    class Custom extends RangeError {}
    const once = crossError(Object.assign(new Custom('x', { cause: 1 }), { code: 5 }));
    expect(toWire(once)).toEqual(toWire(crossError(once)));
  });
});

describe('what is no error', () => {
  it.each([undefined, null, true, false, 0, -0, Number.NaN, Infinity, '', 'text', '\ud800', -5n, 1n << 80n])(
    'comes back as itself: %o',
    (value) => {
      expect(cross(value)).toBe(value);
    },
  );

  it('comes back as an equal copy where it is plain', () => {
    const plain = {
      a: Object.assign(new Array<unknown>(3), { 0: 1, 2: { b: null } }),
      u: undefined,
      n: Object.assign(Object.create(null) as object, { c: 1 }),
      buffer: Buffer.from('hi'),
    };
    expect(cross(plain)).toEqual({ a: [1, undefined, { b: null }], u: undefined, n: { c: 1 }, buffer: new Uint8Array([104, 105]) });
    expect(cross(Object.freeze({ frozen: true }))).toEqual({ frozen: true });
    expect(cross([])).toEqual([]);
    expect(cross(['error', { base: 'Error' }])).toEqual(['error', { base: 'Error' }]);
  });

  it.each([
    [Symbol('why'), 'Symbol(why)'],
    [function named() {}, 'function named'],
    [() => 1, 'a function'],
    [new (class Foo {})(), 'an instance of Foo'],
    [Promise.resolve(1), 'an instance of Promise'],
    [new WeakSet(), 'an instance of WeakSet'],
  ])('arrives as an Error that says what was thrown: %o', (value, text) => {
    const error = crossError(value);
    expect(error.message).toBe(`A value was thrown that is neither an Error nor can be copied to another thread: \`${text}\``);
  });
});

describe('hostile values', () => {
  const boom = (): never => {
    throw new Error('trap');
  };
  const traps = { get: boom, has: boom, ownKeys: boom, getPrototypeOf: boom, getOwnPropertyDescriptor: boom };

  it('never throw: Proxies, revoked Proxies, getters on everything', () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    const { proxy: list, revoke: revokeList } = Proxy.revocable([], {});
    revokeList();
    for (const value of [
      proxy,
      list,
      new Proxy({}, traps),
      new Proxy(new Error('x'), traps),
      new Proxy([], traps),
      new Proxy(() => 1, traps),
    ]) {
      crossError(value);
      crossError(Object.assign(new Error('x'), { value }));
    }
    const getters = new Error('x');
    // The stack first: V8 writes it, with name and message, as it is replaced.
    for (const key of ['stack', 'name', 'message', 'code', 'cause', 'errors', 'constructor', 'extra'])
      Object.defineProperty(getters, key, { get: boom, enumerable: true });
    expect(crossError(getters).name).toBe('Error');
  });

  it('still arrive where a Proxy only wraps an error', () => {
    const error = crossError(new Proxy(Object.assign(new TypeError('wrapped'), { a: 1 }), {}));
    expect(error).toBeInstanceOf(TypeError);
    expect([error.message, error.a]).toEqual(['wrapped', 1]);
  });

  it('arrive with text where name, message or stack are not text', () => {
    const error = crossError(Object.assign(new Error('x'), { name: Symbol('n'), message: { m: 1 }, stack: [1], code: { c: 1 } }));
    expect([error.name, error.message, error.stack]).toEqual(['Error', '{ m: 1 }', 'Error: { m: 1 }']);
    expect(error.code).toEqual({ c: 1 });
  });

  it('arrive where an error has no constructor, no prototype of its own or odd class names', () => {
    expect(crossError(Object.create(Error.prototype)).message).toBe('');
    expect(crossError(Object.create(DOMException.prototype))).toBeInstanceOf(DOMException);
    expect(crossError(Object.create(RailheadError.prototype))).toBeInstanceOf(RailheadError);
    expect(crossError(Object.setPrototypeOf(new Error('bare'), null)).message).toBe('bare');
    for (const name of ['__proto__', 'constructor', 'toString', 'a b', 'x'.repeat(1000)]) {
      expect(crossError(new ({ [name]: class extends Error {} }[name] as ErrorConstructor)('x')).constructor.name).toBe(name.slice(0, 128));
    }
    expect(crossError(Object.freeze(Object.assign(new Error('x'), { a: 1 }))).a).toBe(1);
  });

  it('endless Proxies end: prototypes, keys of any length, circles made on the fly', () => {
    const forever: Error = new Proxy(new Error('x'), {
      getPrototypeOf: () => forever,
      get: (_, key) => (key === 'cause' || key === 'constructor' ? new Proxy(forever, {}) : undefined),
    });
    onlyPlain(toWire(forever));
    const grows: unknown = new Proxy(
      {},
      {
        get: () => grows && new Proxy(grows as object, {}),
        ownKeys: () => ['a', 'b', 'c'],
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      },
    );
    onlyPlain(toWire(Object.assign(new Error('x'), { grows })));
    onlyPlain(toWire(new Proxy([], { get: (_, key) => (key === 'length' ? Number.NaN : undefined) })));
  });

  it('give an Error that says so where the wire is none', () => {
    for (const wire of [
      [],
      ['unknown'],
      ['error'],
      ['error', null],
      ['object', 5],
      ['bigint', 'x'],
      ['error', { base: '__proto__', props: [] }],
    ]) {
      expect(fromWire(wire as never)).toBeInstanceOf(Error);
    }
    expect((fromWire(['nonsense', 1]) as Error).message).toBe('Expected an error in wire form, got `["nonsense", 1]`');
  });
});

describe('the bounds', () => {
  it('cut a long message and a long stack, and say by how much', () => {
    const error = crossError(new Error('m'.repeat(100_000)));
    expect(error.message).toBe(`${'m'.repeat(65_536)}… (34464 more characters)`);
    expect(error.stack?.length).toBeLessThan(66_000);
  });

  it('end a chain of causes at a depth, with a tree that is not deep', () => {
    let thrown = new Error('last');
    for (let k = 0; k < 100_000; k++) thrown = new Error(String(k), { cause: thrown });
    expect(onlyPlain(toWire(thrown))).toBeLessThan(70);
    let depth = 0;
    for (let at: unknown = cross(thrown); at instanceof Error; at = at.cause) depth++;
    expect(depth).toBe(16);
  });

  it('keep the first 100 errors and the first 256 properties', () => {
    const many = crossError(
      new AggregateError(
        Array.from({ length: 5000 }, (_, k) => new Error(String(k))),
        'all',
      ),
    );
    expect(many.errors).toHaveLength(99); // and the aggregate itself
    const wide = crossError(Object.assign(new Error('x'), Object.fromEntries(Array.from({ length: 5000 }, (_, k) => [`k${k}`, k]))));
    expect(Object.keys(wide)).toHaveLength(256);
  });

  it('leave out what is too large and keep the small things beside it', () => {
    const error = crossError(
      Object.assign(new Error('x'), {
        body: 'b'.repeat(2_000_000),
        rows: new Array(100_000).fill(1),
        sparse: new Array(4_000_000_000),
        bytes: new Uint8Array(3_000_000),
        status: 500,
        text: 'kept',
      }),
    );
    expect({ ...error }).toEqual({ status: 500, text: 'kept' });
  });

  it('end objects that share parts, which would unfold without end', () => {
    let shared: object = {};
    for (let k = 0; k < 40; k++) shared = { left: shared, right: shared };
    const wire = toWire(Object.assign(new Error('x'), { shared, after: 1 }));
    expect(JSON.stringify(wire).length).toBeLessThan(200_000);
    expect((fromWire(wire) as Record<string, unknown>).after).toBe(1);
    let tangled = new Error('0');
    for (let k = 0; k < 40; k++) tangled = Object.assign(new Error('x', { cause: tangled }), { other: tangled, third: [tangled] });
    onlyPlain(toWire(tangled));
  });

  it('remember a class name while there are few, and forget it after hundreds of others', () => {
    const standIn = (name: string): unknown =>
      crossError(new ({ [name]: class extends Error {} }[name] as ErrorConstructor)('x')).constructor;
    const first = standIn('First');
    expect(standIn('First')).toBe(first);
    for (let k = 0; k < 300; k++) standIn(`C${k}`);
    expect(standIn('First')).not.toBe(first);
  });
});
