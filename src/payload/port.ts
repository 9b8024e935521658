/**
 * FORM_PORT: values that travel as the one message of a private MessagePort: what only the engine can carry, what is moved, and
 * what is too large for shared memory; and `move`, which marks what is handed over. Any thread: the one that sends makes the port, the one
 * that reads closes it.
 *
 *   message = [value]                  as it is
 *           | [bytes, form, length]    encoded before, the bytes moved
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import {
  Array,
  ArrayBuffer,
  Buffer,
  closePort,
  Error,
  got,
  Math,
  Object,
  OwnSet,
  postMessage,
  setBytes,
  sliceOf,
  subarray,
  type Transferable,
  types,
  Uint8Array,
  wrongType,
} from '#base';
import { decode } from './decode.ts';
import { FORM_BUFFER, FORM_BYTES, FORM_PORT, type Form } from './form.ts';
import type { Scratch } from './scratch.ts';

/**
 * Values above this go by port, and their memory is the collector's again once they are read: the region never shrinks.
 * Smaller: more of them pay for a port; larger: one of them takes that much for good.
 */
export const PORT_BYTES: number = 1024 * 1024;

/** Reads, copies and detaches now. @throws as structuredClone does; nothing was detached then. */
export function postTo(into: Scratch, message: unknown, transfer: readonly Transferable[], length: number): void {
  const { port1, port2 } = new MessageChannel();
  try {
    postMessage(port1, message, transfer);
  } catch (error) {
    closePort(port2);
    throw error;
  } finally {
    closePort(port1); // the message stays where it is, in the other port
  }
  into.port = port2;
  into.form = FORM_PORT;
  into.length = Math.min(length, 2 ** 31 - 1);
}

/** What was encoded goes by port after all. */
export function toPort(into: Scratch): void {
  const { form, length, source } = into;
  let bytes: Uint8Array = source;
  if (source === into.bytes) into.giveAway();
  else {
    bytes = Buffer.allocUnsafeSlow(length);
    setBytes(bytes, source.length === length ? source : subarray(source, 0, length), 0);
  }
  postTo(into, [new Uint8Array(bytes.buffer), form, length], [bytes.buffer as ArrayBuffer], length);
  into.source = into.bytes;
}

/** Takes the message and closes the port. @throws when the value cannot be made in this thread. */
export function readPort(port: MessagePort): unknown {
  try {
    const received = receiveMessageOnPort(port) as { message: [unknown] | [bytes: Uint8Array, form: Form, length: number] } | undefined;
    if (received === undefined) throw new Error('The port of the value was empty');
    const { message } = received;
    if (message.length === 1) return message[0];
    const bytes = message[0];
    const form = message[1];
    const length = message[2];
    if (form === FORM_BYTES) return bytes;
    if (form === FORM_BUFFER) return bytes.buffer;
    return decode(form, Buffer.from(bytes.buffer), 0, length);
  } finally {
    closePort(port);
  }
}

/** Any copy of this module knows what another one has marked. */
const MOVED: unique symbol = Symbol.for('railhead.moved') as never;

/** What `move` was given. */
export interface MovedParts {
  readonly value: unknown;
  readonly transfer: readonly Transferable[];
}

/** A value on its way out. Seen by nobody: its receiver gets the value itself. Of a class, so that `encode` does not take it for data. */
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
