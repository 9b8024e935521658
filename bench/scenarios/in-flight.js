/** Shared by scenarios that keep a fixed number of tasks in flight. Runs in a contender's process. */

export const IN_FLIGHT = 64;
const WARM_MS = 1500;
const ROUND_MS = 1000;

/** Runs `count` tasks, never more than 64 at once, and checks every result. Milliseconds taken. */
export async function keepInFlight(pool, count, { value, check }) {
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const i = next++;
      const result = await pool.run(value(i));
      if (!check(result, i)) throw new Error(`wrong result for task ${i}: ${JSON.stringify(result)}`);
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  return performance.now() - start;
}

/** Same time for every contender, whatever its speed; then as many tasks a round as take about a second. */
export async function warmInFlight(pool, task) {
  let rate = 0;
  for (const start = performance.now(); performance.now() - start < WARM_MS; ) {
    const count = Math.max(2000, Math.round(rate * 200));
    rate = count / (await keepInFlight(pool, count, task));
  }
  return { tasks: Math.round(rate * ROUND_MS) };
}

/** A tenth of a second untimed, then the timed part. */
export async function timed(pool, { tasks }, task) {
  await keepInFlight(pool, Math.ceil(tasks / 10), task);
  globalThis.gc();
  const cpu = process.cpuUsage();
  const ms = await keepInFlight(pool, tasks, task);
  const { user, system } = process.cpuUsage(cpu);
  return { rate: (tasks / ms) * 1000, cpuUs: (user + system) / tasks };
}

export const NUMBER = { value: (i) => i, check: (result, i) => result === i + 1 };
