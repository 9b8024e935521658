/** Progress of one pass over the files: a bar on a terminal, a line for each 10 % otherwise. On stderr; the result goes to stdout. */
import { Presets, SingleBar } from 'cli-progress';
import { mebibytes } from './report.js';

/** @returns {{ add(bytes: number): void, end(): void }} */
export function progress(title, files, bytes) {
  return process.stderr.isTTY ? bar(title, files, bytes) : lines(title, files, bytes);
}

function bar(title, files, bytes) {
  const format = `${title} [{bar}] {percentage} %  {done}/${files} files  {duration} s`;
  const view = new SingleBar(
    { format, hideCursor: true, clearOnComplete: false, stopOnComplete: false, barsize: 30 },
    Presets.shades_classic,
  );
  let done = 0;
  view.start(Math.max(1, bytes), 0, { done });
  return {
    add: (n) => view.increment(n, { done: ++done }),
    end: () => view.stop(),
  };
}

function lines(title, files, bytes) {
  const start = performance.now();
  let done = 0;
  let doneBytes = 0;
  let next = 10; // per cent
  return {
    add(n) {
      done++;
      doneBytes += n;
      const percent = Math.floor((100 * (doneBytes + done)) / (bytes + files)); // each file counts a byte more, so that empty ones move it too
      if (percent < next) return;
      next = percent - (percent % 10) + 10;
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      process.stderr.write(`${title} ${percent} %: ${done} of ${files} files, ${mebibytes(doneBytes)}, ${seconds} s\n`);
    },
    end() {},
  };
}
