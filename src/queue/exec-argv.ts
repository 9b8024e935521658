/**
 * Which of the process's command-line flags a worker goes on with. Host thread.
 *
 * A worker inherits all of them by itself, and most mean there what they mean here. A few are about the main script alone.
 * Tried on Node 20, 22, 24 and 26, but for -c and -i; profiles, --env-file and loaders on 20 and 24 only:
 *
 *   dropped   see `MAIN_ONLY`
 *   kept      --import, --require, --loader      transpilers and instruments: wanted in every thread
 *             --conditions, --env-file, --no-warnings, --unhandled-rejections …    how modules and errors behave
 *             --cpu-prof, --heap-prof            one profile a thread
 *             --inspect*                         a worker opens no port of its own: the main thread's inspector shows it
 *             --test*, --watch*                  a worker takes no notice, and `--watch` never reaches the process it runs
 *             V8's own, --max-old-space-size …   the whole process's; where we must name flags, Node refuses these, and they hold anyway
 */
import { Object } from '#base';
import { Worker } from 'node:worker_threads';

/** Flags of the main script, and why a worker must not have them. */
const MAIN_ONLY: Readonly<Record<string, string>> = {
  '--input-type': 'says what the text of -e or stdin is; a thread that starts from a file refuses to start with it',
  '-e': 'the text of the main script: `child_process.fork` in a handler would run the program again',
  '--eval': 'as -e',
  '-p': 'as -e',
  '--print': 'as -e',
  '-pe': 'as -e',
  '-c': 'checks the main script instead of running it',
  '--check': 'as -c',
  '-i': 'opens a prompt after the main script: so would what a handler forks',
  '--interactive': 'as -i',
};

/** Where `NODE_OPTIONS` has an `--input-type`: no flag takes it back, but a later and empty one counts as none. */
const NO_INPUT_TYPE: readonly string[] = ['--input-type', ''];

/**
 * The `execArgv` of a worker whose user gave none. `undefined`: all flags may stay, and Node's own inheritance is best, which also
 * passes on what is not written in `process.execArgv`.
 */
export function inheritedFlags(execArgv: readonly string[], nodeOptions: string | undefined): string[] | undefined {
  const flags = grouped(execArgv);
  const kept = flags.filter(([flag]) => !Object.hasOwn(MAIN_ONLY, nameOf(flag)));
  const typed = nodeOptions?.split(/[\s"]+/).some((word) => nameOf(word) === '--input-type') ?? false;
  if (kept.length === flags.length && !typed) return undefined;
  return [...kept.filter(isForThreads).flat(), ...(typed ? NO_INPUT_TYPE : [])];
}

/** Each flag with its value, where that is an argument of its own: no value starts with a dash. */
function grouped(execArgv: readonly string[]): [flag: string, ...value: string[]][] {
  const flags: [string, ...string[]][] = [];
  for (const arg of execArgv) {
    const last = flags.at(-1);
    if (arg.startsWith('-') || last === undefined) flags.push([arg]);
    else last.push(arg);
  }
  return flags;
}

/** Node reads `--input_type=module` as `--input-type=module`. */
const nameOf = (flag: string): string => (flag.split('=', 1)[0] as string).replaceAll('_', '-');

/** Whether Node takes the flag for one thread. Asked of Node itself, since each version has its own list; no thread is started. */
function isForThreads(flag: readonly string[]): boolean {
  try {
    new Worker('', { eval: true, execArgv: [...flag], workerData: () => {} }); // a function is never cloned, so this always throws
  } catch (error) {
    return (error as { code?: unknown }).code !== 'ERR_WORKER_INVALID_EXEC_ARGV';
  }
  return true;
}
