/** What the demo prints at the end. Pure: figures in, text out. */
import { relative } from 'node:path';

export const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
export const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
export const milliseconds = (ms) => `${ms.toFixed(1)} ms`;
export const counted = (n, noun) => `${n.toLocaleString('en-US')} ${noun}${n === 1 ? '' : 's'}`;

/** Smaller files are left out of the ranking: their size is mostly the compressor's header. */
export const SMALLEST_RANKED = 256;

/** Rows of cells, each column as wide as its widest cell; `right` says which columns are numbers. */
export function table(rows, right = []) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => row.map((cell, c) => (right.includes(c) ? cell.padStart(widths[c]) : cell.padEnd(widths[c]))).join('  ');
  return rows.map((row) => `  ${line(row).trimEnd()}`).join('\n');
}

/** The five files that shrink most, by the better of gzip and brotli. */
export function mostCompressible(results, folder) {
  const ranked = results
    .filter((result) => result.bytes >= SMALLEST_RANKED)
    .map((result) => ({ ...result, ratio: result.bytes / Math.min(result.gzip, result.brotli) }))
    .sort((a, b) => b.ratio - a.ratio)
    .slice(0, 5);
  if (ranked.length === 0) return `No file has ${SMALLEST_RANKED} bytes or more, so none is ranked.`;
  const head = ['shrinks', 'bytes', 'gzip', 'brotli', 'bits/byte', 'sha-256', 'file'];
  const rows = ranked.map((r) => [
    `${r.ratio.toFixed(1)}×`,
    String(r.bytes),
    String(r.gzip),
    String(r.brotli),
    r.entropy.toFixed(2),
    `${r.sha256.slice(0, 12)}…`,
    relative(folder, r.path),
  ]);
  return `Most compressible (best of gzip and brotli; files under ${SMALLEST_RANKED} bytes left out):\n${table([head, ...rows], [0, 1, 2, 3, 4])}`;
}

export function unreadableList(unreadable, folder) {
  if (unreadable.length === 0) return '';
  const rows = unreadable.slice(0, 20).map(({ path, reason }) => [relative(folder, path) || '.', reason]);
  const more = unreadable.length > rows.length ? `  and ${unreadable.length - rows.length} more\n` : '';
  return `Could not be read (${unreadable.length}):\n${table(rows)}\n${more}`;
}
