/** `tagOutput`: each line that a worker prints says which worker it is from. Host thread. */
import type { Readable, Writable } from 'node:stream';
import type { Worker } from 'node:worker_threads';
import { process } from '#base';

/** `tag` goes before each line, and one `writev`-sized piece is one line, so lines of two workers never mix. */
export function tagOutput(worker: Worker, tag: string): void {
  tagLines(worker.stdout, process.stdout, tag);
  tagLines(worker.stderr, process.stderr, tag);
}

function tagLines(from: Readable, to: Writable, tag: string): void {
  // Loaded here and not above: it takes longer than most of the package, and few queues tag.
  const { createInterface } = process.getBuiltinModule('node:readline');
  createInterface({ input: from }).on('line', (line) => to.write(`[${tag}] ${line}\n`));
}
