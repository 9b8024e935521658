/** How many of the smallest tasks a second, with 64 in flight: what the runtime itself costs. */
import { NUMBER, timed, warmInFlight } from './in-flight.js';

export const title = 'number -> number, 64 in flight';
export const handler = 'inc';
export const figures = { rate: { unit: 'tasks/s', better: 'higher' } };
export const warm = (pool) => warmInFlight(pool, NUMBER);
export const part = (pool, note) => timed(pool, note, NUMBER);
export const sum = ([{ rate }]) => ({ rate });
