/** For the codec's tests: a value's way into shared memory and out again, and a comparison that misses nothing. */
import { isDeepStrictEqual } from 'node:util';
import { decode, encode, FORM_NUMBER, Scratch } from '#payload';

const SIZE = 1 << 20;
const memory = new SharedArrayBuffer(SIZE, { maxByteLength: 2 * SIZE });
/** As the runtime sees a region: of fixed length over a growable buffer. */
export const shared: Buffer = Buffer.from(memory, 0, SIZE);

/** Copies what is in `scratch` to an odd place, decodes it there, and then overwrites the place. */
export function arrive(scratch: Scratch): unknown {
  const at = 13;
  if (scratch.form === FORM_NUMBER) shared.writeDoubleLE(scratch.number, at);
  else shared.set(scratch.source.subarray(0, scratch.length), at);
  const value = decode(scratch.form, shared, at, scratch.length);
  shared.fill(0xff, 0, at + scratch.length);
  return value;
}

export function cross<T>(value: T, scratch: Scratch = new Scratch()): T {
  encode(value, scratch);
  return arrive(scratch) as T;
}

/**
 * Where two values differ, or undefined: leaves by Object.is, own keys with their order (a hole has none), prototypes,
 * lengths, and which objects are one and the same.
 */
export function difference(a: unknown, b: unknown, path = 'value', met = new Map<object, object>()): string | undefined {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return Object.is(a, b) ? undefined : path;
  if (met.has(a) || met.has(b)) return met.get(a) === b ? undefined : `${path} (identity)`;
  met.set(a, b).set(b, a);
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return `${path} (prototype)`;
  if (a instanceof Uint8Array) return isDeepStrictEqual(a, b) ? undefined : `${path} (bytes)`;
  if (Array.isArray(a) && a.length !== (b as unknown[]).length) return `${path} (length)`;
  const keys = Object.keys(a);
  if (!isDeepStrictEqual(keys, Object.keys(b))) return `${path} (keys)`;
  for (const key of keys) {
    const found = difference((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key], `${path}.${key}`, met);
    if (found !== undefined) return found;
  }
  return undefined;
}
