/** Cancelled jobs behind a worker that is held pile up neither entries nor wrong order. Real worker threads. */
import { expect, test } from 'vitest';
import { INTERNALS } from '#queue';
import { Gate, of, queueOf, upTo } from '../e2e/gate.ts';
import { within } from '../support/index.ts';

/** Free records come round after so few that generations would repeat after 1,024 cancels. */
const FEW = 4;

test('17.5 thousands of cancels behind a held worker: what is left runs in order, each once', async () => {
  const gate = new Gate(64);
  const queue = queueOf({ concurrency: 1, workerData: gate.workerData, ...({ [INTERNALS]: { rotation: FEW } } as object) });
  const order: number[] = [];
  const held = queue.run(of('gate.js'), 0);
  await gate.entered();
  const kept: Promise<unknown>[] = [];
  for (const k of upTo(10)) {
    kept.push(queue.run(of('gate.js', 'count'), k + 1).then((value) => order.push(value as number)));
    for (let n = 0; n < 503; n++) {
      const controller = new AbortController();
      const cancelled = queue.run(of('gate.js', 'count'), 60, { signal: controller.signal });
      controller.abort();
      await cancelled.catch(() => {});
    }
  }
  expect(queue.size).toBe(10);
  gate.open();
  await within(Promise.all([held, ...kept]), 'all tasks');
  expect(order).toEqual(upTo(10).map((k) => k + 1));
  expect(gate.ran()).toEqual(Object.fromEntries(upTo(11).map((k) => [k, 1])));
});
