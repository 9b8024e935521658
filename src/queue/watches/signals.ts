/** Abort signals of unsettled jobs: one listener for each distinct signal, gone with its last job. Host thread. */
import { Map, Set } from '#base';
import type { Job } from '../registry.ts';

interface Listening {
  readonly jobs: Set<Job>;
  readonly listener: () => void;
}

export class Signals {
  readonly #onAbort: (job: Job, reason: unknown) => void;
  readonly #bySignal = new Map<AbortSignal, Listening>();

  constructor(onAbort: (job: Job, reason: unknown) => void) {
    this.#onAbort = onAbort;
  }

  /** The signal is not aborted yet. */
  add(signal: AbortSignal, job: Job): void {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) {
      known.jobs.add(job);
      return;
    }
    const jobs = new Set([job]);
    const listener = (): void => {
      this.#bySignal.delete(signal); // fires once; what comes later is refused as already aborted
      for (const each of [...jobs].reverse()) this.#onAbort(each, signal.reason); // queued ones first: the end of a running one frees its worker for them
    };
    signal.addEventListener('abort', listener, { once: true });
    this.#bySignal.set(signal, { jobs, listener });
  }

  remove(signal: AbortSignal, job: Job): void {
    const known = this.#bySignal.get(signal);
    if (known === undefined || !known.jobs.delete(job) || known.jobs.size > 0) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener('abort', known.listener);
  }
}
