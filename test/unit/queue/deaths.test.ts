/** After a thread has ended: what its task is told, and what becomes of others. Puppets instead of threads. */
import { afterEach, describe, expect, test } from 'vitest';
import { toWire } from '#base';
import { CRASH_LOOP, FAILED } from '#memory';
import { noteExit } from '#pool';
import { end, pass, type Puppet, puppetQueue, puppets, type Seen, watch } from './puppet.ts';

afterEach(end);

describe('18.4 the death of a worker is told in a sentence', () => {
  const outOfMemory = Object.assign(new Error('heap'), { code: 'ERR_WORKER_OUT_OF_MEMORY' });
  const eat = (value: unknown): unknown => value;
  const advice = '. Give each task less at once, or set `resourceLimits: { maxOldGenerationSizeMb }` higher';
  const tail = 'while it ran a task of handler `eat`';
  const died = async (how: (worker: Puppet) => void, resourceLimits?: { maxOldGenerationSizeMb?: number }): Promise<Seen> => {
    const task = watch(puppetQueue({ resourceLimits }).run(eat, 1));
    const worker = (puppets[0] as Puppet).boot();
    worker.start();
    how(worker);
    worker.exit(7);
    await pass(1);
    return task;
  };
  const limited = { maxOldGenerationSizeMb: 64 };

  test.each([
    ['oom', outOfMemory, limited, `ran out of memory (its limit: \`resourceLimits.maxOldGenerationSizeMb\` of 64) ${tail}${advice}`],
    ['oom', outOfMemory, undefined, `ran out of memory (its limit: the default of Node) ${tail}${advice}`],
    ['crash', new Error('leaked'), undefined, `was ended by an error that nothing caught (leaked) ${tail}`],
  ])('by an error: %s', async (reason, error, limits, message) => {
    const { error: told, code } = await died((worker) => worker.emit('error', error), limits);
    expect(code).toBe('E_WORKER_DIED');
    expect(told).toMatchObject({ reason, exitCode: 7, cause: error, message: `Worker 1 ${message}` });
  });

  test('by itself, or by somebody else', async () => {
    const itself = await died((worker) => noteExit(worker.region.m, worker.slot));
    expect(itself.error).toMatchObject({ reason: 'exit', exitCode: 7 });
    expect(itself.error?.message).toBe(`Worker 1 ended itself (\`process.exit\`) with exit code 7 ${tail}`);
    await end();
    const terminated = await died(() => {});
    expect(terminated.error).toMatchObject({ reason: 'terminated', exitCode: 7 });
    expect(terminated.error?.message).toBe(`Worker 1 was terminated, not by the queue, with exit code 7 ${tail}`);
  });
});

test('16.1 a crash loop that a verb learns of fails what waits only after the verb: a batch may hold jobs that are not published yet', async () => {
  const told: unknown[] = [];
  const queue = puppetQueue({ maxPending: 3, onError: (error) => told.push((error as Error).message) });
  const handler = (value: unknown): unknown => value;
  queue.submit(handler, 0);
  const worker = (puppets[0] as Puppet).boot();
  worker.start();
  worker.settle(toWire(new Error('no loading')), 0, FAILED | CRASH_LOOP);
  expect(queue.submitBatch(handler, [1, 2, 3])).toBe(3); // the third finds no room until the first task has settled
  expect(queue.pending).toBe(3);
  await pass(1);
  expect(queue.pending).toBe(0);
  expect(queue.stats()).toMatchObject({ completed: 0, failed: 4 });
  expect(told).toEqual(Array(4).fill('no loading'));
});
