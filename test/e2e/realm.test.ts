/**
 * A handler may replace whatever it likes of the realm that it shares with the library: later tasks on its thread settle all the
 * same. And an error of the library's own is its thread's death, not the program's. Real worker threads; one for each case.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { inChild, ROOT, within } from '../support/index.ts';
import { errorOf, of, queueOf, upTo } from './gate.ts';

const task = (name: string) => of('realm.js', name);
const longText = 'text of more than eight characters, and of more than fourteen'.repeat(3);
const value = { text: longText, list: [1, 2.5, 'three', null], deep: { ключ: [true, { wide: 'слово' }] } };

/** What tasks of every kind come to in one thread. */
async function fates(queue: ReturnType<typeof queueOf>): Promise<unknown> {
  const fateOf = (promise: Promise<unknown>): Promise<unknown> =>
    promise.catch((error: { code?: string; message: string }) => `${error.code ?? 'no code'}: ${error.message}`);
  const all = [
    ...upTo(5).map((k) => queue.run(task('number'), k)),
    ...upTo(5).map(() => queue.run(task('object'), value)),
    ...upTo(4).map((k) => queue.run(task('awaits'), k)),
    queue.run((n: number) => n * 2, 21),
    ...upTo(3).map(() => queue.run(task('bytes'), new Uint8Array([1, 2, 3]))),
    ...upTo(2).map((n) => queue.run(task('fails'), n).catch(() => 'failed')),
  ];
  return within(Promise.all(all.map(fateOf)), '20 tasks');
}
const RIGHT = [
  ...upTo(5).map((k) => k + 1),
  ...upTo(5).map(() => ({ ...value, more: null })),
  ...upTo(4).map((k) => k + 1),
  42,
  ...upTo(3).map(() => new Uint8Array([1, 2, 3])),
  ...upTo(2).map(() => 'failed'),
];

/** Every name that src/base/realm.ts takes from the global object, but for those that no worker uses after its start. */
const TAKEN = [...readFileSync(`${ROOT}src/base/realm.ts`, 'utf8').matchAll(/globalThis\.(\w+)/g)].map((match) => match[1] as string);
const GLOBALS = [...new Set([...TAKEN, 'performance', 'process', 'setImmediate', 'setTimeout', 'setInterval', 'clearTimeout', 'eval'])];

/** Methods that the compiled library mentions, on every prototype that has one of that name. */
const METHODS = [
  ...['at', 'concat', 'every', 'fill', 'filter', 'find', 'findIndex', 'flat', 'forEach', 'includes', 'indexOf', 'join', 'keys', 'map'].map(
    (name) => `Array.prototype.${name}`,
  ),
  ...['pop', 'push', 'shift', 'slice', 'some', 'splice', 'values', '@@iterator'].map((name) => `Array.prototype.${name}`),
  ...['clear', 'delete', 'entries', 'forEach', 'get', 'has', 'keys', 'set', 'values', '@@iterator'].map((name) => `Map.prototype.${name}`),
  ...['add', 'clear', 'delete', 'forEach', 'has', 'keys', 'values', '@@iterator'].map((name) => `Set.prototype.${name}`),
  ...['charCodeAt', 'includes', 'indexOf', 'replace', 'replaceAll', 'slice', 'split', 'startsWith', 'toString', 'toWellFormed'].map(
    (name) => `String.prototype.${name}`,
  ),
  ...['exec', 'test', '@@replace', '@@match'].map((name) => `RegExp.prototype.${name}`),
  ...['then', 'catch', 'finally'].map((name) => `Promise.prototype.${name}`),
  ...['call', 'apply', 'bind', 'toString'].map((name) => `Function.prototype.${name}`),
  ...['hasOwnProperty', 'toString', 'valueOf', 'propertyIsEnumerable'].map((name) => `Object.prototype.${name}`),
  ...['set', 'subarray', 'slice', 'keys', 'fill'].map((name) => `Uint8Array.prototype.${name}`),
  ...['copy', 'readDoubleLE', 'subarray', 'toString', 'write'].map((name) => `Buffer.prototype.${name}`),
  ...['load', 'store', 'compareExchange', 'exchange', 'add', 'and', 'or', 'notify', 'wait', 'waitAsync'].map((name) => `Atomics.${name}`),
  ...['now', 'timeOrigin'].map((name) => `performance.${name}`),
  ...['exit', 'on', 'emit', 'hrtime', 'nextTick'].map((name) => `process.${name}`),
  ...['keys', 'getPrototypeOf', 'hasOwn', 'defineProperty', 'getOwnPropertyDescriptor'].map((name) => `Object.${name}`),
  ...['isArray', 'from'].map((name) => `Array.${name}`),
  ...['resolve', 'all', 'race'].map((name) => `Promise.${name}`),
  ...['parse', 'stringify'].map((name) => `JSON.${name}`),
  ...['prepareStackTrace', 'captureStackTrace', 'stackTraceLimit'].map((name) => `Error.${name}`),
  ...['BigInt.prototype.toString', 'Date.prototype.getTime', 'Reflect.construct', 'MessagePort.prototype.postMessage'],
];

const CASES = [
  ...GLOBALS.map((path) => [path, 'undefined']),
  ...METHODS.map((path) => [path, 'throws']),
  ...['get', 'value', 'type', 'cause', 'toJSON', 'code', 'port'].map((name) => [`Object.prototype.${name}`, 'getter']),
].map(([path, how]) => ({ path: path as string, how: how as string }));

/** Node's own code on that thread needs these (docs/adr/0010): it is replaced. */
const NODE_NEEDS = ['Array.prototype.pop', 'RegExp.prototype.exec', 'RegExp.prototype.test', 'Promise.prototype.then'];
const survives = ({ path }: { path: string }): boolean => !NODE_NEEDS.includes(path);

describe('a handler that changes the realm', () => {
  test.each(CASES.filter(survives))('leaves 20 later tasks of its thread as they are: $path $how', async ({ path, how }) => {
    const queue = queueOf(1);
    await queue.run(task('replace'), { path, how });
    expect(await fates(queue)).toEqual(RIGHT);
    expect(queue.stats().workers.live).toBe(1);
  });

  test.each(NODE_NEEDS)('has its thread replaced where Node itself needs it: %s', async (path) => {
    const queue = queueOf({ concurrency: 1, graceMs: 0 });
    queue.on('error', () => {});
    await queue.run(task('replace'), { path, how: 'throws' }).catch(() => 'gone with its thread');
    await fates(queue); // some of what runs there fails
    expect(await fates(queue)).toEqual(RIGHT);
  });

  test.each(['Atomics.notify', 'Atomics.compareExchange', 'Atomics.load', 'Atomics.store', 'setImmediate', 'process.nextTick'])(
    'does not keep a time-out or a deadline from coming: %s',
    async (path) => {
      const queue = queueOf({ concurrency: 1, graceMs: 0 });
      await queue.run(task('replace'), { path, how: 'throws' });
      const never = (): Promise<never> => new Promise(() => {});
      expect(await within(errorOf(queue.run(never, undefined, { timeoutMs: 200 })), 'the time-out')).toMatchObject({
        code: 'E_TASK_TIMEOUT',
      });
      expect(await within(errorOf(queue.run(never, undefined, { deadlineMs: 200 })), 'the deadline')).toMatchObject({
        code: 'E_TASK_DEADLINE',
      });
      expect(await queue.run(task('number'), 1)).toBe(2);
    },
  );

  test('may meet frozen built-in objects instead: --frozen-intrinsics', async () => {
    const queue = queueOf({ concurrency: 1, execArgv: ['--frozen-intrinsics', '--no-warnings'] });
    expect(await fates(queue)).toEqual(RIGHT);
  });
});

describe('an error of the library in a worker', () => {
  // A timer's method is Node's own, and not taken: the library calls it while it waits for a moved value.
  const program = (listener: string): string => `
    import { TaskQueue } from 'railhead';
    const queue = new TaskQueue({ concurrency: 1, tasksPerWorker: 2 });
    ${listener}
    await queue.run(() => {
      const timer = setTimeout(() => {}, 0);
      Object.getPrototypeOf(timer).unref = () => { throw new Error('broken by a handler'); };
    });
    const running = queue.run(() => new Promise(() => {})).catch((error) => [error.code, error.reason, error.cause?.message]);
    const buffer = new ArrayBuffer(100_000);
    await queue.run((moved) => moved.byteLength, buffer, { transfer: [buffer] }).catch(() => 'its value had gone there');
    console.log(JSON.stringify([await running, await queue.run((n) => n + 1, 2)]));
    await queue.stop();`;
  const said = '[["E_WORKER_DIED","crash","broken by a handler"],3]\n';

  test('is the death of its thread, and nothing that ends the program', async () => {
    expect(await inChild(program(''))).toMatchObject({ code: 0, stdout: said, stderr: '' });
  });

  test('is told by the error event, with its worker', async () => {
    const listener = "queue.on('error', (error, { workerId }) => console.log(error.message, workerId));";
    expect(await inChild(program(listener))).toMatchObject({ code: 0, stdout: `broken by a handler 1\n${said}` });
  });
});

describe('fake timers on the host', () => {
  const fake = `
    const never = () => { throw new Error('a fake was called'); };
    const clock = { now: () => 0 };
    Object.defineProperty(globalThis, 'performance', { value: clock, configurable: true });
    for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval']) globalThis[name] = never;
    process.hrtime = never;`;
  const use = `
    console.log(await queue.run((n) => n + 1, 1));
    console.log((await queue.run(() => { for (;;); }, 0, { timeoutMs: 100 }).catch((error) => error)).code);
    await queue.stop();`;
  test.each([
    ['before', `${fake} const { TaskQueue } = await import('railhead'); const queue = new TaskQueue({ concurrency: 1, graceMs: 0 });`],
    ['after', `import { TaskQueue } from 'railhead'; const queue = new TaskQueue({ concurrency: 1, graceMs: 0 }); ${fake}`],
  ])('that come %s the queue leave it in real time', async (_, start) => {
    expect(await inChild(start + use)).toMatchObject({ code: 0, stdout: '2\nE_TASK_TIMEOUT\n', stderr: '' });
  });
});
