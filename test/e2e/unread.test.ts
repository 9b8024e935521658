/** `maxResultBytes`: unread results of a blocked host are bounded, and nothing waits for ever. Real worker threads. */
import { describe, expect, test } from 'vitest';
import { inChild, within } from '../support/index.ts';
import { Gate, of, onceEach, queueOf, upTo } from './gate.ts';

const MIB = 1024 * 1024;
const block = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
/** Counts that it ran, and gives so many bytes. */
const fill = of('unread.js', 'fill');

describe('maxResultBytes', () => {
  test.each([
    ['shared memory', 100_000],
    ['ports', 1_500_000],
  ])('P7 holds workers back while the host is blocked, and they go on when it reads: %s', async (_where, bytes) => {
    const gate = new Gate(64);
    const queue = queueOf({ concurrency: 2, parallelism: 2, maxResultBytes: 10 * bytes, workerData: gate.workerData });
    await queue.warm(2);
    const results = upTo(60).map((index) => queue.run(fill, { index, bytes }));
    block(700);
    const ran = Object.keys(gate.ran()).length;
    expect(ran).toBeGreaterThanOrEqual(10);
    expect(ran).toBeLessThanOrEqual(12); // one more in each worker
    const lengths = await within(Promise.all(results.map(async (each) => ((await each) as Uint8Array).length)), '60 results');
    expect(lengths).toEqual(upTo(60).map(() => bytes));
    expect(gate.ran()).toEqual(onceEach(upTo(60)));
    expect(await queue.run((n: number) => n, 1)).toBe(1);
  });

  test('counts only what takes memory of its own: small results are never held back', async () => {
    const gate = new Gate(2_000);
    const queue = queueOf({ concurrency: 1, maxResultBytes: 1, workerData: gate.workerData });
    await queue.warm(1);
    const results = upTo(2_000).map((k) => queue.run(of('gate.js', 'count'), k));
    block(500);
    expect(gate.ran()).toEqual(onceEach(upTo(2_000)));
    await expect(Promise.all(results)).resolves.toEqual(upTo(2_000));
  });

  test('P5 stop() ends workers that are held back', async () => {
    const gate = new Gate(64);
    const queue = queueOf({ concurrency: 2, maxResultBytes: 1_000, workerData: gate.workerData });
    const results = Promise.allSettled(upTo(40).map((index) => queue.run(fill, { index, bytes: 5_000 })));
    block(300);
    const { completed, stuck } = await within(queue.stop(), 'stop');
    expect([completed, stuck]).toEqual([40, []]);
    await results;
  });

  test('P5 stop() cuts what waits behind them', async () => {
    const gate = new Gate(64);
    const queue = queueOf({ concurrency: 1, maxResultBytes: 1_000, workerData: gate.workerData });
    await queue.warm(1);
    const results = upTo(40).map((index) => queue.run(fill, { index, bytes: 5_000 }));
    block(300);
    const settled = Promise.allSettled(results);
    const report = await within(queue.stop({ timeoutMs: 0 }), 'stop');
    expect(report.completed + report.cut).toBe(40);
    expect((await settled).filter((each) => each.status === 'rejected').length).toBe(report.cut);
    expect(report.stuck).toEqual([]);
  });

  test('recycling and dying workers do not leave others held back', async () => {
    const gate = new Gate(256);
    const queue = queueOf({ concurrency: 2, maxResultBytes: 20_000, workerData: gate.workerData });
    for (let round = 0; round < 6; round++) {
      const tasks = upTo(20).map((index) => queue.run(of('unread.js', 'fillOrExit'), { index, bytes: 8_000, exit: index % 7 === round }));
      if (round % 2 === 0) block(30);
      queue.recycle();
      const settled = await within(Promise.allSettled(tasks), `round ${round}`);
      expect(settled.filter((each) => each.status === 'rejected').length).toBe(upTo(20).filter((index) => index % 7 === round).length);
    }
  });

  test('timers of a worker that is held back go on', async () => {
    const gate = new Gate(64);
    const queue = queueOf({ concurrency: 1, maxResultBytes: 1_000, workerData: gate.workerData });
    await queue.run(of('unread.js', 'tick'), 63);
    const results = upTo(10).map((index) => queue.run(fill, { index, bytes: 5_000 }));
    block(50);
    const before = gate.ran()[63] ?? 0;
    block(300);
    expect((gate.ran()[63] ?? 0) - before).toBeGreaterThan(5);
    await Promise.all(results);
  });
});

test('a process whose workers are held back exits once its results are read', async () => {
  const { code, stdout, stderr } = await inChild(`
    import { TaskQueue } from 'railhead';
    const queue = new TaskQueue({ concurrency: 2, maxResultBytes: ${MIB} });
    const results = Array.from({ length: 20 }, () => queue.run((n) => new Uint8Array(n), 400_000));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    console.log((await Promise.all(results)).length);
  `);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '20\n', stderr: '' });
});
