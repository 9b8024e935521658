/**
 * What tests wait on, and how they stay repeatable. Used in vitest's fork; nothing here sleeps for a fixed time and hopes.
 */
import { spawn } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** This checkout, as a path with a slash at its end. */
export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url));
/** Deadlines are for what never comes, not for what comes late: a loaded two-core machine may stall for seconds. */
export const DEADLINE_MS = 30_000;

/** The first `name` event of `emitter`, as the list of its arguments. Rejects at the deadline, or on `error` if that is not what is awaited. */
export function once(emitter: EventEmitter, name: string, deadlineMs: number = DEADLINE_MS): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer);
      emitter.off(name, onEvent);
      emitter.off('error', onError);
    };
    const onEvent = (...args: unknown[]): void => {
      done();
      resolve(args);
    };
    const onError = (error: unknown): void => {
      done();
      reject(error);
    };
    const timer = setTimeout(() => {
      done();
      reject(new Error(`No '${name}' event within ${deadlineMs} ms`));
    }, deadlineMs);
    emitter.on(name, onEvent);
    if (name !== 'error') emitter.on('error', onError);
  });
}

/**
 * Polls `fn` once per turn of the event loop until it returns something truthy, and returns that.
 * @throws Error at the deadline, with `what` and the last value seen.
 */
export async function until<T>(fn: () => T | Promise<T>, what: string = fn.toString(), deadlineMs: number = DEADLINE_MS): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const value = await fn();
    if (value) return value;
    if (performance.now() > end) throw new Error(`Waited ${deadlineMs} ms in vain for: ${what} (last seen: ${String(value)})`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** `promise`, or a loud error at the deadline: for promises that a bug would leave pending for ever. */
export async function within<T>(promise: Promise<T>, what: string, deadlineMs: number = DEADLINE_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${deadlineMs} ms in vain for: ${what}`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A promise with its handles outside. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (reason: unknown) => void } {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((a, b) => {
    resolve = a;
    reject = b;
  });
  return { promise, resolve, reject };
}

/** A new temporary folder, as a program that installed `railhead` would have it. Remove it with `remove`. */
export async function projectFolder(files: Record<string, string>): Promise<{ path: string; url: URL; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'railhead-project-'));
  await mkdir(join(path, 'node_modules/@types'), { recursive: true });
  await symlink(ROOT, join(path, 'node_modules/railhead'), 'junction');
  await symlink(join(ROOT, 'node_modules/@types/node'), join(path, 'node_modules/@types/node'), 'junction');
  const all = { 'package.json': '{ "type": "module" }', ...files };
  for (const [name, text] of Object.entries(all)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return { path, url: pathToFileURL(`${path}/`), remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}

export interface ChildResult {
  /** Exit status; null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}
export interface ChildOptions {
  /** Further files beside the script, by name: handler modules, for instance. */
  readonly files?: Record<string, string>;
  /** Flags for node itself. */
  readonly execArgv?: readonly string[];
  readonly env?: Record<string, string>;
  readonly deadlineMs?: number;
}

/**
 * Runs `code`, an ES module in which `railhead` resolves to this checkout, in a fresh node process, to its end.
 * Rejects, with the output so far, if it has not ended at the deadline: that is how a process kept alive shows.
 */
export async function inChild(code: string, args: readonly string[] = [], options: ChildOptions = {}): Promise<ChildResult> {
  const project = await projectFolder({ ...options.files, 'main.js': code });
  try {
    return await runNode([...(options.execArgv ?? []), 'main.js', ...args], { cwd: project.path, ...options });
  } finally {
    await project.remove();
  }
}

/** `node ...args` in `cwd`, with `input` as its stdin, to its end or the deadline. */
export function runNode(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string>; deadlineMs?: number; input?: string },
): Promise<ChildResult> {
  const { deadlineMs = DEADLINE_MS, input = '' } = options;
  return new Promise((resolve, reject) => {
    // The runner's own settings must not reach the child: vitest sets NODE_ENV and others, and Node warns of two colour settings.
    const { NODE_OPTIONS: _1, NODE_ENV: _2, VITEST: _3, FORCE_COLOR: _4, NO_COLOR: _5, ...inherited } = process.env;
    const child = spawn(process.execPath, args, {
      cwd: options.cwd,
      env: { ...inherited, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', () => {}).end(input); // it may end before it has read all
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`The child process had not ended after ${deadlineMs} ms.\nstdout:\n${stdout}\nstderr:\n${stderr}`));
    }, deadlineMs);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr });
    });
  });
}
