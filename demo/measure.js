/**
 * The handler of the demo: reads one file and measures it. Runs in a worker thread, synchronously: this is the
 * CPU-heavy work that would otherwise stop the event loop. Throws if the file cannot be read; only that task fails.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';

/** Larger files are refused: the whole file is held in memory while it is compressed. */
const LARGEST = 2 ** 31 - 1;
const BROTLI = { params: { [zlib.BROTLI_PARAM_QUALITY]: 5 } };

/** @param {string} path */
export default function measure(path) {
  const started = performance.now();
  const content = read(path);
  return {
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    gzip: gzipSync(content).length,
    brotli: brotliCompressSync(content, BROTLI).length,
    entropy: entropy(content),
    ms: performance.now() - started,
  };
}

/** The path was a regular file when the folder was listed; it may have become a pipe since, which must not hang us. */
function read(path) {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new Error('not a regular file any more');
    if (stat.size > LARGEST) throw new Error('larger than 2 GiB');
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** Shannon entropy of the byte values, in bits per byte: 0 for one repeated byte, 8 for noise. */
function entropy(content) {
  const counts = new Float64Array(256);
  for (let i = 0; i < content.length; i++) counts[content[i]]++;
  let bits = 0;
  for (const count of counts) if (count > 0) bits += count * Math.log2(content.length / count);
  return content.length === 0 ? 0 : bits / content.length;
}
