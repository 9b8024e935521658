/** B55 piscinajs/piscina#1143, nodejs/node#37988: custom properties, class and cause of errors were lost. Real worker threads. */
import { isNativeError } from 'node:util/types';
import { expect, test } from 'vitest';
import { errorOf, queueOf } from '../e2e/gate.ts';

test('B55 a thrown error of a class of its own keeps name, message, stack, code, a chain of causes and its properties', async () => {
  const queue = queueOf(1);
  const error = await errorOf(
    queue.run(function fails() {
      class Broken extends TypeError {
        override name = 'Broken';
        code = 'E_BROKEN';
        when = new Map([['at', new Date(5)]]);
      }
      throw new Broken('outer', { cause: new RangeError('middle', { cause: new Error('inner') }) });
    }),
  );
  expect(error).toBeInstanceOf(TypeError);
  expect(isNativeError(error)).toBe(true);
  expect(error).toMatchObject({ name: 'Broken', message: 'outer', code: 'E_BROKEN', when: new Map([['at', new Date(5)]]) });
  expect(error.constructor.name).toBe('Broken');
  expect(error.stack).toContain('fails');
  const middle = error.cause as Error;
  expect(middle).toBeInstanceOf(RangeError);
  expect(middle.cause).toMatchObject({ message: 'inner' });
});

test('B55 so do an AggregateError and a DOMException', async () => {
  const queue = queueOf(1);
  const many = (await errorOf(
    queue.run(() => {
      throw new AggregateError([new TypeError('one'), 'two'], 'many');
    }),
  )) as AggregateError;
  expect(many).toBeInstanceOf(AggregateError);
  expect(many.errors[0]).toBeInstanceOf(TypeError);
  expect(many.errors[1]).toBe('two');
  const dom = await errorOf(
    queue.run(() => {
      throw new DOMException('no', 'AbortError');
    }),
  );
  expect(dom).toBeInstanceOf(DOMException);
  expect(dom.name).toBe('AbortError');
});

test('B55 an error inside a value arrives as structuredClone leaves it', async () => {
  const queue = queueOf(1);
  const error = Object.assign(new RangeError('inside', { cause: { why: [1] } }), { lost: 1 });
  const back = (await queue.run((value: { error: Error }) => value, { error })).error;
  expect(back).toBeInstanceOf(RangeError);
  expect(isNativeError(back)).toBe(true);
  expect(back).toMatchObject({ message: 'inside', stack: error.stack, cause: { why: [1] } });
  expect(Object.keys(back)).toEqual(Object.keys(structuredClone(error)));
});
