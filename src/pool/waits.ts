/**
 * Jobs that this worker has started and whose value lies in a port of the host's: the worker asks for it, and runs the job when it
 * has come. Worker thread.
 *
 *   started --ask--> asked --argument--> arrived --> run
 *                    asked --PATIENCE_MS--> timed out --argument--> arrived
 *                    asked or timed out --late--> late --ask, when there is room--> asked
 *                    any --given up--> gone; an answer that comes then is dropped
 *
 * While a job is asked for it takes the place of a running one, so that no worker starts more than it can run. But a blocked host
 * answers nobody. So after PATIENCE_MS the oldest such job has timed out: it still waits, it takes no place any more, and the worker
 * starts another one. Each further job of this kind takes PATIENCE_MS again until it times out.
 *
 * The host does not send a value in answer to an ask that is old (`LATE_MS`): the worker may be running something else by now, and
 * a value that has been sent is lost if its thread dies of that. It answers `late` instead, and the worker asks again when it has room.
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
  /** It takes no place of a running job any more. */
  timedOut: boolean;
  /** Set when the answer has come. Undefined even then: the host does not have the value any more. */
  port: MessagePort | undefined;
}

export class Waits {
  readonly #channel: WorkerChannel;
  /** In the order in which they were asked for. */
  readonly #asked = new OwnMap<Entry, Waiting>();
  readonly #arrived: Waiting[] = [];
  /** To be asked for again. */
  readonly #late: Waiting[] = [];
  readonly #onChange: () => void;
  #timer: NodeJS.Timeout | undefined;
  /** Asked for, not answered and not timed out. */
  #counted = 0;

  /** `onChange`: one was answered, or has timed out. */
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
    return this.#asked.size + this.#arrived.length + this.#late.length;
  }

  /** The job is given up, and waits no more. Undefined: it does not wait here. */
  remove(entry: Entry): Waiting | undefined {
    return this.#answer(entry) ?? removeFrom(this.#arrived, entry) ?? removeFrom(this.#late, entry);
  }

  /** One could run, or be asked for again. */
  get anyNext(): boolean {
    return this.#arrived.length > 0 || this.#late.length > 0;
  }

  ask(job: Pick<Waiting, 'entry' | 'handler' | 'at' | 'place'>): void {
    this.#ask({ ...job, since: 0, again: false, timedOut: false, port: undefined });
  }

  #ask(waiting: Waiting): void {
    const { entry } = waiting;
    waiting.timedOut = false;
    waiting.since = ticks();
    this.#asked.set(entry, waiting);
    this.#counted++;
    this.#channel.send({ type: 'ask', entry, since: waiting.since, again: waiting.again });
    this.#timer ??= setTimeout(this.#onPatience, PATIENCE_MS).unref();
  }

  /** The host's answers. */
  answered(entry: Entry, port: MessagePort | undefined): void {
    const waiting = this.#answer(entry);
    if (waiting === undefined) return port?.close();
    waiting.port = port;
    push(this.#arrived, waiting);
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
    if (waiting?.timedOut === false) this.#counted--;
    return waiting;
  }

  /** Takes the oldest job whose value has come. Undefined: there is none. */
  takeArrived(): Waiting | undefined {
    return shift(this.#arrived);
  }

  /** There is room for one more: asks again for the value that was told `late` first. */
  askAgain(): void {
    const late = shift(this.#late);
    if (late !== undefined) this.#ask(late);
  }

  readonly #onPatience = (): void => {
    this.#timer = undefined;
    this.#channel.pump(); // it may have come while this thread had no processor
    let left = PATIENCE_MS;
    const waiting = this.#oldestCounted();
    if (waiting !== undefined) {
      left = PATIENCE_MS - ((ticks() - waiting.since) | 0); // what came just now may have made room for another
      if (left <= 0) {
        left = PATIENCE_MS;
        waiting.timedOut = true;
        this.#counted--;
      }
    }
    if (this.#counted > 0) this.#timer ??= setTimeout(this.#onPatience, left).unref();
    this.#onChange();
  };

  #oldestCounted(): Waiting | undefined {
    let oldest: Waiting | undefined;
    this.#asked.forEach((waiting) => {
      if (!waiting.timedOut) oldest ??= waiting;
    });
    return oldest;
  }
}

function removeFrom(list: Waiting[], entry: Entry): Waiting | undefined {
  for (let k = 0; k < list.length; k++) if (list[k]?.entry === entry) return splice(list, k, 1)[0];
  return undefined;
}
