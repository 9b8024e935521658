/** B60 nodejs/node#40059: values of 2 GiB and more crashed or failed obscurely. Only lengths are looked at, nothing is copied. */
import { move } from 'railhead';
import { expect, test } from 'vitest';
import { errorOf, queueOf } from '../e2e/gate.ts';

test('B60 2^31 + 1 bytes are refused with a clear error, whatever `maxPayloadBytes` allows, before anything is copied', async () => {
  const queue = queueOf({ concurrency: 1, maxPayloadBytes: Number.MAX_SAFE_INTEGER });
  const buffer = new ArrayBuffer(2 ** 31 + 1); // its pages are never touched
  const before = process.memoryUsage().rss;
  const length = (value: unknown): number => (value as { byteLength: number }).byteLength;
  for (const value of [buffer, new Uint8Array(buffer), { a: [new Uint8Array(buffer)] }, new Map([[1, buffer]]), move(buffer)]) {
    const error = await errorOf(queue.run(length, value as never));
    expect(error).toMatchObject({ name: 'RailheadError', code: 'E_TOO_LARGE' });
    expect(error.message).toMatch(/2147483\d\d\d bytes or more, and `maxPayloadBytes` allows 2147483647/);
  }
  expect(await errorOf(queue.run(length, buffer, { transfer: [buffer] }))).toMatchObject({ code: 'E_TOO_LARGE' });
  expect(buffer.byteLength).toBe(2 ** 31 + 1);
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
});

test('B60 as a result they fail the task, and the worker stays', async () => {
  const queue = queueOf({ concurrency: 1, maxPayloadBytes: Number.MAX_SAFE_INTEGER });
  const error = await errorOf(queue.run((bytes: number) => new Uint8Array(bytes), 2 ** 31 + 1));
  expect(error).toMatchObject({ name: 'RailheadError', code: 'E_TOO_LARGE' });
  expect(await queue.run((_: undefined, task) => task.workerId, undefined)).toBe(1);
});
