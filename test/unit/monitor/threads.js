/** The threads that `probe.test.ts` watches, and one that watches others. Worker threads. */
import { parentPort, workerData } from 'node:worker_threads';
import { loadNative, probeFor, threadTid } from '#monitor';

const { task, native, words } = workerData;
const [STOP, FIRST_TID] = [0, 1];

function work() {
  if (task === 'spin') while (Atomics.load(words, STOP) === 0);
  if (task === 'wait') Atomics.wait(words, STOP, 0);
  if (task === 'sample') sampleAll();
}

/** Until told to stop, without a pause: whatever thread stands in `words` at the time. */
function sampleAll() {
  const probe = probeFor({ native });
  const known = new Map();
  let samples = 0;
  while (Atomics.load(words, STOP) === 0) {
    for (let k = FIRST_TID; k < words.length; k++) {
      const tid = Atomics.load(words, k);
      if (tid === 0) continue;
      if (known.get(k) !== tid) {
        probe.add(tid);
        known.set(k, tid);
      }
      probe.sample(tid);
      samples++;
    }
  }
  probe.close();
  parentPort.postMessage({ samples });
}

parentPort.postMessage({ tid: threadTid(native), byAddon: native ? loadNative()?.gettid() : undefined });
work();
