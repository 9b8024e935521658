/** @see terminations.js. With small rings and a wrap in sight, and as the queue comes. */
import { terminations } from './terminations.js';

export default ({ seed, count, small }, checks) =>
  terminations({ seed, count, internals: small ? { ringCapacity: 2, rotation: 64, firstSequence: 2 ** 31 - 8 } : undefined }, checks);
