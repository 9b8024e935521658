/**
 * Values of 256 MiB one after another, there and back, and what is left of them in memory: `node --expose-gc test/stress/values/huge.js
 * [count]`. Prints one line of JSON. After gc() on both sides RSS must be at most 2 × 256 MiB above the start.
 */
import { TaskQueue } from 'railhead';

const MIB = 2 ** 20;
const SIZE = 256 * MIB;
const count = Number(process.argv[2] ?? 100);
const forms = {
  bytes: (k) => new Uint8Array(SIZE).fill(k),
  text: (k) => String.fromCharCode(65 + (k % 26)).repeat(SIZE),
  inside: (k) => ({ k, bytes: new Uint8Array(SIZE).fill(k) }),
  map: (k) => new Map([['buffer', new Uint8Array(SIZE).fill(k).buffer]]),
};
const form = process.argv[3] ?? 'bytes';

const queue = new TaskQueue({ concurrency: 1, maxIdleMs: Infinity });
const echo = (value) => value;
const collect = () => {
  globalThis.gc();
  return true;
};
const settle = async () => {
  for (let k = 0; k < 3; k++) {
    globalThis.gc();
    await queue.run(collect);
    await new Promise((resolve) => setTimeout(resolve, 20)); // array buffers are freed by a thread of the engine's
  }
};

await queue.run(echo, new Uint8Array(4 * MIB));
await settle();
const start = process.memoryUsage.rss();
let most = start;
const from = performance.now();
for (let k = 0; k < count; k++) {
  const back = await queue.run(echo, forms[form](k));
  const size = form === 'map' ? back.get('buffer').byteLength : (back.bytes ?? back).length;
  if (size !== SIZE) throw new Error(`Expected ${SIZE}, got ${size}`);
  most = Math.max(most, process.memoryUsage.rss());
}
const ms = (performance.now() - from) / count;
await settle();
const over = process.memoryUsage.rss() - start;
console.log(
  JSON.stringify({ form, count, overMiB: Math.round(over / MIB), peakMiB: Math.round((most - start) / MIB), msEach: Math.round(ms) }),
);
await queue.stop();
process.exitCode = over <= 2 * SIZE ? 0 : 1;
