/** Stopping at random moments, with random deadlines: all that was admitted settles once, and nothing starts afterwards. Seeded. */
import { INTERNALS } from '#queue';
import { handler, TaskQueue } from 'railhead';
import { expect, test } from 'vitest';
import { seeded, until, within } from '../../support/index.ts';

const count = handler(new URL('../../fixtures/gate.js', import.meta.url), 'count');

test('P1 P5 a hundred stops at random moments lose nothing and start nothing', async () => {
  const random = seeded();
  for (let round = 0; round < 100; round++) {
    const values = 400;
    const ledger = new Int32Array(new SharedArrayBuffer(values * 4));
    const told: unknown[] = [];
    const queue = new TaskQueue({
      concurrency: random.int(1, 3),
      parallelism: 3,
      maxIdleMs: random.pick([0, 5, 5_000]),
      maxBatchSize: random.pick([1, 8, 64]),
      maxJobs: random.pick([0, 0, 50]),
      workerData: { ledger, words: new Int32Array(new SharedArrayBuffer(64)) },
      onError: (error) => told.push((error as { code?: unknown }).code),
      ...({ [INTERNALS]: { ringCapacity: 2, firstSequence: 2 ** 31 - 8, rotation: 64 } } as object),
    });
    const label = `seed ${random.seed}, round ${round}`;
    if (random.int(0, 2) === 0) await queue.warm(1);
    const fates: Promise<string>[] = [];
    let admitted = 0;
    const stopAt = random.int(0, values);
    for (let value = 0; value < stopAt; value++) {
      admitted++;
      if (random.int(0, 1) === 0)
        fates.push(
          queue.run(count, value).then(
            () => 'done',
            (error) => error.code,
          ),
        );
      else queue.push(count, value);
      if (random.int(0, 49) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    const timeoutMs = random.pick([0, 0, 1, 10, 30_000]);
    const report = await within(queue.stop({ timeoutMs }), `stop: ${label}`);
    const after = ledger.slice();
    const settled = await within(Promise.all(fates), `all fates: ${label}`);
    expect(queue.pending, label).toBe(0);
    expect(report, label).toMatchObject({ failed: 0 });
    await until(() => queue.stats().workers.condemned === 0, `threads to end: ${label}`); // those that were late on a loaded machine
    expect(report.completed + report.cut, label).toBe(admitted);
    if (timeoutMs === 30_000) expect(report.cut, label).toBe(0);
    expect(
      settled.every((fate) => fate === 'done' || fate === 'E_QUEUE_STOPPED'),
      label,
    ).toBe(true);
    expect(Math.max(0, ...ledger), label).toBeLessThanOrEqual(1);
    expect(
      ledger.reduce((a, b) => a + b, 0),
      label,
    ).toBeGreaterThanOrEqual(report.completed);
    expect(
      told.every((code) => code === 'E_QUEUE_STOPPED'),
      label,
    ).toBe(true);
    expect(queue.stats().workers.live, label).toBe(0);
    expect(ledger, label).toEqual(after);
  }
}, 180_000);
