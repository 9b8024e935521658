/**
 * What the tasks themselves note down, in memory that outlives their threads: one row of words for each task. Written by the
 * handlers, read by the main thread. The library under test never touches it.
 */

/** How often the handler began, and how often it came to its end. */
export const STARTED = 0;
export const ENDED = 1;
/** How often the fault of this task was really committed. */
export const STRUCK = 2;
/** `workerId` of the thread on which it began last. */
export const WHERE = 3;
const FIELDS = 4;

export const ledgerFor = (tasks) => new Int32Array(new SharedArrayBuffer(Math.max(1, tasks) * FIELDS * 4));
export const at = (index, field) => index * FIELDS + field;
/** Rows at the end of a ledger say which threads have begun to run tasks. */
export const threadRow = (ledger, thread) => ledger.length / FIELDS - 1 - thread;
