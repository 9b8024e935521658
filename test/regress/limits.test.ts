/** Cases about values, limits and the environment of workers. Real worker threads; whole processes as children. */
import { describe, expect, test } from 'vitest';
import { errorOf, Gate, of, onceEach, queueOf, upTo } from '../e2e/gate.ts';
import { settled } from '../e2e/limits.ts';
import { inChild, projectFolder, within } from '../support/index.ts';

test('B44 waits that tasks have left behind on words of their own take no wake of ours', async () => {
  const gate = new Gate();
  const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
  const leavesWaits = (k: number): number => {
    const { words } = process.getBuiltinModule('node:worker_threads').workerData as { words: Int32Array };
    for (let word = 8; word < 16; word++) void Atomics.waitAsync(words, word, 0, k % 2 ? 1 : undefined).value;
    return k;
  };
  for (let k = 0; k < 100; k++) await expect(within(queue.run(leavesWaits, k), `task ${k}`)).resolves.toBe(k);
  await settled(queue);
});

test('B32 a native addon that cannot be loaded is named in the error of each worker, and none hangs', async () => {
  const project = await projectFolder({
    'addon.cjs': "module.exports = require('./broken.node');",
    'broken.node': 'this is no shared object',
  });
  try {
    const queue = queueOf({ concurrency: 2, parallelism: 2 });
    await queue.warm(2);
    const errors = await within(
      Promise.all(upTo(4).map((k) => errorOf(queue.run(new URL('addon.cjs', project.url), k)))),
      'four rejections',
    );
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'E_HANDLER_LOAD' });
      expect(error.message).toContain('broken.node');
    }
    await settled(queue);
  } finally {
    await project.remove();
  }
});

describe('B58 bytes that share Node’s pool', () => {
  test('stay intact on both sides, whichever of them is sent', async () => {
    const queue = queueOf(1);
    const [a, b] = [Buffer.from('first'), Buffer.from('second')];
    expect(a.buffer).toBe(b.buffer); // or this test means nothing
    const echoed = (await queue.run((bytes: Uint8Array) => bytes, a)) as Uint8Array;
    expect(Buffer.from(echoed).toString()).toBe('first');
    expect(echoed.buffer.byteLength).toBeLessThan(b.buffer.byteLength);
    expect([a.toString(), b.toString()]).toEqual(['first', 'second']);
    const [one, two] = (await queue.run(() => ['one', 'two'].map((text) => Buffer.from(text)))) as Uint8Array[];
    expect([one, two].map((bytes) => Buffer.from(bytes as Uint8Array).toString())).toEqual(['one', 'two']);
  });
});

test('B66 no more threads than allowed are started for a burst, however many processors there seem to be', async () => {
  const gate = new Gate(200);
  const queue = queueOf({ concurrency: 2, parallelism: 64, workerData: gate.workerData });
  await Promise.all(upTo(200).map((k) => queue.run(of('gate.js', 'overlap'), k)));
  expect(queue.stats().workers.started).toBeLessThanOrEqual(2);
  expect(gate.most).toBeLessThanOrEqual(2);
  expect(gate.ran()).toEqual(onceEach(upTo(200)));
});

test('B65 with a heap flag of the process beside resourceLimits, a worker can be asked which limit holds', async () => {
  const { code, stdout } = await inChild(
    `
    import { TaskQueue } from 'railhead';
    const queue = new TaskQueue({ concurrency: 1, resourceLimits: { maxOldGenerationSizeMb: 40 } });
    const limitMb = await queue.run(() => process.getBuiltinModule('node:v8').getHeapStatistics().heap_size_limit / 2 ** 20);
    console.log(limitMb > 20 && limitMb < 1_000);
    await queue.stop();
  `,
    [],
    { execArgv: ['--max-old-space-size=300'] },
  );
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'true\n' });
});

test('B69 timers of the host go on while a flood of results comes in', async () => {
  const queue = queueOf({ concurrency: 2 });
  const text = 'x'.repeat(2_000);
  const results = upTo(20_000).map(() => queue.run((value: string) => value, text));
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await within(Promise.all(results), 'the flood');
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
  await settled(queue);
});
