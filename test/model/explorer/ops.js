/** What a model thread can be about to do: the seam's operations, and three of the explorer's own. Main thread, as all of this folder. */
import { OP, pending } from '../../../dist/memory/atomics.model.js';

export { pending };

export const { load: LOAD, store: STORE, cas: CAS, exchange: EXCHANGE, add: ADD, or: OR, and: AND, notify: NOTIFY } = OP;
export const { peek: PEEK, poke: POKE, glance: GLANCE, waitAsync: WAIT_ASYNC, wait: WAIT } = OP;
/** `await` of what `waitAsync` returned. */
export const AWAIT = 20;
/** A thread that was blocked goes on. */
export const RESUME = 21;
/** A litmus thread ends another one: `terminate(name)`. */
export const TERMINATE = 22;

export const NAMES = [];
for (const [name, code] of Object.entries(OP)) NAMES[code] = name;
NAMES[AWAIT] = 'await';
NAMES[RESUME] = 'resume';
NAMES[TERMINATE] = 'terminate';

/** Plain accesses cannot be told apart in time from the atomic one before them, as long as nothing races (README). */
export const isPlain = (op) => op === PEEK || op === POKE;
