/**
 * What other pools call our options, for the message on an unknown name. Any thread; pure.
 *
 * A word is the option's name here; a sentence says what to do where no single option is the same. From piscina, tinypool,
 * workerpool, poolifier and `node:worker_threads`.
 */
export type Elsewhere = Readonly<Record<string, string>>;

const MODULE =
  'the module goes to each call instead, as in `queue.run(new URL("./x.js", import.meta.url), value)`, or to `new Task(url, options)`';
const EACH_RUN = 'it is given to each call instead, as in `queue.run(handler, value, options)`';
const STARTED = 'workers are started as work needs them; `await queue.warm(n)` starts some beforehand';
const INSIDE = 'what it holds is given here directly';
const QUEUE_ONLY = 'it is an option of the queue';

export const QUEUE_ELSEWHERE: Elsewhere = {
  maxThreads: 'concurrency',
  maxWorkers: 'concurrency',
  threads: 'concurrency',
  workers: 'concurrency',
  numWorkers: 'concurrency',
  poolSize: 'concurrency',
  size: 'concurrency',
  max: 'concurrency',
  minThreads: STARTED,
  minWorkers: STARTED,
  min: STARTED,
  filename: MODULE,
  filePath: MODULE,
  script: MODULE,
  worker: MODULE,
  handler: MODULE,
  idleTimeout: 'maxIdleMs',
  idleTimeoutMs: 'maxIdleMs',
  maxInactiveTime: 'maxIdleMs',
  maxQueue: 'maxPending',
  maxQueueSize: 'maxPending',
  concurrentTasksPerWorker: 'tasksPerWorker',
  timeout: 'timeoutMs',
  closeTimeout: 'stopTimeoutMs',
  stopTimeout: 'stopTimeoutMs',
  terminateTimeout: 'graceMs',
  workerTerminateTimeout: 'graceMs',
  maxMemoryLimitBeforeRecycle: 'maxHeapMb', // theirs counts bytes: the rule of ours names its unit
  maxTasksPerWorker: 'maxJobs',
  isolateWorkers: '`maxJobs: 1` gives each task a worker of its own',
  errorHandler: 'onError',
  workerThreadOpts: INSIDE,
  workerOptions: INSIDE,
  queueOptions: INSIDE,
  tasksQueueOptions: INSIDE,
  signal: EACH_RUN,
  abortSignal: EACH_RUN,
  transfer: EACH_RUN,
  transferList: EACH_RUN,
  deadlineMs: EACH_RUN,
  onCrash: EACH_RUN,
};

export const RUN_ELSEWHERE: Elsewhere = {
  abortSignal: 'signal',
  transferList: 'transfer',
  timeout: 'timeoutMs',
  deadline: 'deadlineMs',
  retry: '`onCrash: { retry: n }` runs a task again whose worker died',
  retries: '`onCrash: { retry: n }` runs a task again whose worker died',
  filename: 'the module is the first argument, as in `queue.run(new URL("./x.js", import.meta.url), value)`',
  name: 'the export is named by `handler(url, name)`',
  exportName: 'the export is named by `handler(url, name)`',
  onError: QUEUE_ONLY,
  codec: QUEUE_ONLY,
  concurrency: QUEUE_ONLY,
  maxPending: QUEUE_ONLY,
  graceMs: QUEUE_ONLY,
  workerData: QUEUE_ONLY,
  env: QUEUE_ONLY,
};

/** Of `stop` and `warm` alike. */
export const WAIT_ELSEWHERE: Elsewhere = { abortSignal: 'signal', timeout: 'timeoutMs' };

export const STOP_ELSEWHERE: Elsewhere = {
  ...WAIT_ELSEWHERE,
  stopTimeoutMs: 'timeoutMs',
  force: '`timeoutMs: 0` cuts what is left at once',
};
