/**
 * The first file of a worker thread: attaches to the region, loads the handlers known so far, and claims. It waits for no word
 * from the host, so work that is queued while the host is blocked is started all the same.
 */
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { parentPort } from 'node:worker_threads';
import { attachRegion } from '#memory';
import { checkCodec } from '#payload';
import { Handlers, knownDefinitions, READY, WorkerChannel, WorkerLoop } from '#pool';
import type { Boot } from './threads.ts';

const { buffer, settings, channel, userData } = workerThreads.workerData as Boot;
// Handlers see the `workerData` that their own program passed, as in a worker of their own.
(workerThreads as { workerData: unknown }).workerData = userData;
syncBuiltinESMExports();

const region = attachRegion(buffer);
const handlers = new Handlers(region, settings.slot);
await Promise.all(knownDefinitions(region.m).map((id) => handlers.load(id)));

const codec = settings.codec === undefined ? undefined : checkCodec(await import(settings.codec), settings.codec);

const loop = new WorkerLoop(region, settings, handlers, { channel: new WorkerChannel(channel), codec }, leave);
parentPort?.postMessage(READY);
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
