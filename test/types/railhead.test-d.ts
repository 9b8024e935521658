/** The types of the package, as users meet them. Never run: `tsc -p test/tsconfig.json` (in `npm run check`) compiles it. */
import { type EventEmitter, once } from 'node:events';
import {
  type ErrorCode,
  ERRORS,
  type FailedJob,
  type Handler,
  handler,
  type ModuleHandler,
  type QueueEvents,
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
const runUrl = () => queue.run(url, { any: 'thing' });
holds<Same<ReturnType<typeof runUrl>, Promise<unknown>>>();
queue.run('/absolute/path.js', 1);
queue.run('C:\\absolute\\path.js', 1);
queue.run('file:///absolute/path.js', 1);
// @ts-expect-error: a relative path
queue.run('./path.js', 1);
// @ts-expect-error: a relative path
queue.push('path.js', 1);
// @ts-expect-error: a relative path
new Task('../path.js');
const untypedModule = handler(url, 'name');
// biome-ignore lint/suspicious/noExplicitAny: what an untyped one takes.
holds<Same<typeof untypedModule, ModuleHandler<any, unknown>>>();
const runUntyped = () => queue.run(handler(url), 1);
holds<Same<ReturnType<typeof runUntyped>, Promise<unknown>>>();
// @ts-expect-error: an export's name is text
handler(url, 7);

// ---- modules, typed by what they export
declare function sha(text: string, task: TaskHandle): Promise<Uint8Array>;
declare function nothing(): void;
const bySource = handler<typeof sha>(url, 'sha');
holds<Same<typeof bySource, ModuleHandler<string, Uint8Array>>>();
const runBySource = () => queue.run(bySource, 'text');
holds<Same<ReturnType<typeof runBySource>, Promise<Uint8Array>>>();
// @ts-expect-error: it takes text
queue.run(bySource, 1);
queue.push(handler<typeof nothing>(url));
type Fixture = typeof import('./fixture.ts');
const byDefault = handler<Fixture>(url);
holds<Same<typeof byDefault, ModuleHandler<number, string>>>();
const byName = handler<Fixture, 'sum'>(url, 'sum');
holds<Same<typeof byName, ModuleHandler<readonly number[], number>>>();
const byMember = handler<Fixture['sum']>(url, 'sum');
holds<Same<typeof byMember, typeof byName>>();
// @ts-expect-error: it takes numbers
queue.run(byName, ['a']);
// @ts-expect-error: not the name that was said
queue.run(handler<Fixture, 'sum'>(url, 'other'), [1]);
// @ts-expect-error: no handler is of this type
handler<{ some: 'thing' }>(url);

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
const add = (n: number): number => n + 1;
queue.pushBatch([[byDefault, 1]]);
queue.pushBatch([1, 2].map((n) => [add, n] as const));
queue.pushBatch([]);
// @ts-expect-error: the value is a number
queue.pushBatch([[add, 'x']]);
queue.pushBatch([
  [add, 1],
  // @ts-expect-error: the second value is text
  [bySource, 2],
]);
// @ts-expect-error: a pair has two
queue.pushBatch([[add]]);
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
queue.warm(1, { timeoutMs: 5, signal: AbortSignal.timeout(5) });
queue.on('drain', () => {}).once('error', () => {});
queue.on('error', (error, job) => {
  holds<Same<typeof error, unknown>>();
  holds<Same<typeof job, FailedJob>>();
});
queue.once('workerExit', ({ workerId, exitCode }) => workerId + exitCode);
queue.off('crashLoop', ({ handler, error }: QueueEvents['crashLoop'][0]) => [handler, error]);
queue.on('newListener', () => {});
// @ts-expect-error: no such event
queue.on('drained', () => {});
// @ts-expect-error: nothing of the kind is told
queue.on('workerStart', ({ exitCode }) => exitCode);
// @ts-expect-error: it is told nothing
queue.on('drain', (what: number) => what);
const emitter: EventEmitter = queue;
const waited = (): Promise<unknown[]> => once(queue, 'drain');
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
const runFromFunction = () => fromFunction.run(1);
holds<Same<ReturnType<typeof runFromFunction>, Promise<string>>>();
// @ts-expect-error: the function takes a number
fromFunction.push('text');
const fromTyped = new Task(bySource);
const runFromTyped = () => fromTyped.run('text');
holds<Same<ReturnType<typeof runFromTyped>, Promise<Uint8Array>>>();
const fromTypeof = new Task<typeof sha>(handler(url, 'sha'));
const runFromTypeof = () => fromTypeof.run('text');
holds<Same<ReturnType<typeof runFromTypeof>, Promise<Uint8Array>>>();
const fromImport = new Task<Fixture>(url);
const runFromImport = () => fromImport.run(1);
holds<Same<ReturnType<typeof runFromImport>, Promise<string>>>();
// @ts-expect-error: it takes a number
fromImport.run('text');
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
const runUntypedTask = () => untyped.run({ any: 'thing' });
holds<Same<ReturnType<typeof runUntypedTask>, Promise<unknown>>>();

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

export const used = [emitter, waited, verbs, disposable, code, wrong, sentence, reason, options, runOptions, stopOptions, any];
