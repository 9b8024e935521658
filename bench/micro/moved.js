/**
 * Moving a buffer with a job: copied through shared memory against handed over in a port, both ways on one thread, the asking and
 * answering of the port included but not the two wake-ups: `node bench/micro/moved.js`.
 */
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { decode, pack, postTo, readPort, Scratch } from '#payload';

const shared = Buffer.from(new SharedArrayBuffer(2 ** 21, { maxByteLength: 2 ** 22 }), 0, 2 ** 21);
const packing = { most: Number.POSITIVE_INFINITY, codec: undefined };
const scratch = new Scratch();
const { port1: host, port2: worker } = new MessageChannel();

function copied(buffer, value) {
  pack(value, scratch, packing, [buffer]);
  shared.set(scratch.source.subarray(0, scratch.length), 64);
  return decode(scratch.form, shared, 64, scratch.length);
}
function ported(buffer, value) {
  postTo(scratch, [value], [buffer], 0);
  worker.postMessage({ type: 'ask', entry: 1 });
  receiveMessageOnPort(host);
  const port = scratch.takePort();
  host.postMessage({ type: 'argument', entry: 1, port }, [port]);
  return readPort(receiveMessageOnPort(worker).message.port);
}

const rows = [];
for (const kib of [1, 16, 64, 128, 256, 512]) {
  const row = { KiB: kib };
  for (const [name, send] of Object.entries({ copied, ported })) {
    for (const [kind, make] of Object.entries({ buffer: (b) => b, bytes: (b) => new Uint8Array(b) })) {
      const times = [];
      for (let k = 0; k < 600; k++) {
        const buffer = new ArrayBuffer(kib * 1024);
        const from = performance.now();
        send(buffer, make(buffer));
        times.push(performance.now() - from);
        if (k % 50 === 0) await new Promise((resolve) => setImmediate(resolve)); // closed ports end in turns of the loop
      }
      row[`${kind} ${name}`] = Number((times.sort((a, b) => a - b)[300] * 1000).toFixed(1));
    }
  }
  rows.push(row);
}
console.log('µs each, median');
console.table(rows);
host.close();
