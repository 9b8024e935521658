/**
 * Jobs whose value lies in a port of the host's: started, asked for, and run when it has come. Worker thread.
 *
 *   started -ask-> asked --argument--> here -> run
 *                  asked --EXCUSED_MS--> excused --argument--> here -> run, when there is room
 *
 * A job that is waited for takes the place of a running one, so that no worker hoards what others could run. But a host that is
 * blocked answers nobody: after EXCUSED_MS the worker goes on to other jobs, and the next of this kind takes as long again.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Entry, RecordNumber } from '#base';
import type { WorkerChannel } from './channel.ts';
import type { Loaded } from './handlers.ts';

/** Longer than a host is busy at a stretch. Shorter: workers take jobs that must then wait for them; longer: plain jobs wait for a blocked host. */
const EXCUSED_MS = 20;

/** A started job that has no value yet. */
export interface Waiting {
  readonly handler: Loaded;
  readonly record: RecordNumber;
  readonly at: number;
  /** In the run list. */
  readonly place: number;
  excused: boolean;
  /** Has come. Undefined then: the host has it no more. */
  port: MessagePort | undefined;
}

export class Waits {
  readonly #channel: WorkerChannel;
  /** In the order in which they were asked for. */
  readonly #asked = new Map<Entry, Waiting>();
  readonly #here: Waiting[] = [];
  readonly #onChange: () => void;
  #timer: NodeJS.Timeout | undefined;
  /** Asked for and neither excused nor here. */
  #counted = 0;

  /** `onChange`: one has come, or is excused. */
  constructor(channel: WorkerChannel, onChange: () => void) {
    this.#channel = channel;
    this.#onChange = onChange;
  }

  /** Jobs that take a running one's place. */
  get counted(): number {
    return this.#counted;
  }

  /** All jobs that are started and do not run yet. */
  get size(): number {
    return this.#asked.size + this.#here.length;
  }

  get anyHere(): boolean {
    return this.#here.length > 0;
  }

  ask(entry: Entry, handler: Loaded, record: RecordNumber, at: number, place: number): void {
    this.#asked.set(entry, { handler, record, at, place, excused: false, port: undefined });
    this.#counted++;
    this.#channel.send({ type: 'ask', entry });
    this.#timer ??= setTimeout(this.#excuse, EXCUSED_MS).unref();
  }

  /** The host's answer. */
  answered(entry: Entry, port: MessagePort | undefined): void {
    const waiting = this.#asked.get(entry);
    if (waiting === undefined) return port?.close();
    this.#asked.delete(entry);
    if (!waiting.excused) this.#counted--;
    waiting.port = port;
    this.#here.push(waiting);
    this.#onChange();
  }

  /** The oldest whose value has come. */
  next(): Waiting | undefined {
    return this.#here.shift();
  }

  readonly #excuse = (): void => {
    this.#timer = undefined;
    for (const waiting of this.#asked.values()) {
      if (waiting.excused) continue;
      waiting.excused = true;
      this.#counted--;
      break;
    }
    if (this.#counted > 0) this.#timer = setTimeout(this.#excuse, EXCUSED_MS).unref();
    this.#onChange();
  };
}
