/**
 * The way of a value against v8.serialize and structuredClone, each way, on one thread: `node bench/micro/codec.js [name …]`.
 * Decoding reads from a growable SharedArrayBuffer, as in the runtime. Values rotate among 64, so that nothing is hoisted.
 */
import { deserialize, serialize } from 'node:v8';
import { Bench } from 'tinybench';
import { decode, FORM_NUMBER, pack, Scratch } from '#payload';

class Point {
  constructor(x, y) {
    this.x = x;
    this.y = y;
  }
}

const VALUES = 64;
const CASES = {
  number: (i) => i * 1.1,
  'text, 12': (i) => `customer ${100 + i}`,
  'text, 10 KB': (i) => `${i}`.padEnd(10_000, 'x'),
  'object of 5': (i) => ({ id: i, name: 'abc', ok: true, price: 1.5, tag: 'xyz' }),
  'object of 5, varied': (i) => ({ id: i * 7_777, name: `customer ${i}`, ok: i % 2 === 0, price: i * 1.1, tag: null }),
  'array of 3': (i) => [i, i + 1, i + 2],
  'nested order': (i) => ({
    user: { id: i, email: 'someone@example.com', roles: ['admin', 'dev'] },
    items: [
      { sku: 'a-1', qty: 2 },
      { sku: 'b-2', qty: 1 },
    ],
    total: 12.34,
    note: null,
  }),
  '100 records': (i) => Array.from({ length: 100 }, (_, k) => ({ id: k, name: `item ${i + k}`, price: k * 1.1 })),
  '1,000 integers': (i) => Array.from({ length: 1_000 }, (_, k) => i + k * 5),
  'bytes, 1 KB': (i) => new Uint8Array(1_024).fill(i),
  'instance of a class': (i) => new Point(i, i * 1.1),
  'Map of 3': (i) => new Map([1, 2, 3].map((k) => [`key ${k}`, i + k])),
  'object with a Date': (i) => ({ id: i, name: 'abc', when: new Date(i) }),
  'Float64Array of 100': (i) => new Float64Array(100).fill(i),
  'ArrayBuffer, 1 KB': (i) => new Uint8Array(1_024).fill(i).buffer,
  error: (i) => new RangeError(`out of range: ${i}`),
  'object with bytes, 1 KB': (i) => ({ id: i, bytes: new Uint8Array(1_024).fill(i) }),
};

const STRIDE = 64 * 1024;
const shared = Buffer.from(new SharedArrayBuffer(VALUES * STRIDE, { maxByteLength: 2 * VALUES * STRIDE }), 0, VALUES * STRIDE);
const scratch = new Scratch();
const packing = { most: Number.POSITIVE_INFINITY, codec: undefined };

/** Puts a value into shared memory and says where. */
function place(value, i) {
  pack(value, scratch, packing);
  const at = i * STRIDE;
  if (scratch.form === FORM_NUMBER) shared.writeDoubleLE(scratch.number, at);
  else shared.set(scratch.source.subarray(0, scratch.length), at);
  return { form: scratch.form, at, length: scratch.length };
}

const rows = [];
const wanted = process.argv.slice(2);
for (const [name, make] of Object.entries(CASES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const values = Array.from({ length: VALUES }, (_, i) => make(i));
  const places = values.map(place);
  const serialized = values.map((value) => serialize(value));
  let i = 0;
  const next = (list) => list[i++ & (VALUES - 1)];
  const bench = new Bench({ time: 200, warmupTime: 100 });
  bench
    .add('pack', () => pack(next(values), scratch, packing))
    .add('decode', () => {
      const { form, at, length } = next(places);
      return decode(form, shared, at, length);
    })
    .add('v8.serialize', () => serialize(next(values)))
    .add('v8.deserialize', () => deserialize(next(serialized)))
    .add('structuredClone', () => structuredClone(next(values)));
  await bench.run();
  const row = { value: name, bytes: places[1].length };
  for (const task of bench.tasks) row[task.name] = Math.round(task.result.latency.p50 * 1e6);
  rows.push(row);
}
console.log('ns each, median');
console.table(rows);
