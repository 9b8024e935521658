/** The thread of `guard.test.ts`: crosses the guard when told, and says in which stage of the test it got through. Worker thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { enterLibrary, leaveLibrary } from '#pool';

const { m, guard, stage } = workerData;
parentPort.once('message', () => {
  parentPort.postMessage('tries');
  enterLibrary(m, guard);
  const when = Atomics.load(m, stage);
  const held = Atomics.load(m, guard);
  leaveLibrary(m, guard);
  parentPort.postMessage({ when, held });
});
