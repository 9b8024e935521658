/**
 * The guard word: whether a worker's thread is in user code, so that nobody ends it while it changes shared structures.
 * The worker moves it between OPEN and LIBRARY; the host moves it to DOOMED when it means to end the thread (`terminate.ts`).
 *
 *   worker:  OPEN -enterLibrary-> LIBRARY -leaveLibrary-> OPEN
 *   host:    OPEN -toDoomed-> DOOMED -(it is not to be ended after all)-> OPEN
 *
 * It is OPEN whenever user code can run: while the thread boots, in a handler, in the event loop, during an import, while the getters
 * of a value are read, and while the thread waits. So the library is always left before an await, a wait, or a call of user code, and
 * a thread that is doomed stands outside of it. A worker that finds DOOMED where it wants to enter waits there, and changes nothing
 * shared any more, until its thread is ended or the host puts OPEN back.
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
