/**
 * The process of one contender in one scenario: `node --expose-gc bench/child.js <scenario> <contender> <workers>`.
 * It does what its parent asks, one thing at a time, and sleeps in between while the others have their turn.
 *
 *   warm -> part -> … -> sum -> part -> … -> sum -> close
 */
import { load } from './scenarios/index.js';

const [name, contender, workers] = process.argv.slice(2);
const scenario = await load(name);
const { create } = await import(`./peers/${contender}.js`);
const pool = await create({ workers: Number(workers), module: new URL(`./handlers/${scenario.handler}.js`, import.meta.url) });

let note;
let parts = [];
let idle = { cpu: process.cpuUsage(), at: performance.now() };
let busiestIdle = 0; // share of one core used between our turns: should be about 0, or we disturb the others

const steps = {
  warm: async () => (note = await scenario.warm(pool)),
  part: async () => void parts.push(await scenario.part(pool, note)),
  sum: () => {
    const figures = scenario.sum(parts);
    parts = [];
    return { figures, idleShare: Number(busiestIdle.toFixed(4)) };
  },
  close: () => pool.close(),
};

process.on('message', async (step) => {
  const ms = performance.now() - idle.at;
  const { user, system } = process.cpuUsage(idle.cpu);
  if (ms > 500) busiestIdle = Math.max(busiestIdle, (user + system) / 1000 / ms);
  try {
    process.send({ result: await steps[step]() });
  } catch (error) {
    process.send({ error: error?.stack ?? String(error) });
  }
  idle = { cpu: process.cpuUsage(), at: performance.now() };
});
process.send({ result: 'ready' });
