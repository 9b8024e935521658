/** Timers for times that users choose: longer than one timer reaches, and never in the way of the process's end. Host thread. */
import { Math, clearInterval, clearTimeout, performance, setInterval, setTimeout } from '#base';

const LONGEST_MS = 2 ** 31 - 1;

/** Calls `then` after `ms`, however long, unref'd. Returns how to forget it. */
export function waitLong(ms: number, then: () => unknown): () => void {
  const until = performance.now() + ms;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const left = until - performance.now();
    if (left <= 0) then();
    else timer = setTimeout(wait, Math.min(Math.ceil(left), LONGEST_MS)).unref();
  };
  timer = setTimeout(wait, Math.min(Math.ceil(ms), LONGEST_MS)).unref();
  return () => clearTimeout(timer);
}

/** Keeps the process alive until the function that it returns is called. */
export function holdProcess(): () => void {
  const hold = setInterval(() => {}, LONGEST_MS);
  return () => clearInterval(hold);
}
