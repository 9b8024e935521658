/** For the tests of values: the way into shared memory or a port and out again, and a comparison that misses nothing. */
import { isDeepStrictEqual, types } from 'node:util';
import { decode, FORM_NUMBER, FORM_PORT, type Packing, pack, readPort, Scratch } from '#payload';

const SIZE = 1 << 21;
const memory = new SharedArrayBuffer(SIZE, { maxByteLength: 2 * SIZE });
/** As the runtime sees a region: of fixed length over a growable buffer. */
export const shared: Buffer = Buffer.from(memory, 0, SIZE);

export const PLAIN_PACKING: Packing = { most: Number.POSITIVE_INFINITY, codec: undefined };

/** Copies what is in `scratch` to an odd place, decodes it there, and then overwrites the place. */
export function arrive(scratch: Scratch): unknown {
  if (scratch.form === FORM_PORT) return readPort(scratch.takePort());
  const at = 13;
  if (scratch.form === FORM_NUMBER) shared.writeDoubleLE(scratch.number, at);
  else shared.set(scratch.source.subarray(0, scratch.length), at);
  const value = decode(scratch.form, shared, at, scratch.length);
  shared.fill(0xff, 0, at + scratch.length);
  return value;
}

export function cross<T>(value: T, scratch: Scratch = new Scratch()): T {
  pack(value, scratch, PLAIN_PACKING);
  return arrive(scratch) as T;
}

/**
 * Where two values differ, or undefined: leaves by Object.is, own keys with their order (a hole has none), prototypes, contents
 * of every kind that structuredClone knows, and which objects are one and the same.
 */
export function difference(a: unknown, b: unknown, path = 'value', met = new Map<object, object>()): string | undefined {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return Object.is(a, b) ? undefined : path;
  if (met.has(a) || met.has(b)) return met.get(a) === b ? undefined : `${path} (identity)`;
  met.set(a, b).set(b, a);
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return `${path} (prototype)`;
  if (!sameContent(a, b)) return `${path} (content)`;
  if (Array.isArray(a) && a.length !== (b as unknown[]).length) return `${path} (length)`;
  const within = contents(a);
  const others = contents(b);
  if (within.length !== others.length) return `${path} (size)`;
  for (const [k, part] of within.entries()) {
    const found = difference(part, others[k], `${path}<${k}>`, met);
    if (found !== undefined) return found;
  }
  if (ArrayBuffer.isView(a)) return undefined;
  const keys = namesOf(a);
  if (!isDeepStrictEqual(keys, namesOf(b))) return `${path} (keys)`;
  for (const key of keys) {
    const found = difference((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key], `${path}.${key}`, met);
    if (found !== undefined) return found;
  }
  return undefined;
}

const namesOf = (value: object): string[] => (types.isNativeError(value) ? Object.getOwnPropertyNames(value).sort() : Object.keys(value));

/** What a Map or Set holds, in order; and the buffer of a view, unless it is bytes, which travel alone. */
function contents(value: object): unknown[] {
  if (value instanceof Map) return [...value].flat(1);
  if (value instanceof Set) return [...value];
  return ArrayBuffer.isView(value) && !(value instanceof Uint8Array) ? [value.buffer] : [];
}

/** Of those that have content besides properties. */
function sameContent(a: object, b: object): boolean {
  if (ArrayBuffer.isView(a)) return isDeepStrictEqual(a, b);
  if (types.isAnyArrayBuffer(a)) return isDeepStrictEqual(Buffer.from(a), Buffer.from(b as ArrayBuffer));
  if (types.isBoxedPrimitive(a) || types.isDate(a)) return Object.is(a.valueOf(), b.valueOf());
  return types.isRegExp(a) ? String(a) === String(b) && a.lastIndex === (b as RegExp).lastIndex : true;
}
