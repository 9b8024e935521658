/**
 * Jobs whose value lies in a port of the host's: started, asked for, and run when it has come. Worker thread.
 *
 *   started -ask-> asked --argument--> here -> run
 *                  asked --PATIENCE_MS--> excused --late--> to be asked for again, when there is room -> asked
 *                  any --given up--> gone; an answer that comes then is dropped
 *
 * A job that is waited for takes the place of a running one, so that no worker hoards what others could run. But a host that is
 * blocked answers nobody: after PATIENCE_MS the worker goes on to other jobs, and the next of this kind takes as long again.
 * Answers that come late bring no value: what it has been given is lost if the worker dies of another job.
 */
import type { MessagePort } from 'node:worker_threads';
import { type Entry, OwnMap, push, setTimeout, shift, splice, ticks } from '#base';
import { PATIENCE_MS, type WorkerChannel } from './channel.ts';
import type { Loaded } from './handlers.ts';

/** A started job that has no value yet. */
export interface Waiting {
  readonly entry: Entry;
  readonly handler: Loaded;
  readonly at: number;
  /** In the run list. */
  readonly place: number;
  /** When it was asked for, in ticks. */
  since: number;
  /** It has been told `late` once: the next answer brings the value, however long it takes, or a busy host would never give it. */
  again: boolean;
  excused: boolean;
  /** Has come. Undefined then: the host has it no more. */
  port: MessagePort | undefined;
}

export class Waits {
  readonly #channel: WorkerChannel;
  /** In the order in which they were asked for. */
  readonly #asked = new OwnMap<Entry, Waiting>();
  readonly #here: Waiting[] = [];
  /** To be asked for again. */
  readonly #late: Waiting[] = [];
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
    return this.#asked.size + this.#here.length + this.#late.length;
  }

  /** The job is given up: it waits no more. Undefined: it does not wait here. */
  remove(entry: Entry): Waiting | undefined {
    return this.#answer(entry) ?? removeFrom(this.#here, entry) ?? removeFrom(this.#late, entry);
  }

  /** One could run, or be asked for again. */
  get anyNext(): boolean {
    return this.#here.length > 0 || this.#late.length > 0;
  }

  ask(job: Pick<Waiting, 'entry' | 'handler' | 'at' | 'place'>): void {
    this.#ask({ ...job, since: 0, again: false, excused: false, port: undefined });
  }

  #ask(waiting: Waiting): void {
    const { entry } = waiting;
    waiting.excused = false;
    waiting.since = ticks();
    this.#asked.set(entry, waiting);
    this.#counted++;
    this.#channel.send({ type: 'ask', entry, since: waiting.since, again: waiting.again });
    this.#timer ??= setTimeout(this.#excuse, PATIENCE_MS).unref();
  }

  /** The host's answers. */
  answered(entry: Entry, port: MessagePort | undefined): void {
    const waiting = this.#answer(entry);
    if (waiting === undefined) return port?.close();
    waiting.port = port;
    push(this.#here, waiting);
    this.#onChange();
  }

  late(entry: Entry): void {
    const waiting = this.#answer(entry);
    if (waiting === undefined) return;
    waiting.again = true;
    push(this.#late, waiting);
    this.#onChange();
  }

  #answer(entry: Entry): Waiting | undefined {
    const waiting = this.#asked.get(entry);
    this.#asked.delete(entry);
    if (waiting?.excused === false) this.#counted--;
    return waiting;
  }

  /** There is room for one more: the oldest whose value has come. If there is none, the oldest other one is asked for again. */
  next(): Waiting | undefined {
    const next = shift(this.#here);
    const late = next === undefined ? shift(this.#late) : undefined;
    if (late !== undefined) this.#ask(late);
    return next;
  }

  readonly #excuse = (): void => {
    this.#timer = undefined;
    this.#channel.pump(); // it may have come while this thread had no processor
    let left = PATIENCE_MS;
    const waiting = this.#oldestCounted();
    if (waiting !== undefined) {
      left = PATIENCE_MS - ((ticks() - waiting.since) | 0); // what came just now may have made room for another
      if (left <= 0) {
        left = PATIENCE_MS;
        waiting.excused = true;
        this.#counted--;
      }
    }
    if (this.#counted > 0) this.#timer ??= setTimeout(this.#excuse, left).unref();
    this.#onChange();
  };

  #oldestCounted(): Waiting | undefined {
    let oldest: Waiting | undefined;
    this.#asked.forEach((waiting) => {
      if (!waiting.excused) oldest ??= waiting;
    });
    return oldest;
  }
}

function removeFrom(list: Waiting[], entry: Entry): Waiting | undefined {
  for (let k = 0; k < list.length; k++) if (list[k]?.entry === entry) return splice(list, k, 1)[0];
  return undefined;
}
