/**
 * How a thrown value crosses a thread: a tree of plain values, which every form can carry; `error-unwire.ts` reads it.
 * The thread where it was thrown; pure.
 *
 * Primitives and Uint8Arrays stand for themselves; everything else is `[tag, …]`, keys and values of an object in one flat
 * array, so that a key named `__proto__` is never a key on the way. What cannot cross (functions, symbols, instances of
 * classes, a circle, what is beyond the bounds below) is left out where it stands; the rest still arrives. It never
 * throws: the error under way matters more than what is wrong with it.
 */
import {
  AggregateError,
  Array,
  bigintText,
  DOMException,
  Error,
  EvalError,
  filter,
  forEachOfMap,
  forEachOfSet,
  getTime,
  Math,
  Object,
  OwnSet,
  push,
  RangeError,
  ReferenceError,
  slice,
  sliceOf,
  SyntaxError,
  TypeError,
  types,
  Uint8Array,
  URIError,
} from './realm.ts';
import { BRAND, RailheadError } from './errors.ts';
import { readable } from './readable.ts';

export type WireValue = undefined | null | boolean | number | string | Uint8Array | WireValue[] | { [field: string]: WireValue };
/** A thrown value on its way. Opaque: made by `toWire`, read by `fromWire`. */
export type ErrorWire = WireValue;

/** Levels of causes, errors and objects inside one another. Larger, and a made-up chain overflows the stack. */
export const MAX_DEPTH = 16;
/** Errors in one tree. Larger, and `Promise.any` over a burst sends every stack of it. */
export const MAX_ERRORS = 100;
/** Own properties of one error. Larger, and an error used as a map holds up everybody who waits for a result. */
export const MAX_PROPS = 256;
/** Entries of all objects and arrays in one tree. Larger, and objects that share parts unfold to millions. */
export const MAX_ENTRIES = 4096;
/** Characters of one message or stack; the end is cut. Larger, and a recursion's stack crowds out everything else. */
export const MAX_TEXT = 65_536;
/** Characters and bytes of one tree. Larger, and a response body hung on an error is copied with every failure. */
export const MAX_SIZE = 1_048_576;
/** Characters of a class name, a name or a code. Larger, and the other side's table of class names holds on to text. */
const MAX_NAME = 128;

export type Maker = new (...args: never[]) => Error;
/** Classes that the other side rebuilds as themselves. The keys are the names on the wire, whatever a minifier does to ours. */
export const REBUILT: Readonly<Record<string, Maker>> = {
  ...{ Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError },
  ...{ AggregateError, DOMException, RailheadError },
};

const LEFT_OUT: unique symbol = Symbol('left out');
type Encoded = WireValue | typeof LEFT_OUT;

/** What is still allowed in this tree, and the objects we are inside of. */
interface Walk {
  errors: number;
  entries: number;
  size: number;
  readonly inside: Set<object>;
}

/** Any thrown value as a tree of plain values. Never throws, whatever was thrown. */
export function toWire(thrown: unknown): ErrorWire {
  const wire = encode(thrown, { errors: MAX_ERRORS, entries: MAX_ENTRIES, size: MAX_SIZE, inside: new OwnSet() });
  return wire === LEFT_OUT ? ['other', readable(thrown)] : wire;
}

function encode(value: unknown, walk: Walk): Encoded {
  try {
    switch (typeof value) {
      case 'undefined':
      case 'boolean':
      case 'number':
        return value;
      case 'string':
        return spend(walk, 'size', value.length) ? value : LEFT_OUT;
      case 'bigint':
        return encodeBigInt(value, walk);
      case 'object':
        return value === null ? null : encodeObject(value, walk);
      default:
        return LEFT_OUT;
    }
  } catch {
    return LEFT_OUT; // a revoked Proxy, a trap or getter that throws, no stack left
  }
}

/** In hexadecimal: to decimal takes quadratic time. */
function encodeBigInt(value: bigint, walk: Walk): Encoded {
  const digits = bigintText(value < 0n ? -value : value, 16);
  return spend(walk, 'size', digits.length) ? ['bigint', `0x${digits}`, value < 0n] : LEFT_OUT;
}

function encodeObject(value: object, walk: Walk): Encoded {
  if (walk.inside.has(value) || walk.inside.size >= MAX_DEPTH) return LEFT_OUT;
  walk.inside.add(value);
  try {
    if (types.isNativeError(value) || value instanceof Error) return spend(walk, 'errors', 1) ? encodeError(value, walk) : LEFT_OUT;
    if (types.isUint8Array(value)) return spend(walk, 'size', value.byteLength) ? new Uint8Array(value) : LEFT_OUT;
    if (types.isDate(value)) return ['date', getTime(value)];
    if (types.isMap(value) || types.isSet(value)) return encodeList(types.isMap(value) ? 'map' : 'set', itemsOf(value), walk);
    if (Array.isArray(value)) return encodeList('array', value, walk);
    return isPlain(value) ? encodePlain(value as Record<string, unknown>, walk) : LEFT_OUT;
  } finally {
    walk.inside.delete(value);
  }
}

/** Of a map: key, value, key, value … */
function itemsOf(value: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>): unknown[] {
  const items: unknown[] = [];
  if (types.isSet(value)) forEachOfSet(value, (item) => push(items, item));
  else {
    forEachOfMap(value as Map<unknown, unknown>, (item, key) => {
      push(items, key);
      push(items, item);
    });
  }
  return items;
}

/** Places count in a list, so what is left out of it becomes undefined. */
function encodeList(tag: 'array' | 'map' | 'set', items: readonly unknown[], walk: Walk): Encoded {
  if (!spend(walk, 'entries', items.length)) return LEFT_OUT;
  const list: WireValue[] = [];
  for (let k = 0; k < items.length; k++) {
    const encoded = encode(items[k], walk);
    push(list, encoded === LEFT_OUT ? undefined : encoded);
  }
  return [tag, list];
}

function encodePlain(value: Record<string, unknown>, walk: Walk): Encoded {
  const keys = Object.keys(value);
  if (!spend(walk, 'entries', keys.length)) return LEFT_OUT;
  return ['object', encodeKeys(value, keys, walk)];
}

/** Key, value, key, value … */
function encodeKeys(value: object, keys: readonly string[], walk: Walk): WireValue[] {
  const pairs: WireValue[] = [];
  for (let k = 0; k < keys.length; k++) {
    const key = keys[k] as string;
    const encoded = encode(read(value, key), walk);
    if (encoded === LEFT_OUT || !spend(walk, 'size', key.length)) continue;
    push(pairs, key);
    push(pairs, encoded);
  }
  return pairs;
}

/** The error's own text first, so that what hangs on it can never crowd it out. */
function encodeError(error: object, walk: Walk): WireValue {
  const { className, base } = classOf(error);
  const wire: { [field: string]: WireValue } = { className, base };
  const carried: Record<string, unknown> = { __proto__: null, name: true, message: true, stack: true, cause: true };
  const name = read(error, 'name');
  const message = read(error, 'message');
  const stack = read(error, 'stack');
  const code = read(error, 'code');
  wire.name = typeof name === 'string' ? cut(name, MAX_NAME, walk) : className;
  wire.message = cut(textOf(message), MAX_TEXT, walk);
  if (typeof stack === 'string') wire.stack = cut(stack, MAX_TEXT, walk);
  if (base !== 'DOMException' && (typeof code === 'string' || typeof code === 'number')) {
    carried.code = true;
    wire.code = typeof code === 'string' ? cut(code, MAX_NAME, walk) : code;
  }
  const cause = read(error, 'cause');
  // A cause that is a function comes from a class with a method of that name.
  if (Object.hasOwn(error, 'cause') || (cause !== undefined && typeof cause !== 'function')) {
    const encoded = encode(cause, walk);
    if (encoded !== LEFT_OUT) wire.cause = encoded;
  }
  if (base === 'AggregateError') {
    carried.errors = true;
    wire.errors = encodeErrors(read(error, 'errors'), walk);
  }
  const keys = filter(Object.keys(error), (key) => carried[key] !== true);
  wire.props = encodeKeys(error, sliceOf(keys, 0, MAX_PROPS), walk);
  return ['error', wire];
}

function textOf(message: unknown): string {
  if (typeof message === 'string') return message;
  if (message === LEFT_OUT) return 'The message of this error could not be read: its getter threw';
  return message === undefined ? '' : readable(message);
}

/** Of too many errors the first ones arrive; one that cannot be copied arrives as its description. */
function encodeErrors(errors: unknown, walk: Walk): WireValue[] {
  if (!Array.isArray(errors)) return [];
  const list: WireValue[] = [];
  for (let k = 0; k < errors.length && k < MAX_ERRORS; k++) {
    const encoded = encode(errors[k], walk);
    if (encoded !== LEFT_OUT) push(list, encoded);
    else if (walk.errors > 0) push(list, ['other', readable(errors[k])]);
  }
  return list;
}

/**
 * Name of the error's own class, and the nearest class above it that the other side can rebuild. Ours by brand, since another
 * package's class of that name is not ours; the built-in ones by name, since an error of another realm (`node:vm`, Jest) has
 * classes of its own.
 */
function classOf(error: object): { readonly className: string; readonly base: string } {
  const ours = read(error, BRAND) === true;
  let className = '';
  let above: object | null = Object.getPrototypeOf(error) as object | null;
  for (let step = 0; above !== null && step < MAX_DEPTH; step++) {
    const maker = read(above, 'constructor');
    const name = typeof maker === 'function' ? read(maker, 'name') : undefined;
    if (typeof name === 'string' && name !== '') {
      className ||= slice(name, 0, MAX_NAME);
      if (ours) return { className, base: 'RailheadError' };
      if (name !== 'RailheadError' && Object.hasOwn(REBUILT, name)) return { className, base: name };
    }
    above = Object.getPrototypeOf(above) as object | null;
  }
  return { className: className || 'Error', base: 'Error' };
}

/** Made by a literal, in any realm, or without a prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** A property, or a symbol (which is never sent) where its getter throws. */
function read(value: object, key: PropertyKey): unknown {
  try {
    return (value as Record<PropertyKey, unknown>)[key];
  } catch {
    return LEFT_OUT;
  }
}

/** Takes from what the tree may still hold. False: no room, and nothing was taken, so smaller things may still fit. */
function spend(walk: Walk, of: 'errors' | 'entries' | 'size', amount: number): boolean {
  if (!(amount <= walk[of])) return false; // this way round, because a Proxy may give NaN as its length
  walk[of] -= amount;
  return true;
}

function cut(text: string, most: number, walk: Walk): string {
  const kept = Math.min(text.length, most, walk.size);
  walk.size -= kept;
  return kept === text.length ? text : `${slice(text, 0, kept)}… (${text.length - kept} more characters)`;
}
