/**
 * The guard word: whether a worker's thread is in user code, so that nobody ends it while it changes shared structures.
 * Crossed by the worker; moved to DOOMED by whoever means to end the thread.
 *
 *   OPEN -enter-> LIBRARY -leave-> OPEN        and for the killer        OPEN -> DOOMED -> OPEN
 *
 * OPEN while user code can run: boot, handler, event loop, import, getters met while a value is read, waits. LIBRARY is never
 * held across an await, a wait or anything that runs user code. A worker that finds itself doomed touches nothing more until
 * the killer changes its mind.
 */
import { cas, load, store, wait } from '#atomics';

export const OPEN = 0;
export const LIBRARY = 1;
export const DOOMED = 2;

/** @thread worker. Waits here, perhaps for ever, if the thread is to be ended. */
export function enterLibrary(m: Int32Array, guard: number): void {
  // edge guard-1: crossing
  while (cas(m, guard, OPEN, LIBRARY) !== OPEN) wait(m, guard, DOOMED); // the killer notifies when it puts OPEN back
}

/** @thread worker. Also true after an error of the library's own, which has left the guard as it was. */
export const isInLibrary = (m: Int32Array, guard: number): boolean => load(m, guard) === LIBRARY;

/** @thread worker. LIBRARY is its own to leave: nobody else moves that state. */
export function leaveLibrary(m: Int32Array, guard: number): void {
  store(m, guard, OPEN); // edge guard-1: what was changed inside -> whoever dooms the thread
}
