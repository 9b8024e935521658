/**
 * The first file of a worker thread: attaches to the region and claims. It waits for no word from the
 * host, so work that is queued while the host is blocked is started all the same.
 */
import { syncBuiltinESMExports } from 'node:module';
import workerThreads from 'node:worker_threads';
import { Math, process, Promise, setTimeout, toWire } from '#base';
import { attachRegion, SLOT_GUARD, slotAt } from '#memory';
import { checkCodec } from '#payload';
import { Handlers, isInLibrary, loadHooks, noteExit, type Receivers, receive, type ToWorker, WorkerChannel, WorkerLoop } from '#pool';
import type { Boot } from './threads.ts';

const { buffer, settings, userData, port } = workerThreads.workerData as Boot;
// Handlers see the `workerData` that their own program passed, as in a worker of their own.
(workerThreads as { workerData: unknown }).workerData = userData;
syncBuiltinESMExports();

const region = attachRegion(buffer);
const handlers = new Handlers(region, settings.slot);
const channel = new WorkerChannel(port);
/** Hears of the thread's exit; nobody does while it boots, or when it ends by an error of the library's own. */
let toldOfExit: WorkerLoop | undefined;
process.on('exit', () => {
  noteExit(region.m, settings.slot); // `terminate` fires no such event
  toldOfExit?.onExit();
});
const codec = settings.codec === undefined ? undefined : checkCodec(await import(settings.codec), settings.codec);
const hooks = await loadHooks(settings.hooks);
await hooks.setup();

const loop = new WorkerLoop(region, settings, handlers, { channel, codec, exit: () => void leave(), exitNow: process.exit, broken });
toldOfExit = loop;
/** An error of the library's own is this thread's end: nobody knows what it has left undone, but the host can make up for a death. */
function broken(error: unknown): void {
  toldOfExit = undefined;
  channel.send({ type: 'broken', error: toWire(error) });
  process.exit(1);
}
const onUncaught = (error: unknown): void => {
  if (isInLibrary(region.m, slotAt(settings.slot) + SLOT_GUARD)) return broken(error); // user code never runs there
  if (loop.mustEnd) return; // the first says why the thread ends; of a broken timer there may be thousands
  channel.send({ type: 'uncaught', error: toWire(error) });
  loop.endAfterError();
};
process.on('uncaughtException', onUncaught); // until here an error ends the thread, which never was ready
const warm = async (): Promise<void> => {
  await handlers.loadAll();
  channel.send({ type: 'warm' });
};
const receivers: Receivers<ToWorker> = { ...loop.receivers(), warm: () => void warm() };
const early = channel.early();
if (isToldToWarm(early)) await handlers.loadAll(); // a thread that was started to be warm is, before it claims
channel.open(receivers);
channel.send({ type: 'ready' }); // for `warm` and the events only
loop.start();
for (let k = 0; k < early.length; k++) receive(receivers, early[k] as ToWorker);

function isToldToWarm(messages: readonly ToWorker[]): boolean {
  for (let k = 0; k < messages.length; k++) if (messages[k]?.type === 'warm') return true;
  return false;
}

/** Ends the thread in good order: teardown, then what it printed, which travels through the host's event loop. */
async function leave(): Promise<void> {
  channel.send({ type: 'leaving' }); // the host ends the thread if something here, or an `exit` listener, never returns
  setTimeout(() => process.exit(0), Math.min(settings.graceMs, 2 ** 31 - 1)).unref(); // a teardown may hang, and the host may be blocked
  try {
    await hooks.teardown();
  } catch (error) {
    channel.send({ type: 'uncaught', error: toWire(error) });
  }
  await flushed(process.stdout);
  await flushed(process.stderr);
  process.exit(0);
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}
