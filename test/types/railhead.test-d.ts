/** The types of the package, as users meet them. Never run: `tsc -p test/tsconfig.json` (in `npm run check`) compiles it. */
import {
  type ErrorCode,
  ERRORS,
  type FailedJob,
  type Handler,
  handler,
  type QueueOptions,
  RailheadError,
  type RunOptions,
  type Stats,
  type StopOptions,
  type StopReport,
  Task,
  type TaskHandle,
  TaskQueue,
} from 'railhead';

/** Compiles only if the two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <_T extends true>(): void => {};

declare const url: URL;
const queue = new TaskQueue(8);

// ---- constructing
new TaskQueue();
new TaskQueue({
  concurrency: 2,
  maxIdleMs: Number.POSITIVE_INFINITY,
  tasksPerWorker: 'auto',
  onError: (error: unknown, job: FailedJob) => [error, job],
});
new TaskQueue({ concurrency: undefined });
// @ts-expect-error: an unknown option
new TaskQueue({ workers: 2 });
// @ts-expect-error: a text is no number
new TaskQueue({ concurrency: '2' });
// @ts-expect-error: only 'auto'
new TaskQueue({ tasksPerWorker: 'many' });

// ---- run
holds<Same<ReturnType<typeof runNumber>, Promise<number>>>();
const runNumber = () => queue.run((n: number) => n + 1, 1);
const runAsync = () => queue.run(async (n: number) => String(n), 1);
holds<Same<ReturnType<typeof runAsync>, Promise<string>>>();
const runNothing = () => queue.run(() => 'x');
holds<Same<ReturnType<typeof runNothing>, Promise<string>>>();
const runWithHandle = () => queue.run((n: number, task) => [n, task.workerId, task.attempt], 1, { timeoutMs: 5 });
holds<Same<ReturnType<typeof runWithHandle>, Promise<number[]>>>();
// @ts-expect-error: the value is a number
queue.run((n: number) => n, 'text');
// @ts-expect-error: an unknown run option
queue.run((n: number) => n, 1, { timeout: 5 });
// @ts-expect-error: nothing of the kind on the handle
queue.run((n: number, task) => [n, task.nothing], 1);
// @ts-expect-error: a number is no handler
queue.run(7, 1);

// ---- modules
const typed = handler<number, string>(url, 'format');
const runModule = () => queue.run(typed, 1);
holds<Same<ReturnType<typeof runModule>, Promise<string>>>();
// @ts-expect-error: the value is a number
queue.run(typed, 'text');
queue.run(url, { any: 'thing' });
queue.run('/absolute/path.js', 1);
handler(url);
// @ts-expect-error: an export's name is text
handler(url, 7);

// ---- the other verbs
const verbs = (): [boolean, number, number, boolean, number, boolean] => [
  queue.push((n: number) => n, 1),
  queue.pushBatch((n: number) => n, [1, 2]),
  queue.pushBatch([
    [(n: number) => n, 1],
    [(text: string) => text, 'a'],
    [url, {}],
  ]),
  queue.submit((n: number) => n, 1),
  queue.submitBatch((n: number) => n, [1, 2] as const),
  queue.trySubmitBatch((n: number) => n, [1, 2]),
];
queue.push(() => {});
queue.submit(() => {});
// @ts-expect-error: a batch is an array
queue.pushBatch((n: number) => n, 1);
// @ts-expect-error: of numbers
queue.submitBatch((n: number) => n, ['a']);

// ---- members
holds<Same<typeof queue.size, number>>();
holds<Same<typeof queue.pending, number>>();
holds<Same<typeof queue.needsDrain, boolean>>();
holds<Same<ReturnType<typeof queue.stats>, Stats>>();
holds<Same<ReturnType<typeof queue.ready>, Promise<void>>>();
holds<Same<ReturnType<typeof queue.idle>, Promise<void>>>();
holds<Same<ReturnType<typeof queue.warm>, Promise<void>>>();
holds<Same<ReturnType<typeof queue.stop>, Promise<StopReport>>>();
queue.stop({ timeoutMs: 5, signal: AbortSignal.timeout(5) });
queue.on('drain', () => {}).once('error', () => {});
// @ts-expect-error: derived, not set
queue.size = 1;
const disposable: AsyncDisposable = queue;

// ---- Task
const typedTask = new Task<number, string>(url, { concurrency: 2 });
const runTask = () => typedTask.run(1, { timeoutMs: 5 });
holds<Same<ReturnType<typeof runTask>, Promise<string>>>();
// @ts-expect-error: the value is a number
typedTask.run('text');
// @ts-expect-error: of numbers
typedTask.submitBatch(['a']);
const fromFunction = new Task((n: number) => `${n}`);
fromFunction.push(1);
/** What `typeof import('./double.js')` looks like. */
interface DoubleModule {
  default: (n: number, task: TaskHandle) => Promise<string>;
  other: () => void;
}
const fromModule = new Task<DoubleModule>(url);
const runFromModule = () => fromModule.run(1);
holds<Same<ReturnType<typeof runFromModule>, Promise<string>>>();
// @ts-expect-error: the module takes a number
fromModule.push('text');
const untyped = new Task(url);
untyped.run({ any: 'thing' });

// ---- errors and named types
const code: ErrorCode = 'E_QUEUE_FULL';
// @ts-expect-error: no such code
const wrong: ErrorCode = 'E_NO_SUCH_CODE';
const sentence: string = ERRORS.E_QUEUE_FULL;
const reason: 'exit' | 'oom' | 'terminated' | 'crash' | undefined = new RailheadError('E_WORKER_DIED', 'x').reason;
const options: QueueOptions = { maxPending: 1 };
const runOptions: RunOptions = { onCrash: { retry: 1 } };
const stopOptions: StopOptions = {};
const any: Handler<number, string> = typed;

export const used = [verbs, disposable, code, wrong, sentence, reason, options, runOptions, stopOptions, any];
