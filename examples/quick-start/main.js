/**
 * Quick start: a function and a module as handlers, on worker threads that are reused.
 *
 *   node examples/quick-start/main.js
 *
 * Output:
 *   fib(25) = 75025
 *   ten at once: 1 1 2 3 5 8 13 21 34 55
 *   sha256 of 'railhead' starts with dc8a75135347
 *   a handler's own error comes back: RangeError: -1 is not a size
 */
import { handler, TaskQueue } from 'railhead';

// A function handler is sent to the workers as source text: it takes one argument and uses nothing from around it.
function fib(n) {
  let [a, b] = [0, 1];
  for (let i = 0; i < n; i++) [a, b] = [b, a + b];
  return a;
}

const queue = new TaskQueue(2);
console.log(`fib(25) = ${await queue.run(fib, 25)}`);

const ten = await Promise.all(Array.from({ length: 10 }, (_, i) => queue.run(fib, i + 1)));
console.log(`ten at once: ${ten.join(' ')}`);

// A module handler may import what it likes; each worker loads it once.
const sha256 = handler(new URL('./hash.js', import.meta.url), 'sha256');
const digest = await queue.run(sha256, 'railhead');
console.log(`sha256 of 'railhead' starts with ${digest.slice(0, 12)}`);

try {
  await queue.run((size) => {
    throw new RangeError(`${size} is not a size`);
  }, -1);
} catch (error) {
  console.log(`a handler's own error comes back: ${error.name}: ${error.message}`);
}

await queue.stop();
