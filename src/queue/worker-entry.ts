/**
 * The first file of a worker thread: attaches to the region and claims. It waits for no word from the
 * host, so work that is queued while the host is blocked is started all the same.
 */
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { receiveMessageOnPort } from 'node:worker_threads';
import { fromWire, toWire } from '#base';
import { attachRegion } from '#memory';
import { Handlers, loadHooks, noteExit, type ToHost, type ToWorker, WorkerLoop } from '#pool';
import type { Boot } from './threads.ts';

const { buffer, settings, userData, port } = workerThreads.workerData as Boot;
// Handlers see the `workerData` that their own program passed, as in a worker of their own.
(workerThreads as { workerData: unknown }).workerData = userData;
syncBuiltinESMExports();

const exit = process.exit.bind(process); // before any code of the user's, which may replace it
const region = attachRegion(buffer);
const handlers = new Handlers(region, settings.slot);
process.on('exit', () => noteExit(region.m, settings.slot)); // `terminate` fires no such event
const hooks = await loadHooks(settings.hooks);
await hooks.setup();

const loop = new WorkerLoop(region, settings, handlers, () => void leave(), exit);
const tellHost = (message: ToHost): void => port.postMessage(message);
const onUncaught = (error: unknown): void => {
  tellHost({ kind: 'uncaught', error: toWire(error) });
  loop.spoil();
};
process.on('uncaughtException', onUncaught); // until here an error ends the thread, which never was ready
const onMessage = async (message: ToWorker): Promise<void> => {
  if (message.kind === 'abort') return loop.abort(message.entry, fromWire(message.reason));
  await handlers.loadAll();
  tellHost({ kind: 'warm' });
};
const early: ToWorker[] = []; // what the host said before we listened
for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) early.push(next.message);
if (early.some(({ kind }) => kind === 'warm')) await handlers.loadAll(); // a thread that was started to be warm is, before it claims
port.on('message', onMessage);
port.unref();
tellHost({ kind: 'ready' }); // for `warm` and the events only
loop.start();
for (const message of early) void onMessage(message);

/** Ends the thread in good order: teardown, then what it printed, which travels through the host's event loop. */
async function leave(): Promise<void> {
  setTimeout(() => exit(0), Math.min(settings.graceMs, 2 ** 31 - 1)).unref(); // a teardown may hang, and the host may be blocked
  try {
    await hooks.teardown();
  } catch (error) {
    tellHost({ kind: 'uncaught', error: toWire(error) });
  }
  await Promise.all([process.stdout, process.stderr].map(flushed));
  exit(0);
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}
