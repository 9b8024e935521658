/** B58 nodejs/node#55593: moving a slice of Node's Buffer pool took other Buffers with it. Real worker threads. */
import { move } from 'railhead';
import { expect, test } from 'vitest';
import { of, queueOf } from '../e2e/gate.ts';

const text = (value: Uint8Array): string => new TextDecoder().decode(value);

test('B58 naming the pool of a small Buffer in `transfer` copies it, and every other Buffer stays whole', async () => {
  const queue = queueOf(1);
  const a = Buffer.from('x');
  const b = Buffer.from('y');
  expect(a.buffer).toBe(b.buffer);
  expect(text(await queue.run((value: Uint8Array) => value, a, { transfer: [a.buffer as ArrayBuffer] }))).toBe('x');
  expect([a.toString(), b.toString()]).toEqual(['x', 'y']);
  const [c, whole] = [Buffer.from('z'), new Uint8Array(8)];
  await queue.run((value: unknown) => value, { c, whole }, { transfer: [c.buffer as ArrayBuffer, whole.buffer] });
  expect([b.toString(), c.toString(), whole.byteLength]).toEqual(['y', 'z', 0]);
});

test('B58 `move` of a slice copies it, here and in a handler', async () => {
  const queue = queueOf(1);
  const [a, b] = [Buffer.from('x'), Buffer.from('y')];
  expect(text(await queue.run((value: Uint8Array) => value, move(a)))).toBe('x');
  expect([a.toString(), b.toString()]).toEqual(['x', 'y']);
  expect(text((await queue.run(of('moves.js', 'slices'))) as Uint8Array)).toBe('one');
  await expect(queue.run(of('moves.js', 'keptText'))).resolves.toBe('other');
});

test('B58 a slice that is simply sent arrives alone, without the rest of its pool', async () => {
  const queue = queueOf(1);
  const seen = await queue.run((value: { a: Uint8Array }) => value.a.buffer.byteLength, { a: Buffer.from('abc') });
  expect(seen).toBe(3);
});
