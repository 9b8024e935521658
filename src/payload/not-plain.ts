/** Why a value cannot be sent, in words a user can act on. Any thread; runs no user code. */
import { Array, DOMException, Error, exec, got, JSON, Object, RangeError, replaceFirst, slice, String, TypeError, types } from '#base';

/** `path` says where: `value.a[3].b`. `refusal` is what structuredClone threw, if it was asked. */
export class NotPlain extends Error {
  readonly path: string;

  constructor(path: string, what: string, refusal?: Error) {
    super(
      `\`${path}\` is ${what}, which cannot be sent${refusal === undefined ? '' : `: ${refusal.message}`}`,
      refusal && { cause: refusal },
    );
    this.path = path;
  }

  static {
    NotPlain.prototype.name = 'NotPlain';
  }
}

/** A value beyond `maxPayloadBytes`. `bytes` says how large it is at least. */
export class TooLarge extends Error {
  readonly bytes: number;

  constructor(bytes: number) {
    super(`The value has ${bytes} bytes or more`);
    this.bytes = bytes;
  }

  static {
    TooLarge.prototype.name = 'TooLarge';
  }
}

/** Something is to be moved that the value does not hold: it would be detached here and arrive nowhere. A bug in the caller. */
export class NotInValue extends TypeError {
  readonly code = 'ERR_INVALID_ARG_TYPE';

  constructor(moved: object, at: number) {
    super(`Expected \`transfer\` to name only what the value holds, ${got(moved)} at [${at}], which would be lost`);
  }

  static {
    NotInValue.prototype.name = 'TypeError'; // what a caller sees
  }
}

/** The user's codec threw, or gave something else than bytes. `cause` is what it threw. */
export class CodecFailed extends Error {
  static {
    CodecFailed.prototype.name = 'CodecFailed';
  }
}

/** The reason in a few words; `what` is "value" or "result". Whatever was thrown while it was read and copied. */
export function whyNotSent(thrown: unknown, what: string): string {
  if (thrown instanceof NotPlain) return replaceFirst(thrown.message, 'value', what);
  if (thrown instanceof CodecFailed) return thrown.message;
  if (isRefusal(thrown)) return thrown.message;
  const message = ownMessage(thrown);
  if (message === OVERFLOW) return `it is nested too deeply, or a getter of it calls itself without end: ${message}`;
  if (NO_MEMORY.includes(message)) return `there is no memory for it: ${message}`;
  return `a getter of the ${what} threw`;
}

/** What the engine says while it reads or copies a value: any other RangeError is a getter's own. */
const OVERFLOW = 'Maximum call stack size exceeded';
const NO_MEMORY: readonly unknown[] = ['Array buffer allocation failed', 'Map maximum size exceeded'];

const ownMessage = (thrown: unknown): unknown =>
  types.isNativeError(thrown) && thrown instanceof RangeError ? Object.getOwnPropertyDescriptor(thrown, 'message')?.value : undefined;

/** The engine's own, and not something that a getter threw. */
export function isRefusal(thrown: unknown): thrown is Error {
  if (thrown instanceof DOMException) return thrown.name === 'DataCloneError';
  return types.isNativeError(thrown) && slice(String((thrown as Error & { code?: unknown }).code), 0, 4) === 'ERR_';
}

/** For the `cause` of the error that the caller sees. */
export const causeOf = (thrown: unknown): unknown => (thrown instanceof CodecFailed ? (thrown.cause ?? thrown) : thrown);

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
/** Longer names, and deeper paths, are cut: a message is for reading. */
const NAME_MAX = 60;
const PATH_MAX = 20;

/** `value.a[3]["two words"]`. Keys are strings, places in an array numbers. */
export function pathOf(keys: readonly (string | number)[]): string {
  let path = 'value';
  for (let k = 0; k < keys.length && k < PATH_MAX; k++) {
    const key = keys[k] as string | number;
    if (typeof key === 'number') path += `[${key}]`;
    else if (exec(IDENTIFIER, key) !== null && key.length <= NAME_MAX) path += `.${key}`;
    else path += `[${JSON.stringify(cut(key))}]`;
  }
  return keys.length > PATH_MAX ? `${path}…` : path;
}

/** What a value is, with article. Reads through descriptors only: no getter, no proxy trap, so it never throws. */
export function whatIs(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`;
  if (types.isProxy(value)) return 'a Proxy';
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || types.isProxy(prototype)) return 'an object of an unknown class';
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  if (typeof maker !== 'function' || types.isProxy(maker)) return 'an object with a prototype of its own';
  const name: unknown = Object.getOwnPropertyDescriptor(maker, 'name')?.value;
  return typeof name === 'string' && name !== '' ? `an instance of ${cut(name)}` : 'an instance of a class without name';
}

const cut = (text: string): string => (text.length > NAME_MAX ? `${slice(text, 0, NAME_MAX)}…` : text);

/** Whether reading one of these objects or arrays may have run a getter. */
export function hasAccessor(objects: readonly (object | undefined)[]): boolean {
  for (let k = 0; k < objects.length; k++) {
    const object = objects[k];
    const prototype: unknown = Object.getPrototypeOf(object);
    if (prototype !== Object.prototype && prototype !== null && prototype !== Array.prototype) continue; // set aside unread
    for (const key in object) if (Object.getOwnPropertyDescriptor(object, key)?.get !== undefined) return true;
  }
  return false;
}
