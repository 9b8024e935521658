/** CPU time of the whole process (main and workers, user and system) per smallest task, with 64 in flight. */
import { NUMBER, timed, warmInFlight } from './in-flight.js';

export const title = 'CPU per tiny task, 64 in flight';
export const handler = 'inc';
export const figures = { cpu: { unit: 'µs', better: 'lower' } };
export const warm = (pool) => warmInFlight(pool, NUMBER);
export const part = (pool, note) => timed(pool, note, NUMBER);
export const sum = ([{ cpuUs }]) => ({ cpu: cpuUs });
