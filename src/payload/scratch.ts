/**
 * Where a value is encoded before it is copied into shared memory, since reading a value may run getters: user code, which
 * must not run while the library owns anything shared. Private to one thread.
 *
 * User code may call any verb, and that encodes too: so each encode takes a scratch, is its only owner, and gives it back when the
 * payload is where it belongs. What a verb inside a getter takes is another one.
 */
import type { MessagePort } from 'node:worker_threads';
import { Array, Buffer, copyBytes, Math, Number, pop, push } from '#base';
import { FORM_UNDEFINED, type Form } from './form.ts';
import { TooLarge } from './not-plain.ts';

const FIRST_BYTES = 4 * 1024;
/** What is kept between values. Larger payloads do not live in shared memory, so they are rare: their buffer is dropped. */
const KEPT_BYTES = 1024 * 1024;
/** Scratches kept for the next encode. More: memory that only verbs within verbs within verbs use; fewer: those make theirs anew. */
const IDLE_MAX = 4;
/** Objects looked up one by one; beyond that a Map is dearer to make but cheaper to ask. */
export const LINEAR_MAX = 16;

/**
 * The result of the last `encode`, good until the next `encode` into it or `release`.
 * The members below the first five are the encoder's own.
 */
export class Scratch {
  form: Form = FORM_UNDEFINED;
  /** Of the payload, in bytes. */
  length = 0;
  /** The value itself for FORM_NUMBER, which has no bytes in `source`. */
  number = 0;
  /** Its first `length` bytes are the payload: our own buffer, or the caller's own array for FORM_BYTES, so that bytes are copied only once. */
  source: Uint8Array;
  /** For FORM_PORT, instead of `source`: the value waits in it as a message. Whoever takes it over clears this. */
  port: MessagePort | undefined = undefined;

  /** Beyond so many bytes TooLarge is thrown, as soon as that is known. */
  most: number = Number.POSITIVE_INFINITY;
  /** After an `encode` that gave false: what `encode` has set aside, and whether a getter may have run. */
  readonly foreign: (object | bigint)[] = [];
  ranGetters = false;
  /** Where the first of it is, for the message. */
  foreignPath = '';
  bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  /** Next byte to write. */
  at = 0;
  /** Keys from the root to the container being written. */
  readonly path: (string | number)[] = [];
  depth = 0;
  /** Objects met so far by number: the first LINEAR_MAX here, all of them in `index` once there are more. */
  readonly seen: (object | undefined)[] = Array.from({ length: LINEAR_MAX }, () => undefined);
  count = 0;
  index: Map<object, number> | undefined = undefined;
  /** Buffers of the byte arrays met so far. */
  views: Set<object> | undefined = undefined;

  constructor() {
    this.source = this.bytes;
  }

  /** As new: lets go of all that was the caller's, of a port that nobody took, and of a buffer that one huge value has made. */
  release(): void {
    if (this.bytes.length > KEPT_BYTES) this.bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.source = this.bytes;
    if (this.port !== undefined) {
      this.port.close();
      this.port = undefined;
    }
    if (this.foreign.length > 0) this.foreign.length = 0; // setting a length costs more than encoding a small object
    const known = Math.min(this.count, LINEAR_MAX);
    for (let i = 0; i < known; i++) this.seen[i] = undefined;
    this.count = 0;
    this.index = undefined;
    this.views = undefined;
  }

  /** The port is the caller's from here. */
  takePort(): MessagePort {
    const port = this.port as MessagePort;
    this.port = undefined;
    return port;
  }

  /** The buffer belongs to somebody else from here. */
  giveAway(): void {
    this.bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  }

  /** Makes sure that `n` more bytes fit. */
  room(n: number): void {
    if (this.at + n > this.bytes.length) this.grow(n);
  }

  private grow(n: number): void {
    const least = this.at + Math.max(0, (n >> 1) - 32); // callers ask for two bytes a character, and some slack
    if (least > this.most) throw new TooLarge(least);
    let size = this.bytes.length * 2;
    while (size < this.at + n) size *= 2;
    const larger = Buffer.allocUnsafeSlow(size);
    copyBytes(this.bytes, larger, 0, 0, this.at);
    this.bytes = larger;
  }
}

/** The scratches of this thread that nobody owns. */
const idle: Scratch[] = [];

/** The caller's own until it gives it back. */
export const takeScratch = (): Scratch => pop(idle) ?? new Scratch();

/** Nothing of it may be used any more. */
export function giveScratch(scratch: Scratch): void {
  scratch.release();
  if (idle.length < IDLE_MAX) push(idle, scratch);
}
