/**
 * Messages between the host and one worker, for what is rare: everything on the path of a job goes through shared memory. A
 * channel of our own, since messages on `parentPort` belong to the handlers' program.
 */
import type { Entry, ErrorWire } from '#base';

/** Host to worker. */
export type ToWorker =
  /** The submitter has given up on a running job: fire its `task.signal`. */
  | { readonly kind: 'abort'; readonly entry: Entry; readonly reason: ErrorWire }
  /** Load all handlers known now, and answer `warm`. */
  | { readonly kind: 'warm' };

/** Worker to host. */
export type ToHost =
  /** It claims from now on. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'warm' }
  /** An error was thrown outside any handler's own promise; the worker takes nothing new. */
  | { readonly kind: 'uncaught'; readonly error: ErrorWire };
