/** A handler's second argument: its handle on the run. Worker thread; made only for handlers that can see it. */

/** One run of a task, as its handler sees it. */
export class TaskHandle {
  /** Number of the worker thread, from 1; no two threads of a queue ever have the same. */
  readonly workerId: number;
  /** Which run of this task it is, from 1. */
  readonly attempt: number = 1;

  constructor(workerId: number) {
    this.workerId = workerId;
  }
}
