/**
 * Value to bytes in a Scratch, as a tagged tree. Any thread, while its guard is OPEN: getters of the value run here.
 *
 * Carries what JSON-like data is made of, as structuredClone does. Objects of other kinds are set aside as foreign, and
 * `pack.ts` sees to them; what no way can carry is refused. A disguise is not looked for: an object whose prototype was set to
 * Object.prototype is taken by its own properties.
 */
import { Array, ArrayBuffer, Buffer, Object, OwnMap, OwnSet, push, setBytes, sliceOf, types, Uint8Array, uncurry } from '#base';
import * as tag from './tags.ts';
import {
  FORM_BYTES,
  FORM_FALSE,
  FORM_NULL,
  FORM_NUMBER,
  FORM_PLAIN,
  FORM_TEXT_1,
  FORM_TEXT_2,
  FORM_TRUE,
  FORM_UNDEFINED,
  type Form,
} from './form.ts';
import { hasAccessor, NotPlain, pathOf, TooLarge, whatIs } from './not-plain.ts';
import { LINEAR_MAX, type Scratch } from './scratch.ts';
import { writeKey, writeNumber, writeText, writeUnits, writeVarint } from './write.ts';

export { NotPlain, TooLarge } from './not-plain.ts';
export { giveScratch, Scratch, takeScratch } from './scratch.ts';

/** Tag and the largest thing of fixed size, or a varint: what every write but text and bytes may take for granted. */
const SLACK = 16;

const hasOwn = uncurry(Object.prototype.hasOwnProperty);
// A property of the same name on the array itself would hide these, so they are taken from the prototype.
const TypedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const getterOf = (name: string): ((bytes: Uint8Array) => unknown) =>
  uncurry(Object.getOwnPropertyDescriptor(TypedArray, name)?.get as (this: Uint8Array) => unknown);
const bufferOf = getterOf('buffer');
const byteLengthOf = getterOf('byteLength');
const isResizable = uncurry(Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'resizable')?.get as (this: unknown) => boolean);
const keysOfBytes = uncurry(Uint8Array.prototype.keys);

/**
 * Encodes `value` into `into`; scalars leave its buffer alone. False: parts of the value are foreign and lie in `into.foreign`,
 * the bytes name them by their place there, and there is no form yet.
 * @throws NotPlain for a value that cannot be sent at all, TooLarge, and whatever a getter of the value throws.
 */
export function encode(value: unknown, into: Scratch): boolean {
  switch (typeof value) {
    case 'number':
      into.form = FORM_NUMBER;
      into.length = 8;
      into.number = value;
      return true;
    case 'undefined':
      return finish(into, FORM_UNDEFINED, 0);
    case 'boolean':
      return finish(into, value ? FORM_TRUE : FORM_FALSE, 0);
    case 'string':
    case 'object':
      if (value === null) return finish(into, FORM_NULL, 0);
      into.release();
      if (typeof value === 'string') return encodeText(value, into);
      return isBytes(value) ? encodeBytes(value, into) : encodeTree(value, into);
    case 'bigint':
      into.release();
      return encodeTree(value, into);
    default:
      throw new NotPlain('value', whatIs(value));
  }
}

function finish(into: Scratch, form: Form, length: number): true {
  into.form = form;
  into.length = length;
  return true;
}

function encodeText(text: string, into: Scratch): true {
  if (text.length > into.most) throw new TooLarge(text.length);
  into.at = 0;
  into.room(text.length * 2);
  const wide = writeUnits(into, text);
  into.source = into.bytes;
  return finish(into, wide ? FORM_TEXT_2 : FORM_TEXT_1, into.at);
}

function encodeBytes(bytes: Uint8Array, into: Scratch): boolean {
  const length = byteLengthOf(bytes) as number;
  if (isForeignBytes(bytes, length)) return encodeTree(bytes, into);
  into.source = bytes;
  return finish(into, FORM_BYTES, length);
}

function encodeTree(root: object | bigint, into: Scratch): boolean {
  into.at = 0;
  into.depth = 0;
  into.room(SLACK);
  if (typeof root === 'bigint') writeForeign(into, root);
  else writeObject(into, root, '');
  into.source = into.bytes;
  if (into.foreign.length === 0) return finish(into, FORM_PLAIN, into.at);
  into.ranGetters = hasAccessor(into.index === undefined ? sliceOf(into.seen, 0, into.count) : keysOf(into.index));
  return false;
}

/** `key` is where the value sits in the container being written, for the message. Takes SLACK bytes for granted. */
function writeValue(out: Scratch, value: unknown, key: string | number): void {
  switch (typeof value) {
    case 'number':
      return writeNumber(out, value);
    case 'string':
      return writeText(out, value);
    case 'boolean':
      out.bytes[out.at++] = value ? tag.TRUE : tag.FALSE;
      return;
    case 'undefined':
      out.bytes[out.at++] = tag.UNDEFINED;
      return;
    case 'object':
      if (value !== null) return writeObject(out, value, key);
      out.bytes[out.at++] = tag.NULL;
      return;
    case 'bigint':
      return writeForeign(out, value);
    default:
      refuse(out, key, whatIs(value));
  }
}

/** Its content is left for later, and no code of it runs. */
function writeForeign(out: Scratch, value: object | bigint): void {
  if (out.foreign.length === 0) out.foreignPath = pathOf(sliceOf(out.path, 1, out.depth));
  out.bytes[out.at++] = tag.FOREIGN;
  writeVarint(out, out.foreign.length);
  push(out.foreign, value);
}

function writeObject(out: Scratch, value: object, key: string | number): void {
  if (types.isProxy(value)) refuse(out, key, whatIs(value)); // before anything that would run a trap
  if (writeRef(out, value)) return;
  if (out.depth >= tag.DEPTH_MAX) return writeForeign(out, value);
  const prototype: unknown = Object.getPrototypeOf(value);
  out.path[out.depth++] = key;
  if (Array.isArray(value)) {
    if (prototype === Array.prototype) writeArray(out, value);
    else writeForeign(out, value);
  } else if (prototype === Object.prototype) writeRecord(out, value as Record<string, unknown>);
  else if (prototype === null) writeBare(out, value as Record<string, unknown>);
  else if (isBytes(value)) writeBytes(out, value);
  else writeForeign(out, value);
  out.depth--;
}

/** Writes a REF if this object was met before; otherwise gives it the next number. */
function writeRef(out: Scratch, value: object): boolean {
  const number = out.index === undefined ? find(out, value) : out.index.get(value);
  if (number !== undefined) {
    out.bytes[0]! |= tag.SHARED;
    out.bytes[out.at++] = tag.REF;
    writeVarint(out, number);
    return true;
  }
  if (out.count < LINEAR_MAX) out.seen[out.count] = value;
  else {
    out.index ??= indexOf(out.seen);
    out.index.set(value, out.count);
  }
  out.count++;
  return false;
}

function indexOf(seen: readonly (object | undefined)[]): Map<object, number> {
  const index = new OwnMap<object, number>();
  for (let i = 0; i < seen.length; i++) index.set(seen[i] as object, i);
  return index;
}

function keysOf(index: ReadonlyMap<object, number>): object[] {
  const keys: object[] = [];
  index.forEach((_, object) => void push(keys, object));
  return keys;
}

function find(out: Scratch, value: object): number | undefined {
  for (let i = 0; i < out.count; i++) if (out.seen[i] === value) return i;
  return undefined;
}

function writeRecord(out: Scratch, value: Record<string, unknown>): void {
  out.bytes[out.at++] = tag.OBJECT;
  // for-in with this check is four times as fast as Object.keys here: V8 then reads fields by their place in the hidden class.
  // It skips a key that a getter has deleted meanwhile, and does not see one that a getter adds, as structuredClone.
  for (const key in value) {
    if (!hasOwn(value, key)) continue;
    if (key === '0' && types.isArgumentsObject(value)) refuse(out, undefined, 'an arguments object'); // an index comes first
    writeProperty(out, key, value[key]);
  }
  out.bytes[out.at++] = tag.END;
}

function writeBare(out: Scratch, value: Record<string, unknown>): void {
  if (types.isModuleNamespaceObject(value)) refuse(out, undefined, 'a module namespace');
  if (types.isUint8Array(value) || types.isExternal(value)) writeForeign(out, value);
  else writeRecord(out, value);
}

function writeProperty(out: Scratch, key: string, value: unknown): void {
  out.room(key.length * 2 + 2 * SLACK); // key, value, and the END that may follow
  writeKey(out, key);
  writeValue(out, value, key);
  out.room(SLACK);
}

function writeArray(out: Scratch, array: unknown[]): void {
  const { length } = array;
  // The one way to learn of holes and of properties besides the elements without reading any: elements come first, so
  // as many keys as places, the last being the last place, means elements only and no hole.
  const keys = Object.keys(array);
  if (keys.length !== length || (length > 0 && keys[length - 1] !== `${length - 1}`)) return writeSparse(out, array, keys);
  out.bytes[out.at++] = tag.ARRAY;
  writeVarint(out, length);
  for (let i = 0; i < length; i++) {
    const value = array[i];
    out.room(2 * SLACK);
    // A getter met on the way may have shortened the array.
    if (value === undefined && !hasOwn(array, i)) out.bytes[out.at++] = tag.HOLE;
    else writeValue(out, value, i);
  }
  out.room(SLACK);
}

function writeSparse(out: Scratch, array: unknown[], keys: string[]): void {
  out.bytes[out.at++] = tag.SPARSE;
  writeVarint(out, array.length);
  const properties = array as unknown as Record<string, unknown>;
  for (let k = 0; k < keys.length; k++) {
    const key = keys[k] as string;
    if (hasOwn(array, key)) writeProperty(out, key, properties[key]);
  }
  out.bytes[out.at++] = tag.END;
}

function writeBytes(out: Scratch, bytes: Uint8Array): void {
  const length = byteLengthOf(bytes) as number;
  if (isForeignBytes(bytes, length) || sharesBuffer(out, bytes)) return writeForeign(out, bytes);
  if (out.at + length > out.most) throw new TooLarge(out.at + length);
  out.room(length + 2 * SLACK);
  out.bytes[out.at++] = tag.BYTES;
  writeVarint(out, length);
  setBytes(out.bytes, bytes, out.at);
  out.at += length;
}

/** False for a proxy, whose traps are not run, and for classes of the user's own. */
function isBytes(value: object): value is Uint8Array {
  if (!types.isUint8Array(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Uint8Array.prototype || prototype === Buffer.prototype;
}

/** Over shared memory, which has to stay shared, or over a buffer that has to stay resizable; or detached, and then refused later. */
function isForeignBytes(bytes: Uint8Array, length: number): boolean {
  const buffer = bufferOf(bytes);
  return types.isSharedArrayBuffer(buffer) || isResizable(buffer) || (length === 0 && isDetached(bytes));
}

/** A second view of one buffer must stay that. Not so for Buffers: which of them share a pool is chance. */
function sharesBuffer(out: Scratch, bytes: Uint8Array): boolean {
  if (Object.getPrototypeOf(bytes) === Buffer.prototype) return false;
  const buffer = bufferOf(bytes) as object;
  out.views ??= new OwnSet();
  if (out.views.has(buffer)) return true;
  out.views.add(buffer);
  return false;
}

/** Node 20 has no `detached`; every method of a typed array throws on one. */
function isDetached(bytes: Uint8Array): boolean {
  try {
    keysOfBytes(bytes);
    return false;
  } catch {
    return true;
  }
}

/** `key` undefined: the container being written is itself refused. */
function refuse(out: Scratch, key: string | number | undefined, what: string): never {
  const keys = sliceOf(out.path, 0, out.depth);
  if (key !== undefined) push(keys, key);
  throw new NotPlain(pathOf(sliceOf(keys, 1)), what); // the first is the root's
}
