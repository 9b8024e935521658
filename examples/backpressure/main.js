/**
 * Back-pressure: refuse what there is no room for, or wait for room.
 *
 *   node examples/backpressure/main.js
 *
 * Output:
 *   submit: 4 of 10 taken, the rest refused at once
 *   submitBatch: took the first 4 of 10
 *   trySubmitBatch: false, none of 10 taken
 *   waiting for room: 200 done, never more than 4 unsettled
 */
import { TaskQueue } from 'railhead';

/** Keeps a thread busy for so many milliseconds. */
function spin(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
  return ms;
}

const queue = new TaskQueue({ concurrency: 2, maxPending: 4 });
const ten = Array(10).fill(20);

// A server that must answer: refuse, and say so to the caller.
const taken = ten.filter((ms) => queue.submit(spin, ms)).length;
console.log(`submit: ${taken} of 10 taken, the rest refused at once`);
await queue.idle();

console.log(`submitBatch: took the first ${queue.submitBatch(spin, ten)} of 10`);
await queue.idle();
console.log(`trySubmitBatch: ${queue.trySubmitBatch(spin, ten)}, none of 10 taken`);

// A producer that can wait: `ready()` resolves when there is room again.
let most = 0;
for (let i = 0; i < 200; i++) {
  while (!queue.submit(spin, 0)) await queue.ready();
  most = Math.max(most, queue.pending);
}
await queue.idle();
console.log(`waiting for room: 200 done, never more than ${most} unsettled`);

await queue.stop();
