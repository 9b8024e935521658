/**
 * What the process has besides the queue: threads, handles, listeners, and errors that nobody caught. Compared before and after.
 * Main thread. Thread and file counts come from /proc, and are left out where there is none.
 */
import { existsSync, readdirSync, readlinkSync } from 'node:fs';

export const alive = new Set();
let created = 0;
/** Called with each new Worker, in the order in which they were made. */
const watchers = new Set();
process.on('worker', (worker) => {
  created++;
  alive.add(worker);
  worker.once('exit', () => alive.delete(worker));
  for (const watch of watchers) watch(worker);
});
export const createdSoFar = () => created;
export function onThread(watch) {
  watchers.add(watch);
  return () => watchers.delete(watch);
}

/** An error thrown on purpose, by a callback of ours that the queue calls. */
export class OnPurpose extends Error {}
export const surprises = [];
export const purposes = { thrown: 0, seen: 0 };
process.on('uncaughtException', (error, origin) => {
  if (error instanceof OnPurpose) purposes.seen++;
  else surprises.push(`${origin}: ${error?.stack ?? error}`);
});
process.on('warning', (warning) => surprises.push(`warning: ${warning.stack}`));

const PROC = existsSync('/proc/self/task');

function snapshot() {
  const resources = {};
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;
  const listeners = {};
  for (const name of process.eventNames()) listeners[String(name)] = process.listenerCount(name);
  const threads = PROC ? readdirSync('/proc/self/task').length : 0;
  return { resources, listeners, threads, ...descriptors() };
}

/**
 * Descriptors that this process holds, regular files apart from the rest: Node leaks each file that a thread has open at the
 * moment it is terminated, and a thread that is still loading modules has several (bare `new Worker` does the same).
 */
function descriptors() {
  const counts = { descriptors: 0, files: 0 };
  if (!PROC) return counts;
  for (const name of readdirSync('/proc/self/fd')) {
    let to = '';
    try {
      to = readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      continue; // the one that read the folder
    }
    if (/\.(?:c|m)?js(?:on)?$/.test(to)) counts.files++;
    else counts.descriptors++;
  }
  return counts;
}

/** Module files that Node has left open. */
export const filesLeftOpen = () => descriptors().files - before.files;

let before = null;
/** Call it when the process has done once what it will do, so that what is made once and kept is no leak. */
export function takeBaseline() {
  before = snapshot();
}

/** How the process differs from its baseline; '' when it does not. Ends of threads take some turns to be complete. */
export async function difference(deadlineMs = 10_000) {
  const until = performance.now() + deadlineMs;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = snapshot();
    const found = [];
    for (const part of ['resources', 'listeners']) {
      for (const name of new Set([...Object.keys(before[part]), ...Object.keys(now[part])])) {
        const [was, is] = [before[part][name] ?? 0, now[part][name] ?? 0];
        if (is > was) found.push(`${part} ${name}: ${was} -> ${is}`);
      }
    }
    for (const part of ['threads', 'descriptors']) if (now[part] > before[part]) found.push(`${part}: ${before[part]} -> ${now[part]}`);
    if (alive.size > 0) found.push(`${alive.size} Worker(s) without exit`);
    if (found.length === 0 || performance.now() > until) return found.join('; ');
  }
}
