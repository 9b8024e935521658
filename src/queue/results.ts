/** Results: from a settled record to a value. Host thread. */
import { messageOf, performance, queueMicrotask, type RailheadError, type RecordNumber, railheadError, setImmediate } from '#base';
import type { Region } from '#memory';
import { type Codec, causeOf, deserializeWith, Encoded, FORM_PORT, formAt, getResult, portOwner } from '#payload';
import type { HostPorts } from './ports.ts';

export class Results {
  readonly #region: Region;
  readonly #ports: HostPorts;
  readonly #codec: Codec | undefined;
  readonly #endOfTick: EndOfTick;

  /** `onDecoded`: the user's codec has read some, at the end of a tick. */
  constructor(region: Region, ports: HostPorts, codec: Codec | undefined, onDecoded: () => void) {
    this.#region = region;
    this.#ports = ports;
    this.#codec = codec;
    this.#endOfTick = new EndOfTick(onDecoded);
  }

  /** An error comes in wire form, and what the user's codec must still read as `Encoded`. @throws RailheadError `E_RESULT_CLONE` */
  read(record: RecordNumber, at: number): unknown {
    const region = this.#region;
    try {
      return formAt(region, at) === FORM_PORT ? this.#ports.result(record, portOwner(region, at)) : getResult(region, at);
    } catch (thrown) {
      throw notRead(thrown); // no memory for the value in this thread, for one
    }
  }

  isEncoded(value: unknown): value is Encoded {
    return this.#codec !== undefined && value instanceof Encoded;
  }

  /** The user's own code runs: we may be inside a verb, so it waits for the end of the tick. */
  decodeLater(encoded: Encoded, done: (failed: boolean, value: unknown) => void): void {
    this.#endOfTick.add(() => {
      let value: unknown;
      try {
        value = deserializeWith(this.#codec as Codec, encoded);
      } catch (thrown) {
        return done(true, notRead(thrown));
      }
      done(false, value);
    });
  }
}

function notRead(thrown: unknown): RailheadError {
  const why = messageOf(thrown);
  return railheadError('E_RESULT_CLONE', `The task ran, but its result could not be read: ${why}`, { cause: causeOf(thrown) });
}

/** The loop gets a turn after so long of the user's code, as everywhere. */
const SLICE_MS = 1;

/** Work that runs the user's code and must not run inside a verb: done at the end of the tick, in order. */
class EndOfTick {
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
