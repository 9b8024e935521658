/** A small object there and back, 64 in flight: what values cost. */
import { timed, warmInFlight } from './in-flight.js';

const TASK = {
  value: (i) => ({ id: i, name: 'a name', x: i + 0.5, y: 0.25, live: true }),
  check: (r, i) => r.id === i + 1 && r.name === 'a name' && r.x === 0.25 && r.y === i + 0.5 && r.live === false,
};

export const title = '5-field object -> object, 64 in flight';
export const handler = 'swap';
export const figures = { rate: { unit: 'tasks/s', better: 'higher' } };
export const warm = (pool) => warmInFlight(pool, TASK);
export const part = (pool, note) => timed(pool, note, TASK);
export const sum = ([{ rate }]) => ({ rate });
