/** Options of one run, of `stop` and of `warm`. The submitting thread; pure. Read for each task, so nothing is made where none are given. */
import type { WorkerOptions } from 'node:worker_threads';
import { Object } from './realm.ts';
import * as is from './check.ts';
import { RUN_ELSEWHERE, STOP_ELSEWHERE, WAIT_ELSEWHERE } from './elsewhere.ts';

/** Something that can be moved to another thread: an ArrayBuffer, a MessagePort, a FileHandle … */
export type Transferable = NonNullable<WorkerOptions['transferList']>[number];

/** Options of one `run`. */
export interface RunOptions {
  /** Aborts this task and no other. The promise rejects at once; a running handler is told through `task.signal`. @default none */
  readonly signal?: AbortSignal | undefined;
  /** Run time allowed to the task, in ms, time in the queue not included. `0` turns it off. @default the queue's `timeoutMs` */
  readonly timeoutMs?: number | undefined;
  /** Time allowed from submission until the task has settled, in ms. `0` turns it off. @default 0 */
  readonly deadlineMs?: number | undefined;
  /** Parts of the value that are moved instead of copied; the caller can no longer use them. @default none */
  readonly transfer?: readonly Transferable[] | undefined;
  /**
   * What happens if the worker dies under the task: it fails, or it runs again up to `retry` more times. A value that is handed
   * over instead of copied is gone with the worker that had it, so its task fails all the same: what is moved (buffers of together
   * more than 32 KiB, ports, streams), what is larger than 1 MiB, and kinds like Blob or KeyObject. @default 'reject'
   */
  readonly onCrash?: 'reject' | { readonly retry: number } | undefined;
  /** Told of each value that the handler passes to `task.progress`, in order. Not acted on yet: setting it is a TypeError. @default none */
  readonly onProgress?: ((value: unknown) => void) | undefined;
}

/** As checked. `retry` is `onCrash` as a number: how often a crashed task may run again. */
export interface ResolvedRunOptions {
  readonly signal: AbortSignal | undefined;
  /** `undefined`: the queue's own. */
  readonly timeoutMs: number | undefined;
  /** `0`: none. */
  readonly deadlineMs: number;
  readonly transfer: readonly Transferable[] | undefined;
  readonly retry: number;
  readonly onProgress: ((value: unknown) => void) | undefined;
}

/** Options of `stop`. */
export interface StopOptions {
  /** How long admitted work may go on, in ms. @default the queue's `stopTimeoutMs` */
  readonly timeoutMs?: number | undefined;
  /** Cuts what is left at once when it is aborted. @default none */
  readonly signal?: AbortSignal | undefined;
}

export interface ResolvedStopOptions {
  /** `undefined`: the queue's own. */
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Options of `warm`. */
export interface WarmOptions {
  /** How long it may take, in ms. `0` turns it off. @default 0 */
  readonly timeoutMs?: number | undefined;
  /** Gives it up when it is aborted. @default none */
  readonly signal?: AbortSignal | undefined;
}

export interface ResolvedWarmOptions {
  /** `0`: none. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

const ms = is.amount('a number of ms');

/** Most re-runs of one task: more would only hide a handler that always dies. Above 4,094 the count outgrows the 12 bits of its attempt. */
const MAX_RETRY = 255;

const RUN: is.Table<RunOptions> = {
  signal: is.row(is.abortSignal),
  timeoutMs: is.row(ms),
  deadlineMs: is.row(ms, 0),
  transfer: is.row(is.list),
  onCrash: is.row(
    is.objectOr('to be "reject" or an object `{ retry }`', (value) => value === 'reject'),
    'reject',
  ),
  onProgress: is.row(is.callback),
};
const RETRY = is.integer(0, MAX_RETRY);
const ON_CRASH: is.Table<{ readonly retry: number }> = { retry: is.row(is.anything) }; // checked below, under its full name
const STOP: is.Table<StopOptions> = { timeoutMs: is.row(ms), signal: is.row(is.abortSignal) };
const WARM: is.Table<WarmOptions> = { timeoutMs: is.row(ms, 0), signal: is.row(is.abortSignal) };

const NO_RUN_OPTIONS: ResolvedRunOptions = Object.freeze({
  signal: undefined,
  timeoutMs: undefined,
  deadlineMs: 0,
  transfer: undefined,
  retry: 0,
  onProgress: undefined,
});
const NO_STOP_OPTIONS: ResolvedStopOptions = Object.freeze({ timeoutMs: undefined, signal: undefined });

/** Options of one run, checked. Without any it is always the same object: nothing is made. @throws as `readQueueOptions` */
export function readRunOptions(input: RunOptions | undefined): ResolvedRunOptions {
  if (input === undefined) return NO_RUN_OPTIONS;
  is.checkHolder('options', input);
  const { signal, timeoutMs, deadlineMs, transfer, onCrash, onProgress } = is.readTable('options', input, RUN, RUN_ELSEWHERE);
  return { signal, timeoutMs, deadlineMs: deadlineMs ?? 0, transfer, retry: readRetry(onCrash), onProgress };
}

function readRetry(onCrash: RunOptions['onCrash']): number {
  if (onCrash === undefined || onCrash === 'reject') return 0;
  const { retry } = is.readTable('onCrash', onCrash, ON_CRASH);
  is.check('onCrash.retry', retry, RETRY);
  return retry;
}

/** Options of `stop`, checked. @throws as `readQueueOptions` */
export function readStopOptions(input: StopOptions | undefined): ResolvedStopOptions {
  if (input === undefined) return NO_STOP_OPTIONS;
  is.checkHolder('options', input);
  return is.readTable('options', input, STOP, STOP_ELSEWHERE) as ResolvedStopOptions;
}

/** Options of `warm`, checked. @throws as `readQueueOptions` */
export function readWarmOptions(input: WarmOptions | undefined): ResolvedWarmOptions {
  if (input !== undefined) is.checkHolder('options', input);
  return is.readTable('options', input ?? {}, WARM, WAIT_ELSEWHERE) as ResolvedWarmOptions;
}
