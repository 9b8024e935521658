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

describe('a handler that changes the realm', () => {
  test.each(CASES)('leaves 20 later tasks of its thread as they are: $path $how', async ({ path, how }) => {
    const queue = queueOf(1);
    queue.on('error', () => {});
    await queue.run(task('replace'), { path, how });
    expect(await fates(queue)).toEqual(RIGHT);
    expect(queue.stats().workers.live).toBe(1);
  });
});
