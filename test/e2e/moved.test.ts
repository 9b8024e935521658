/** Values that are moved or can only travel in a port: who has what afterwards, and that nothing is left. Real worker threads. */
import { createSecretKey } from 'node:crypto';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { move, TaskQueue } from 'railhead';
import { describe, expect, test } from 'vitest';
import { until, within } from '../support/index.ts';
import { errorOf, Gate, of, onceEach, queueOf, upTo } from './gate.ts';

const bytesOf = of('moves.js', 'bytes');
const ports = (): number => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;

describe('transfer', () => {
  test.each([16, 32 * 1024, 32 * 1024 + 1, 3_000_000])('moves a buffer of %i bytes to the worker', async (size) => {
    const queue = queueOf(1);
    const bytes = new Uint8Array(size).fill(9);
    const sum = queue.run((value: Uint8Array) => value.reduce((a, b) => a + b, 0), bytes, { transfer: [bytes.buffer] });
    expect(bytes.byteLength).toBe(0); // at once
    expect(await sum).toBe(size * 9);
  });

  test('moves ports and streams', async () => {
    const queue = queueOf(1);
    const { port1, port2 } = new MessageChannel();
    const heard = new Promise((resolve) => port1.once('message', resolve));
    await queue.run(of('moves.js', 'answer'), port2, { transfer: [port2] });
    expect(await heard).toBe('from the worker');
    port1.close();
    const stream = new ReadableStream({
      start(controller) {
        for (const part of ['x', 'y']) controller.enqueue(part);
        controller.close();
      },
    });
    await expect(queue.run(of('moves.js', 'readAll'), stream, { transfer: [stream as never] })).resolves.toBe('xy');
  });

  test('detaches and admits nothing when the value or the list is refused', async () => {
    const queue = queueOf(1);
    const buffer = new ArrayBuffer(50_000);
    const { port1, port2 } = new MessageChannel();
    const bad: [unknown, unknown[]][] = [
      [{ buffer, f: () => 1 }, [buffer]],
      [{ buffer }, [buffer, buffer]],
      [{ buffer }, [buffer, 'text']],
      [{ buffer, port2 }, [buffer]],
      [{ buffer, port1, bad: Symbol('s') }, [buffer, port1]],
    ];
    for (const [value, transfer] of bad) {
      expect(await errorOf(queue.run(bytesOf, value, { transfer: transfer as never }))).toMatchObject({ code: 'E_ARGUMENT_CLONE' });
    }
    expect(buffer.byteLength).toBe(50_000);
    expect(queue.pending).toBe(0);
    port1.close();
  });

  test('of something that the value does not hold is a TypeError, and nothing is detached', async () => {
    const queue = queueOf(1);
    const [held, other, view] = [new ArrayBuffer(16), new ArrayBuffer(50_000), new Uint8Array(8)];
    const { port1 } = new MessageChannel();
    const symbol = { [Symbol('not sent')]: other, held };
    const cases: [unknown, (ArrayBuffer | MessagePort)[], string][] = [
      [{ held }, [held, other], '`an instance of ArrayBuffer` (object) at [1]'],
      [symbol, [other, held], '`an instance of ArrayBuffer` (object) at [0]'],
      [undefined, [view.buffer], '`an instance of ArrayBuffer` (object) at [0]'],
      [{ held }, [port1], '`an instance of MessagePort` (object) at [0]'],
    ];
    for (const [value, transfer, got] of cases) {
      const error = await errorOf(queue.run(bytesOf, value, { transfer }));
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({
        name: 'TypeError',
        code: 'ERR_INVALID_ARG_TYPE',
        message: `Expected \`transfer\` to name only what the value holds, got ${got}, which would be lost`,
      });
      expect(await errorOf(queue.run(bytesOf, move(value, transfer)))).toMatchObject({ name: 'TypeError', message: error.message });
    }
    expect([held.byteLength, other.byteLength, view.byteLength, queue.pending]).toEqual([16, 50_000, 8, 0]);
    port1.close();
  });

  test('finds it wherever the value holds it, and asks no getter', async () => {
    const queue = queueOf(1);
    class Holder {
      readonly its: unknown;
      constructor(its: unknown) {
        this.its = its;
      }
    }
    const holders: ((buffer: ArrayBuffer) => unknown)[] = [
      (buffer) => [[{ deep: buffer }]],
      (buffer) => new Map([[buffer, new Uint16Array(4)]]),
      (buffer) => new Map([['key', new Set([new DataView(buffer)])]]),
      (buffer) => new Error('with', { cause: buffer }),
      (buffer) => new Holder(new Uint8Array(buffer, 4, 4)),
      (buffer) => ({
        get lazily() {
          return buffer;
        },
      }),
    ];
    for (const hold of holders) {
      const buffer = new ArrayBuffer(16);
      await queue.run(() => {}, hold(buffer) as never, { transfer: [buffer] });
      expect(buffer.byteLength, hold.toString()).toBe(0);
    }
  });

  test('detaches nothing when the queue is full, stopped, or the value too large', async () => {
    const buffer = new ArrayBuffer(2_000);
    const queue = queueOf({ concurrency: 1, maxPending: 1, maxPayloadBytes: 1_000 });
    expect(await errorOf(queue.run(bytesOf, buffer, { transfer: [buffer] }))).toMatchObject({ code: 'E_TOO_LARGE' });
    const first = queue.run(() => 1);
    expect(await errorOf(queue.run(bytesOf, buffer, { transfer: [buffer] }))).toMatchObject({ code: 'E_QUEUE_FULL' });
    await first;
    await queue.stop();
    expect(await errorOf(queue.run(bytesOf, buffer, { transfer: [buffer] }))).toMatchObject({ code: 'E_QUEUE_STOPPED' });
    expect(buffer.byteLength).toBe(2_000);
  });

  test('`move` marks an argument as well, in every verb', async () => {
    const queue = queueOf(1);
    const [a, b] = [new Uint8Array(100), new Uint8Array(2_000_000)];
    await expect(queue.run(bytesOf, move(a))).resolves.toBe(100);
    expect(queue.push(bytesOf, move(b))).toBe(true);
    expect([a.byteLength, b.byteLength]).toEqual([0, 0]);
    await queue.idle();
    expect(queue.stats()).toMatchObject({ completed: 2, failed: 0 });
  });
});

describe('what only a port carries', () => {
  test("Node's own objects arrive as what they are, both ways", async () => {
    const queue = queueOf(1);
    const echo = (value: unknown): unknown => value;
    expect(await ((await queue.run(echo, new Blob(['text']))) as Blob).text()).toBe('text');
    const key = createSecretKey(Buffer.from('secret'));
    expect(((await queue.run(echo, { key })) as { key: typeof key }).key.equals(key)).toBe(true);
  });

  test('shared memory stays shared', async () => {
    const queue = queueOf(1);
    const shared = new Int32Array(new SharedArrayBuffer(8));
    const back = await queue.run((value: { words: Int32Array }) => {
      value.words[1] = 7;
      return value.words;
    }, { words: shared }); // biome-ignore format: short
    expect(shared[1]).toBe(7);
    back[0] = 5;
    expect(shared[0]).toBe(5);
  });

  test('P7 with the host blocked plain jobs run on past one that waits for its port', async () => {
    const gate = new Gate();
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    await queue.warm(1);
    const waits = queue.run(bytesOf, new Uint8Array(2_000_000));
    queue.pushBatch(of('gate.js', 'count'), upTo(50));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000); // nothing turns here
    expect(gate.ran()).toEqual(onceEach(upTo(50)));
    expect(await waits).toBe(2_000_000);
  });

  test('tasks never overlap more than allowed, however long their values take', async () => {
    const gate = new Gate(256);
    const queue = queueOf({ concurrency: 1, workerData: gate.workerData });
    await queue.warm(1);
    const shared = new SharedArrayBuffer(4);
    const tasks = upTo(30).map((k) =>
      queue.run(async (value: { k: number; shared: SharedArrayBuffer }) => {
        const words = new Int32Array(value.shared);
        const together = Atomics.add(words, 0, 1) + 1;
        await new Promise((resolve) => setTimeout(resolve, 1));
        Atomics.sub(words, 0, 1);
        return [value.k, together];
      }, { k, shared }),
    ); // biome-ignore format: short
    for (let k = 0; k < 5; k++) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60); // longer than a worker is patient
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await within(Promise.all(tasks), 'all tasks')).toEqual(upTo(30).map((k) => [k, 1]));
  });

  test('P1 each task settles once, whatever dies, and no port is left', async () => {
    const before = ports();
    const queue = new TaskQueue({ concurrency: 2 });
    const value = (): Uint8Array => new Uint8Array(1_500_000);
    const results = await within(
      Promise.allSettled(
        upTo(40).map((k) => (k % 8 === 3 ? queue.run(of('moves.js', 'leave'), value()) : queue.run((bytes) => bytes, value()))),
      ),
      '40 tasks',
    );
    const fates = results.map((each) => (each.status === 'fulfilled' ? (each.value as Uint8Array).length : each.reason.code));
    expect(fates).toEqual(upTo(40).map((k) => (k % 8 === 3 ? 'E_WORKER_DIED' : 1_500_000)));
    const stays = queue.run(() => new Promise(() => {}), value());
    const waits = upTo(10).map(() => queue.run(bytesOf, value()));
    await until(() => queue.stats().running > 0, 'a running task');
    const cut = Promise.allSettled([stays, ...waits]);
    const report = await queue.stop({ timeoutMs: 0 });
    const [first, ...others] = await cut;
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'E_QUEUE_STOPPED' } });
    for (const each of others)
      expect(each.status === 'fulfilled' ? each.value : each.reason.code).toBeOneOf([1_500_000, 'E_QUEUE_STOPPED']); // the other worker may have been quicker
    expect((await cut).filter((each) => each.status === 'rejected').length).toBe(report.cut);
    await until(() => ports() <= before, 'all ports closed');
  });
});

describe('move() of a result', () => {
  test.each([16, 100_000, 3_000_000])('hands over %i bytes and leaves the handler without them', async (size) => {
    const queue = queueOf(1);
    const bytes = (await queue.run(of('moves.js', 'buffer'), size)) as Uint8Array;
    expect([bytes.length, bytes[size - 1]]).toEqual([size, size % 251]);
    await expect(queue.run(of('moves.js', 'keptBytes'))).resolves.toBe(0);
    await expect(queue.run(of('moves.js', 'later'), size)).resolves.toHaveLength(size);
  });

  test('moves only what the list names', async () => {
    const queue = queueOf(1);
    await expect(queue.run(of('moves.js', 'named'))).resolves.toEqual({ a: new ArrayBuffer(8), b: new ArrayBuffer(8) });
    await expect(queue.run(of('moves.js', 'keptBytes'))).resolves.toBe(8);
  });

  test('hands over ports and streams', async () => {
    const queue = queueOf(1);
    const { port } = (await queue.run(of('moves.js', 'doubler'))) as { port: MessagePort };
    const heard = new Promise((resolve) => port.once('message', resolve));
    port.postMessage(21);
    expect(await heard).toBe(42);
    const read: unknown[] = [];
    for await (const part of (await queue.run(of('moves.js', 'stream'))) as AsyncIterable<unknown>) read.push(part);
    expect(read).toEqual(['a', 'b']);
  });

  test('that is refused fails its task, and nothing was moved', async () => {
    const queue = queueOf(1);
    expect(await errorOf(queue.run(of('moves.js', 'wrong')))).toMatchObject({ code: 'E_RESULT_CLONE' });
    await expect(queue.run(of('moves.js', 'keptBytes'))).resolves.toBe(16);
    expect(queue.stats().workers.started).toBe(1);
  });
});
