/** `move`: a value of which parts are handed over instead of copied. Any thread. */
import { Array, ArrayBuffer, got, Object, OwnSet, sliceOf, type Transferable, types, wrongType } from '#base';

/** Any copy of this module knows what another one has marked. */
const MOVED: unique symbol = Symbol.for('railhead.moved') as never;

/** What `move` was given. */
export interface MovedParts {
  readonly value: unknown;
  readonly transfer: readonly Transferable[];
}

/** A value on its way out. Seen by nobody: its receiver gets the value itself. Of a class, so that no codec takes it for data. */
class Moved {
  constructor(parts: MovedParts) {
    Object.defineProperty(this, MOVED, { value: parts });
  }
}

/**
 * Marks a value to be moved to the other thread instead of copied: as a handler's result, or as the value of a task. What is
 * moved can no longer be used here.
 *
 * Without a list, an ArrayBuffer or port is moved itself, and a typed array with its buffer if it covers all of it: of a slice, as
 * small Buffers are, others may hold the rest, so it is copied.
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) when `transferList` is no array.
 * @example
 * export default (size) => move(new Uint8Array(size));
 */
export function move<T>(value: T, transferList?: readonly Transferable[]): T {
  if (transferList !== undefined && !Array.isArray(transferList))
    throw wrongType(`Expected \`transferList\` to be an array, ${got(transferList)}`);
  return new Moved({ value, transfer: sliceOf(transferList ?? itself(value), 0) }) as unknown as T; // in types it stays what it is: so it arrives
}

function itself(value: unknown): Transferable[] {
  if (ArrayBuffer.isView(value)) {
    const whole = types.isArrayBuffer(value.buffer) && value.byteLength === value.buffer.byteLength;
    return whole ? [value.buffer as ArrayBuffer] : [];
  }
  if (typeof value !== 'object' || value === null || types.isSharedArrayBuffer(value)) return [];
  return isTransferable(value) ? [value as Transferable] : [];
}

/** By the tag of its class: the list is checked by the engine later. */
const TRANSFERABLE = new OwnSet(['ArrayBuffer', 'MessagePort', 'ReadableStream', 'WritableStream', 'TransformStream', 'FileHandle']);

export function isTransferable(value: object): boolean {
  for (let above: object | null = value; above !== null; above = Object.getPrototypeOf(above) as object | null) {
    const maker: unknown = Object.getOwnPropertyDescriptor(above, 'constructor')?.value;
    if (typeof maker === 'function' && TRANSFERABLE.has(maker.name)) return true;
  }
  return false;
}

/** What was marked, or undefined. */
export function movedOf(value: unknown): MovedParts | undefined {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, MOVED)
    ? (value as { readonly [MOVED]: MovedParts })[MOVED]
    : undefined;
}
