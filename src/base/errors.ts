/**
 * Operational failures: one code table, one class. Any thread.
 *
 * A wrong use by the caller is a `TypeError` or `RangeError` instead (`check.ts`), a bug of ours a `BrokenInvariant`
 * (`assert.ts`).
 */
import { Error, hasInstance, Object } from './realm.ts';

const { captureStackTrace } = Error;

/** Stable codes are the contract; messages may change. `docs/errors.md` is generated from this table. */
export const ERRORS = {
  E_QUEUE_STOPPED: 'The queue was stopped: it admits no new work, and what had not started by its deadline is cut.',
  E_QUEUE_FULL: 'The queue already holds as many unsettled tasks as `maxPending` allows.',
  E_TASK_TIMEOUT: 'The task ran longer than its `timeoutMs`, or `warm` took longer than its own.',
  E_TASK_DEADLINE: 'The task had not settled within `deadlineMs` of its submission, time in the queue included.',
  ABORT_ERR: 'The signal of the task, or of `warm`, was aborted; `cause` is the reason of the signal.',
  E_WORKER_DIED: 'The worker thread running the task ended before the task settled; `reason` and `exitCode` say how.',
  E_WORKER_TERMINATED: 'The worker thread had to be ended because of another task that ran on it; this one may be retried.',
  E_HANDLER_LOAD: 'The module of the handler could not be imported, or its source text could not be compiled.',
  E_HANDLER_EXPORT: 'The module of the handler has no function under the name that was asked for.',
  E_CAPTURED: 'The function handler uses a variable from outside itself, which cannot follow it to another thread.',
  E_ARGUMENT_CLONE: 'The argument of the task holds something that cannot be copied to another thread.',
  E_RESULT_CLONE: 'The result of the task holds something that cannot be copied to another thread.',
  E_TOO_LARGE: 'The value is larger than `maxPayloadBytes` allows.',
  E_KEY_DEADLOCK: 'The task waits for a task of its own key, which cannot start before this one has settled.',
  E_KEY_FULL: 'The key already holds as many unsettled tasks as `maxPendingPerKey` allows.',
} as const;

/** A stable code of `RailheadError`: one of the keys of `ERRORS`. */
export type ErrorCode = keyof typeof ERRORS;

/** How a worker thread ended, on `E_WORKER_DIED`. */
export type DeathReason = 'exit' | 'oom' | 'terminated' | 'crash';

/** What an error may carry beside its code and message; what is not given is absent from the error. */
export interface ErrorExtra {
  readonly cause?: unknown;
  readonly exitCode?: number;
  readonly reason?: DeathReason;
  readonly retryable?: boolean;
}

// Registered by name, so that two copies of the package (one bundled, one not) know each other's errors.
/** @internal */
export const BRAND: unique symbol = Symbol.for('railhead.RailheadError');

/**
 * A failure of the runtime, told apart by `code`. `instanceof` holds over two copies of the package.
 * The `name` is `RailheadError`, or `AbortError` where the code is `ABORT_ERR`, as in Node's own functions.
 */
export class RailheadError extends Error {
  readonly code: ErrorCode;
  /** Exit code of the thread, on `E_WORKER_DIED`. */
  declare readonly exitCode?: number;
  /** How the thread ended, on `E_WORKER_DIED`. */
  declare readonly reason?: DeathReason;
  /** True where the task itself was not at fault, on `E_WORKER_TERMINATED`. */
  declare readonly retryable?: boolean;

  static {
    hide(RailheadError.prototype, 'name', 'RailheadError');
    hide(RailheadError.prototype, BRAND, true);
  }

  constructor(code: ErrorCode, message: string, extra: ErrorExtra = {}) {
    super(message, 'cause' in extra ? { cause: extra.cause } : undefined);
    this.code = code;
    if (extra.exitCode !== undefined) this.exitCode = extra.exitCode;
    if (extra.reason !== undefined) this.reason = extra.reason;
    if (extra.retryable !== undefined) this.retryable = extra.retryable;
    if (code === 'ABORT_ERR') {
      hide(this, 'name', 'AbortError');
      captureStackTrace(this, new.target); // again: the first line of a stack holds the name as it was when taken
    }
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a subclass inherits this, and is asked about itself, not about every error of ours.
    if (this !== RailheadError) return hasInstance(this, value);
    return typeof value === 'object' && value !== null && (value as { [BRAND]?: unknown })[BRAND] === true;
  }
}

/** Makes an error. The message names the thing, the rule, and what was received. */
export function railheadError(code: ErrorCode, message: string, extra?: ErrorExtra): RailheadError {
  return new RailheadError(code, message, extra);
}

function hide(on: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(on, key, { value, writable: true, configurable: true });
}
