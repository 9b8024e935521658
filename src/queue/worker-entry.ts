/**
 * The first file of a worker thread: attaches to the region, loads the handlers known so far, and claims. It waits for no word
 * from the host, so work that is queued while the host is blocked is started all the same.
 */
import { syncBuiltinESMExports } from 'node:module';
import workerThreads from 'node:worker_threads';
import { fromWire, toWire } from '#base';
import { attachRegion } from '#memory';
import { Handlers, knownDefinitions, type ToHost, type ToWorker, WorkerLoop } from '#pool';
import type { Boot } from './threads.ts';

const { buffer, settings, userData, port } = workerThreads.workerData as Boot;
// Handlers see the `workerData` that their own program passed, as in a worker of their own.
(workerThreads as { workerData: unknown }).workerData = userData;
syncBuiltinESMExports();

const region = attachRegion(buffer);
const handlers = new Handlers(region, settings.slot);
const loop = new WorkerLoop(region, settings, handlers, leave);
const tellHost = (message: ToHost): void => port.postMessage(message);

process.on('uncaughtException', (error) => {
  tellHost({ kind: 'uncaught', error: toWire(error) });
  loop.spoil();
});
port.on('message', (message: ToWorker) => loop.abort(message.entry, fromWire(message.reason)));
port.unref();

await Promise.all(knownDefinitions(region.m).map((id) => handlers.load(id)));
tellHost({ kind: 'ready' }); // for `warm` and the events only
loop.start();

/** Ends the thread after what it printed has gone out: output travels through the host's event loop. */
function leave(): void {
  const streams = [process.stdout, process.stderr].filter((stream) => stream.writableLength > 0);
  let left = streams.length;
  if (left === 0) process.exit(0);
  const flushed = (): void => {
    if (--left === 0) process.exit(0);
  };
  for (const stream of streams) stream.write('', flushed);
}
