/** Options of a queue: what each means, its range and its default, in one table. The thread that makes the queue; pure but for `parallelism`. */
import { SHARE_ENV, type WorkerOptions } from 'node:worker_threads';
import { Object } from './realm.ts';
import * as is from './check.ts';
import { QUEUE_ELSEWHERE } from './elsewhere.ts';
import { parallelism } from './parallelism.ts';

/** What an error belongs to, as `onError` and the `error` event are told. */
export interface FailedJob {
  /** Name of the function, or file and export of the module handler; undefined for an error outside any task. */
  readonly handler: string | undefined;
  /** The worker thread in which an error outside any task was thrown. */
  readonly workerId?: number;
}

/** Handed to each worker as `worker_threads` takes it. */
export interface ThreadOptions {
  /** Name of the threads, for debuggers. @default none */
  readonly name?: string | undefined;
  /** Environment of the workers. `SHARE_ENV` shares the process's own, and only where it is asked for. @default a copy of `process.env` */
  readonly env?: WorkerOptions['env'];
  /** What `process.argv` holds in a worker after the script. @default none */
  readonly argv?: readonly unknown[] | undefined;
  /** Node's own command-line options for the workers, passed on as they are. @default those of the process, without what concerns its main script alone (`-e`, `--input-type` …) */
  readonly execArgv?: readonly string[] | undefined;
  /** What handlers find as `workerData`; it is copied to each worker. @default none */
  readonly workerData?: unknown;
  /** Bounds on a worker's heap and stack, in MiB. Best effort: one huge allocation can still end the process. @default Node's own */
  readonly resourceLimits?: WorkerOptions['resourceLimits'];
  /** The file that `railhead/worker-entry` was bundled to, a `file:` URL: where a bundler took the package in and nothing is beside it. @default found */
  readonly workerEntry?: URL | undefined;
  /** Whether a line that a worker prints starts with the worker's name. @default false */
  readonly tagOutput?: boolean | undefined;
}

/** Options of `new TaskQueue(options)`. An unknown name is a `TypeError`; `undefined` means not given. */
export interface QueueOptions extends ThreadOptions {
  /** Most live workers of this queue, an integer from 1 to 1024. Fewer run as long as the processors are kept busy. @default 8 */
  readonly concurrency?: number | undefined;
  /** Most jobs that a worker claims together, an integer from 1 to 255. `1` turns batching and rescue off. @default 8 */
  readonly maxBatchSize?: number | undefined;
  /** How long a worker stays parked with nothing to do before it exits, in ms, or `Infinity`. `0`: it leaves when the queue is drained. @default 5000 */
  readonly maxIdleMs?: number | undefined;
  /** Tasks after which a worker retires and is replaced. `0` turns it off. @default 0 */
  readonly maxJobs?: number | undefined;
  /** Heap above which a worker retires after a task, in MiB. `0` turns it off. @default 0 */
  readonly maxHeapMb?: number | undefined;
  /** Most unsettled jobs admitted by `run` and `submit*`; exact. `0` turns the bound off. @default 0 */
  readonly maxPending?: number | undefined;
  /** Queued jobs above which `needsDrain` is true, an integer from 1; `ready()` resolves at half of it. @default 65536 */
  readonly backlogMax?: number | undefined;
  /** How long `stop` lets admitted work go on before it cuts what is left, in ms. @default 30000 */
  readonly stopTimeoutMs?: number | undefined;
  /** Time between the firing of `task.signal` and the end of the thread, in ms. @default 1000 */
  readonly graceMs?: number | undefined;
  /** Async tasks that may overlap in one worker, an integer from 1 to 64, or `'auto'`, which is 64. @default 1 */
  readonly tasksPerWorker?: number | 'auto' | undefined;
  /** How long a worker looks for work before it parks, in µs, at most 1000. `0` turns it off. @default adaptive, at most 50 */
  readonly spinUs?: number | undefined;
  /** Parked workers kept warm once blocked ones had to be made up for, at most `concurrency`. Not acted on yet: setting it is a TypeError. @default 1 */
  readonly spares?: number | undefined;
  /** How many workers should run while none is blocked, an integer from 1. @default the processors of this process, by affinity and cgroup quota */
  readonly parallelism?: number | undefined;
  /** Size of the largest value a task may take or give, in bytes. @default 512 MiB */
  readonly maxPayloadBytes?: number | undefined;
  /** Results a submitter has not read yet, in bytes; above it workers wait. @default 512 MiB */
  readonly maxResultBytes?: number | undefined;
  /** Whether a handler may be a function; otherwise only modules. @default true */
  readonly allowFunctions?: boolean | undefined;
  /** Run time allowed to each task, in ms. `0` turns it off. @default 0 */
  readonly timeoutMs?: number | undefined;
  /** A `file:` URL of the module whose `setup` and `teardown` run in each worker. @default none */
  readonly hooks?: URL | undefined;
  /** A `file:` URL of the module whose `serialize` and `deserialize` carry the values. @default none */
  readonly codec?: URL | undefined;
  /** Told of each failed task that was pushed or submitted, never of those of `run`. @default none: the `error` event is told */
  readonly onError?: ((error: unknown, job: FailedJob) => void) | undefined;
  /** Whether the native probe is used where it loads; nothing asks it yet. @default true */
  readonly native?: boolean | undefined;
}

/** Given by default only where the default is a value; the others stay optional. */
type Optional = Exclude<keyof ThreadOptions, 'tagOutput'> | 'spinUs' | 'hooks' | 'codec' | 'onError';

/** Every option, by default where it was not given. `undefined` stands for what `QueueOptions` calls none or adaptive. */
export type ResolvedOptions = {
  readonly [Name in keyof QueueOptions]-?: Name extends Optional ? QueueOptions[Name] | undefined : Exclude<QueueOptions[Name], undefined>;
};

const MIB = 1024 * 1024;

/** Node takes no notice of others, and a slip would leave a worker unbounded. */
const LIMITS: Readonly<Record<keyof NonNullable<WorkerOptions['resourceLimits']>, true>> = {
  maxOldGenerationSizeMb: true,
  maxYoungGenerationSizeMb: true,
  codeRangeSizeMb: true,
  stackSizeMb: true,
};

const isLimits = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every((limit) => limit === undefined || typeof limit === 'number');

const QUEUE: is.Table<QueueOptions> = {
  concurrency: is.row(is.integer(1, 1024), 8),
  maxBatchSize: is.row(is.integer(1, 255), 8),
  maxIdleMs: is.row(is.orElse(is.amount('a number of ms'), Infinity), 5_000),
  maxJobs: is.row(is.integer(0), 0),
  maxHeapMb: is.row(is.amount('a number of MiB'), 0),
  maxPending: is.row(is.integer(0), 0),
  backlogMax: is.row(is.integer(1), 65_536),
  stopTimeoutMs: is.row(is.amount('a number of ms'), 30_000),
  graceMs: is.row(is.amount('a number of ms'), 1_000),
  tasksPerWorker: is.row(is.orElse(is.integer(1, 64), 'auto'), 1),
  spinUs: is.row(is.amount('a number of µs', 1_000)),
  spares: is.row(is.integer(0), 1), // never above `concurrency`, which is at least 1
  parallelism: is.row(is.integer(1)), // the processors: read only where they are needed
  maxPayloadBytes: is.row(is.integer(1), 512 * MIB),
  maxResultBytes: is.row(is.integer(1), 512 * MIB),
  allowFunctions: is.row(is.flag, true),
  timeoutMs: is.row(is.amount('a number of ms'), 0),
  hooks: is.row(is.fileUrl),
  codec: is.row(is.fileUrl),
  onError: is.row(is.callback),
  native: is.row(is.flag, true),
  name: is.row(is.text),
  env: is.row(is.objectOr('to be an object or `SHARE_ENV`', (value) => value === SHARE_ENV)),
  argv: is.row(is.list),
  execArgv: is.row(is.texts),
  workerData: is.row(is.anything),
  resourceLimits: is.row(is.ofType('to be an object of numbers', isLimits)),
  workerEntry: is.row(is.fileUrl),
  tagOutput: is.row(is.flag, false),
};

/**
 * Options of a queue, checked, with every default; frozen. A number is `concurrency`.
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) on a value of the wrong type or an unknown name.
 * @throws RangeError (`ERR_OUT_OF_RANGE`) on a value out of range.
 */
export function readQueueOptions(input: number | QueueOptions | undefined): Readonly<ResolvedOptions> {
  const given: unknown = typeof input === 'number' ? { concurrency: input } : input === undefined ? {} : input;
  is.checkHolder('options', given, 'to be a number or an object');
  const read = is.readTable('options', given, QUEUE, QUEUE_ELSEWHERE) as ResolvedOptions;
  if (read.resourceLimits !== undefined) is.checkNames('resourceLimits', read.resourceLimits, LIMITS);
  is.check('spares', read.spares, is.integer(0, read.concurrency));
  return Object.freeze({ ...read, parallelism: read.parallelism ?? parallelism() });
}
