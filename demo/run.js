/**
 * The demo: measures every file of a folder in worker threads (SHA-256, gzip, brotli, entropy). Main thread; it passes
 * paths only, and stays free to draw a progress bar. `node demo/run.js --help` says how to call it.
 *
 *   list files -> all of them on n workers -> the same on one worker -> a sample of them on main -> tables
 */
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { Task } from 'railhead';
import { Mistake, readArguments, USAGE } from './arguments.js';
import { bytesOf, listFiles, spread } from './files.js';
import measure from './measure.js';
import { progress } from './progress.js';
import { counted, mebibytes, milliseconds, mostCompressible, seconds, table, unreadableList } from './report.js';

/** The time with one worker is taken over all files up to this many bytes, above it over a sample: it would take n times as long. */
const COMPARE_BYTES = 512 * 2 ** 20;
/** On main: at most so many files, none larger than this. Enough for a p99; larger ones would only make main look worse. */
const MAIN_FILES = 200;
const MAIN_BYTES = 2 ** 20;

let interrupted = false;
let current; // the Task that is running now

/** Measures `files` on `workers` threads; a bounded number is in flight however many files there are. */
async function onQueue(files, workers) {
  const task = new Task(new URL('./measure.js', import.meta.url), { concurrency: workers });
  current = task;
  await task.warm(workers); // threads started, module loaded: what is timed is the work
  const results = [];
  const unreadable = [];
  const bar = progress(counted(workers, 'worker'), files.length, bytesOf(files));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const start = performance.now();

  // Large files first, so that no worker is left alone with one at the end. 64 loops a worker share one iterator.
  const waiting = files.toSorted((a, b) => b.bytes - a.bytes).values();
  const pull = async () => {
    for (const file of waiting) {
      if (interrupted) return;
      try {
        results.push({ path: file.path, ...(await task.run(file.path)) });
      } catch (error) {
        if (interrupted) return;
        unreadable.push({ path: file.path, reason: error.message });
      }
      bar.add(file.bytes);
    }
  };
  await Promise.all(Array.from({ length: 64 * workers }, pull));

  const ms = performance.now() - start;
  delay.disable();
  bar.end();
  await task.stop();
  return { results, unreadable, ms, delayMs: delay.percentile(99) / 1e6 };
}

/** The same work on the main thread, a turn of the event loop after each file. */
async function onMain(files) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  await turn();
  delay.enable();
  for (const file of files) {
    if (interrupted) return undefined;
    try {
      measure(file.path);
    } catch {} // listed already
    await turn();
  }
  delay.disable();
  return delay.percentile(99) / 1e6;
}

async function main() {
  const { help, folder, concurrency, json } = readArguments(process.argv.slice(2));
  if (help) return console.log(USAGE);
  const { files, unreadable } = listFiles(folder);
  console.log(`${folder}: ${counted(files.length, 'file')}, ${mebibytes(bytesOf(files))}`);
  if (files.length === 0) return console.log(`No regular files here: nothing to do.\n${unreadableList(unreadable, folder)}`.trim());

  const all = await onQueue(files, concurrency);
  if (interrupted) return stopped(all.results.length, files.length);
  unreadable.push(...all.unreadable);
  if (json) writeFileSync(json, all.results.map((result) => `${JSON.stringify(result)}\n`).join(''));

  const part = spread(files, Math.ceil((files.length * COMPARE_BYTES) / Math.max(COMPARE_BYTES, bytesOf(files))));
  const many = part.every === 1 ? all : await onQueue(part.items, concurrency);
  const one = concurrency === 1 ? many : await onQueue(part.items, 1);
  const small = spread(
    files.filter((file) => file.bytes <= MAIN_BYTES),
    MAIN_FILES,
  );
  const mainMs = interrupted ? undefined : await onMain(small.items);
  if (interrupted) return stopped(all.results.length, files.length);

  const compared = sampled(part);
  const rows = [
    ['files measured', `${counted(all.results.length, 'file')}, ${mebibytes(bytesOf(all.results))} in ${seconds(all.ms)}`],
    [`time with 1 worker`, `${seconds(one.ms)} for ${compared}`],
    [`time with ${counted(concurrency, 'worker')}`, `${seconds(many.ms)} for ${compared}`],
    ['speed-up', concurrency === 1 ? 'none to show: 1 worker' : `${(one.ms / many.ms).toFixed(2)}×${limit(one.results, concurrency)}`],
    ['event loop p99, work on the queue', milliseconds(all.delayMs)],
    [
      'event loop p99, work on main',
      small.items.length > 0 ? `${milliseconds(mainMs)} (${sampled(small)} of at most 1 MiB)` : 'no file of at most 1 MiB',
    ],
  ];
  console.log(`\n${table(rows)}\n\n${mostCompressible(all.results, folder)}`);
  console.log(
    `\n${unreadableList(unreadable, folder)}(Workers start before the clock. Event loop: delay between turns of a 1 ms timer, that millisecond included.)`,
  );
}

const sampled = ({ every, items }) =>
  every === 1 ? `all ${counted(items.length, 'file')}` : `${counted(items.length, 'file')}: one in ${every}, in path order,`;

/** One file is one task: where a single one is much of the work, more workers cannot help, and the reader should know. */
function limit(results, workers) {
  const longest = results.reduce((a, b) => (a.ms > b.ms ? a : b), { ms: 0 });
  const most = results.reduce((sum, { ms }) => sum + ms, 0) / longest.ms;
  return most < workers
    ? ` (at most ${most.toFixed(2)}× here: one file of ${mebibytes(longest.bytes)} is ${(100 / most).toFixed(0)} % of the work)`
    : '';
}

function stopped(done, files) {
  console.log(`\nInterrupted: ${done} of ${counted(files, 'file')} measured.`);
  process.exitCode = 130;
}

/** The library listens to no signal; an application may. The second Ctrl-C ends the process as usual. */
process.once('SIGINT', () => {
  interrupted = true;
  current?.stop({ timeoutMs: 0 }); // what is cut rejects, and is not reported
});

try {
  await main();
} catch (error) {
  if (!(error instanceof Mistake || interrupted)) throw error;
  if (!interrupted) console.error(error.message);
  process.exitCode = interrupted ? 130 : 2;
}
