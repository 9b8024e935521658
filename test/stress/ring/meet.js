/** What the threads of these tests wait with. Worker threads. */

const nobody = new Int32Array(new SharedArrayBuffer(4));

/** Gives the processor away: with ten threads on two cores a bare loop would starve the one it waits for. */
export function yieldProcessor() {
  Atomics.wait(nobody, 0, 0, 0.02);
}

/** Calls `fn` until it returns something truthy, and returns that. @throws Error at the deadline, with `what`. */
export function spinUntil(fn, what, deadlineMs = 30_000) {
  const end = performance.now() + deadlineMs;
  for (let k = 1; ; k++) {
    const value = fn();
    if (value) return value;
    if (k % 64 === 0) {
      if (performance.now() > end) throw new Error(`Spun ${deadlineMs} ms in vain for: ${what}`);
      yieldProcessor();
    }
  }
}

/** Returns in all `threads` threads at about the same moment. `m[i]` is 0 before. */
export function meet(m, i, threads) {
  Atomics.add(m, i, 1);
  spinUntil(() => Atomics.load(m, i) >= threads, 'the others to arrive');
}
