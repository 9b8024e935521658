/**
 * Work that runs the user's code and must not run inside a verb: at the end of the tick, in order. Host thread.
 *
 * After `SLICE_MS` the loop gets a turn, as everywhere.
 */
import { performance, queueMicrotask, setImmediate } from '#base';
const SLICE_MS = 1;

export class Later {
  readonly #onDone: () => void;
  #work: (() => void)[] = [];
  #scheduled = false;

  /** `onDone` is called after each slice of work. */
  constructor(onDone: () => void) {
    this.#onDone = onDone;
  }

  /** `work` must not throw. */
  add(work: () => void): void {
    this.#work.push(work);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(this.#run);
  }

  readonly #run = (): void => {
    const until = performance.now() + SLICE_MS;
    const all = this.#work;
    let done = 0;
    do (all[done++] as () => void)();
    while (done < all.length && performance.now() < until);
    this.#work = all.slice(done);
    this.#scheduled = this.#work.length > 0;
    if (this.#scheduled) setImmediate(this.#run); // ref'd: the results are still owed
    this.#onDone();
  };
}
