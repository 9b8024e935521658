/** What can be a handler, and how each wrong one fails without harming the queue. Real worker threads. */
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type AbsolutePath, handler } from 'railhead';
import { describe, expect, test } from 'vitest';
import { projectFolder } from '../support/index.ts';
import { errorOf, fixture, of, queueOf } from './gate.ts';

describe('a function', () => {
  test('runs, whatever its form', async () => {
    const queue = queueOf(1);
    const methods = {
      short(n: number) {
        return n + 1;
      },
      async later(n: number) {
        return n + 1;
      },
      ['computed name'](n: number) {
        return n + 1;
      },
      get(n: number) {
        return n + 1;
      },
      async(n: number) {
        return n + 1;
      },
    };
    class Statics {
      readonly instance = true;
      static add(n: number): number {
        return n + 1;
      }
    }
    const forms: ((n: number, task: unknown, extra?: number) => number | Promise<number>)[] = [
      (n) => n + 1,
      async (n) => n + 1,
      function named(n) {
        return n + 1;
      },
      async function named(n) {
        return n + 1;
      },
      methods.short,
      methods.later,
      methods['computed name'],
      methods.get,
      methods.async,
      Statics.add,
      (n, _task, extra = 1) => n + extra,
      function () {
        // biome-ignore lint/complexity/noArguments: a form that people have.
        return Number(arguments[0]) + 1;
      } as (n: number) => number,
      // biome-ignore lint/suspicious/noThenProperty: a thenable of its own is what this is about.
      (n) => ({ then: (resolve: (n: number) => void) => resolve(n + 1) }) as unknown as Promise<number>,
    ];
    for (const form of forms) await expect(queue.run(form, 41), form.toString()).resolves.toBe(42);
  });

  test('may recurse by its name, and import inside', async () => {
    const queue = queueOf(1);
    const fib = function fib(n: number): number {
      return n < 2 ? n : fib(n - 1) + fib(n - 2);
    };
    await expect(queue.run(fib, 15)).resolves.toBe(610);
    // Made from text, since vitest rewrites an import() that it sees.
    const digest = new Function("return async (text) => (await import('node:crypto')).createHash('md5').update(text).digest('hex')")();
    await expect(queue.run(digest as (text: string) => string, 'a')).resolves.toBe('0cc175b9c0f1b6a831c399e269772661');
  });

  test('gets its handle on the run as second argument', async () => {
    const queue = queueOf(1);
    await expect(queue.run((_: undefined, task) => ({ worker: task.workerId, attempt: task.attempt }), undefined)).resolves.toEqual({
      worker: 1,
      attempt: 1,
    });
    const viaArguments = function () {
      // biome-ignore lint/complexity/noArguments: it can see the second argument that way.
      return (arguments[1] as { workerId: number }).workerId;
    };
    await expect(queue.run(viaArguments as () => number)).resolves.toBe(1);
    await expect(queue.run((...all: unknown[]) => all.length, 0)).resolves.toBe(2);
  });

  test('the same text is one handler, so an inline arrow in a loop costs nothing', async () => {
    const queue = queueOf(1);
    const results: Promise<number>[] = [];
    for (let k = 0; k < 2_000; k++) results.push(queue.run((n: number) => n + 1, k));
    await expect(Promise.all(results)).resolves.toEqual(Array.from({ length: 2_000 }, (_, k) => k + 1));
  });

  test('of more than a thousand different texts all run', async () => {
    const queue = queueOf(1);
    for (let round = 0; round < 3; round++) {
      const results = Array.from({ length: 400 }, (_, k) =>
        queue.run(new Function('n', `return n + ${round * 400 + k}`) as (n: number) => number, 1),
      );
      await expect(Promise.all(results)).resolves.toEqual(Array.from({ length: 400 }, (_, k) => 1 + round * 400 + k));
    }
  });

  test('that captures a variable fails with E_CAPTURED and names it, and the queue goes on', async () => {
    const queue = queueOf(1);
    const outside = Number(process.pid);
    const failed = await errorOf(queue.run((n: number) => n + outside, 1));
    expect(failed).toMatchObject({ name: 'RailheadError', code: 'E_CAPTURED', cause: { name: 'ReferenceError' } });
    expect(failed.message).toContain('`outside`');
    expect(await errorOf(queue.run(async (n: number) => n + outside, 1))).toMatchObject({ code: 'E_CAPTURED' });
    await expect(queue.run((n: number) => n, 1)).resolves.toBe(1);
    expect(queue.stats().workers.started).toBe(1);
  });

  test('that returns a generator fails with E_RESULT_CLONE', async () => {
    const queue = queueOf(1);
    const generator = function* (n: number): Generator<number> {
      yield n;
    };
    const asyncGenerator = async function* (n: number): AsyncGenerator<number> {
      yield n;
    };
    expect(await errorOf(queue.run(generator, 1))).toMatchObject({ code: 'E_RESULT_CLONE' });
    expect(await errorOf(queue.run(asyncGenerator, 1))).toMatchObject({ code: 'E_RESULT_CLONE' });
    await expect(queue.run((n: number) => n, 1)).resolves.toBe(1);
  });

  test('whose text cannot stand alone is a TypeError at once', async () => {
    const queue = queueOf(1);
    class Base {
      add(n: number): number {
        return n + 1;
      }
    }
    class Derived extends Base {
      override add(n: number): number {
        return super.add(n);
      }
      static arrow(this: { add(n: number): number }): (n: number) => number {
        return (n) => n;
      }
    }
    const withSuper = {
      make() {
        return () => super.toString();
      },
    };
    class Private {
      #count = 1;
      static method(): () => number {
        return new Private().#add;
      }
      #add(): number {
        return this.#count;
      }
    }
    const accessor = Object.getOwnPropertyDescriptor(
      {
        get field() {
          return 1;
        },
      },
      'field',
    )?.get as () => number;
    for (const [what, given] of [
      ['super in a method', Derived.prototype.add],
      ['super in an arrow', withSuper.make()],
      ['an accessor', accessor],
      ['a private method', Private.method()],
      ['a class', Base as unknown as () => unknown],
      ['a bound function', ((n: number) => n).bind(null)],
    ] as const) {
      const error = await errorOf(queue.run(given as (n: number) => unknown, 1));
      expect(error, what).toBeInstanceOf(TypeError);
      expect(error, what).toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
      expect(error.message, what).toContain('; write a function of its own that takes what it needs as its value');
      expect(() => queue.push(given as (n: number) => unknown, 1), what).toThrow(TypeError);
    }
    expect(queue.stats().workers.started).toBe(0);
  });

  test('its own errors pass through with class, code, cause and properties', async () => {
    const queue = queueOf(1);
    const failed = await errorOf(
      queue.run((n: number) => {
        throw Object.assign(new RangeError('too far', { cause: new Error('below') }), { code: 'E_MINE', n });
      }, 7),
    );
    expect(failed).toBeInstanceOf(RangeError);
    expect(failed).toMatchObject({ message: 'too far', code: 'E_MINE', n: 7, cause: { message: 'below' } });
  });

  test.each([
    ['undefined', undefined],
    ['null', null],
    ['a string', 'text'],
    ['a number', 0],
    ['an object', { a: 1 }],
  ])('what is thrown may be %s', async (_what, thrown) => {
    const queue = queueOf(1);
    const throwing = (value: unknown): never => {
      throw value;
    };
    const seen = await queue.run(throwing, thrown as never).then(
      () => 'resolved',
      (error: unknown) => ({ error }),
    );
    expect(seen).toEqual({ error: thrown });
  });
});

describe('a module', () => {
  test.each([
    ['double.js', 'an ES module’s default export', undefined, 2],
    ['double.js', 'an ES module’s named export', 'triple', 3],
    ['named-only.js', 'the named export of a module without default', 'triple', 3],
    ['common.cjs', 'a CommonJS module that is a function', undefined, 2],
    ['common.cjs', 'a member of a CommonJS function', 'triple', 3],
    ['common-named.cjs', 'a CommonJS export that no scanner foresees', 'triple', 3],
    ['transpiled.cjs', 'the default of an ES module compiled to CommonJS', undefined, 2],
    ['transpiled.cjs', 'a named export of an ES module compiled to CommonJS', 'triple', 3],
  ])('%s: %s', async (file, _what, name, factor) => {
    const queue = queueOf(1);
    await expect(queue.run(of(file, name), 14)).resolves.toBe(14 * factor);
  });

  test('is named by a URL, by its text, or by an absolute path', async () => {
    const queue = queueOf(1);
    const url = fixture('double.js');
    for (const name of [url, url.href as AbsolutePath, fileURLToPath(url) as AbsolutePath]) {
      await expect(queue.run(name, 4)).resolves.toBe(8);
      await expect(queue.run(handler(name, 'triple'), 4)).resolves.toBe(12);
    }
    expect(queue.stats().workers.started).toBe(1);
  });

  test('a URL that is changed later names the other module', async () => {
    const queue = queueOf(1);
    const url = fixture('double.js');
    await expect(queue.run(url, 4)).resolves.toBe(8);
    url.pathname = url.pathname.replace('double.js', 'common.cjs');
    await expect(queue.run(url, 4)).resolves.toBe(8);
    url.pathname = url.pathname.replace('common.cjs', 'named-only.js');
    expect(await errorOf(queue.run(url, 4))).toMatchObject({ code: 'E_HANDLER_EXPORT' });
  });

  test('may have any name that a file can have, and may be a symbolic link', async () => {
    const names = [
      'with space.js',
      'hash#mark.js',
      'per%20cent.js',
      'question?mark.js',
      'größe.js',
      '火車.js',
      '🚂.js',
      "quote'.js",
      'back`tick$.js',
    ];
    const project = await projectFolder(Object.fromEntries(names.map((name) => [name, `export default (n) => n + ${name.length};`])));
    try {
      await symlink(join(project.path, names[0] as string), join(project.path, 'link.js'));
      const queue = queueOf(1);
      for (const name of names) {
        await expect(queue.run(join(project.path, name) as AbsolutePath, 1), name).resolves.toBe(1 + name.length);
        await expect(queue.run(pathToFileURL(join(project.path, name)), 1), name).resolves.toBe(1 + name.length);
      }
      await expect(queue.run(join(project.path, 'link.js') as AbsolutePath, 1)).resolves.toBe(14);
    } finally {
      await project.remove();
    }
  });

  test('is loaded once in each worker', async () => {
    const project = await projectFolder({
      'counts.js':
        'globalThis.loads = (globalThis.loads ?? 0) + 1; export default () => globalThis.loads; export const too = () => globalThis.loads;',
    });
    try {
      const queue = queueOf(1);
      const file = join(project.path, 'counts.js') as AbsolutePath;
      for (const its of [file, pathToFileURL(file), handler(file, 'too')]) await expect(queue.run(its)).resolves.toBe(1);
    } finally {
      await project.remove();
    }
  });

  test.each([
    ['throws on load', 'throws.js', 'default', 'E_HANDLER_LOAD', 'never loads'],
    ['does not exist', 'no-such-file.js', 'default', 'E_HANDLER_LOAD', 'no-such-file.js'],
    ['lacks a default export', 'named-only.js', 'default', 'E_HANDLER_EXPORT', '`triple`'],
    ['lacks the export', 'double.js', 'half', 'E_HANDLER_EXPORT', '`half`'],
    ['exports something else under that name', 'double.js', 'answer', 'E_HANDLER_EXPORT', '42'],
    ['would find it on Object.prototype', 'common-named.cjs', 'toString', 'E_HANDLER_EXPORT', '`toString`'],
  ])('that %s fails its tasks with a code of its own, and the queue goes on', async (_what, file, name, code, says) => {
    const queue = queueOf(2);
    const others = Promise.all(Array.from({ length: 40 }, (_, k) => queue.run((n: number) => n, k)));
    const failed = await errorOf(queue.run(of(file, name), 1));
    expect(failed).toMatchObject({ name: 'RailheadError', code });
    expect(failed.message).toContain(says);
    await expect(others).resolves.toHaveLength(40);
    await expect(queue.run(of('double.js'), 2)).resolves.toBe(4);
    expect(queue.pending).toBe(0);
  });

  test('with a syntax error keeps it as the cause', async () => {
    const project = await projectFolder({ 'broken.js': 'export default (n => n' });
    try {
      const queue = queueOf(1);
      const failed = await errorOf(queue.run(join(project.path, 'broken.js') as AbsolutePath, 1));
      expect(failed).toMatchObject({ code: 'E_HANDLER_LOAD' });
      expect(failed.cause).toBeInstanceOf(SyntaxError);
    } finally {
      await project.remove();
    }
  });
});

describe('handler()', () => {
  test.each([
    ['a relative path', './double.js'],
    ['a data: URL', 'data:text/javascript,1'],
    ['an http: URL', new URL('http://localhost/x.js')],
    ['a number', 7],
    ['a function', () => 1],
  ])('refuses %s', (_what, given) => {
    expect(() => handler(given as string)).toThrow(TypeError);
  });
  test.each([
    ['a number', 7],
    ['nothing', ''],
    ['__proto__', '__proto__'],
  ])('refuses an export name that is %s', (_what, name) => {
    expect(() => handler(fixture('double.js'), name as string)).toThrow(TypeError);
  });
});

test('a function is as strict in a worker as in its module, and sees nothing of ours through `this`', async () => {
  const queue = queueOf(1);
  const sees = await queue.run(function (this: unknown) {
    return this === undefined;
  });
  expect(sees).toBe(true);
  const undeclared = new Function('n', 'total = n; return total;') as (n: number) => number; // what a typo makes of a variable
  expect(await errorOf(queue.run(undeclared, 4))).toMatchObject({ code: 'E_CAPTURED' });
});
