/** B56 poolifier/poolifier#308: a value that cannot be cloned counted as the death of a worker. Real worker threads. */
import { expect, test } from 'vitest';
import { queueOf, upTo } from '../e2e/gate.ts';

/** Of each way in which values travel: the fast codec, the engine, a port. */
const UNCLONEABLE: readonly ((k: number) => unknown)[] = [
  (k) => () => k,
  (k) => new Map([[k, () => k]]),
  (k) => ({ k, later: Promise.resolve() }),
  (k) => ({ shared: new SharedArrayBuffer(k + 1), f: () => k }),
];

test('B56 100 arguments and 100 results that cannot be cloned fail alone, and the worker is the same', async () => {
  const queue = queueOf(1);
  const first = await queue.run((_: undefined, task) => task.workerId, undefined);
  const given = upTo(100).map((k) => queue.run((value: unknown) => value, UNCLONEABLE[k % UNCLONEABLE.length]!(k)));
  const taken = upTo(100).map((k) =>
    queue.run(
      (n: number) =>
        [() => n, new Set([Symbol('s')]), { later: Promise.resolve() }, { shared: new SharedArrayBuffer(1), f: () => n }][n % 4],
      k,
    ),
  );
  const codes = (await Promise.allSettled([...given, ...taken])).map((each) =>
    each.status === 'rejected' ? each.reason.code : each.status,
  );
  expect(codes).toEqual([...upTo(100).map(() => 'E_ARGUMENT_CLONE'), ...upTo(100).map(() => 'E_RESULT_CLONE')]);
  expect(await queue.run((_: undefined, task) => task.workerId, undefined)).toBe(first);
  expect(queue.stats()).toMatchObject({ failed: 100, pending: 0, workers: { started: 1 } });
});
