/**
 * Bytes in shared memory to a value. Any thread; runs no user code, so one reader per thread is enough: one that a setter on a
 * built-in prototype calls, after all, leaves the reader to whoever had it.
 *
 * The bytes belong to the calling thread until it returns. Nothing of the result aliases them.
 */
import { Deserializer } from 'node:v8';
import { Buffer, copyBytes, Error, Float32Array, Float64Array, Object, readDouble, subarray, Uint8Array } from '#base';
import * as tag from './tags.ts';
import {
  FORM_BUFFER,
  FORM_BYTES,
  FORM_CODEC,
  FORM_FALSE,
  FORM_NULL,
  FORM_NUMBER,
  FORM_PLAIN,
  FORM_PORT,
  FORM_TEXT_1,
  FORM_TEXT_2,
  FORM_TRUE,
  FORM_UNDEFINED,
  FORM_V8,
  type Form,
} from './form.ts';
import { knownKey, narrowText, wideText } from './text.ts';

const NOTHING = Buffer.alloc(0);
/** What is being read, and the next byte of it. */
let bytes: Buffer = NOTHING;
let at = 0;
/** Objects by number, kept only if the tree has a REF. */
let made: unknown[] | undefined;
/** What FOREIGN names. */
let foreign: readonly unknown[] = [];

/** What the user's codec wrote, copied out; it is not for us to read. */
export class Encoded {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** `shared`: the whole region, or the bytes of a message. `length` in bytes. */
export function decode(form: Form, shared: Buffer, offset: number, length: number): unknown {
  switch (form) {
    case FORM_UNDEFINED:
      return undefined;
    case FORM_NULL:
      return null;
    case FORM_FALSE:
      return false;
    case FORM_TRUE:
      return true;
    case FORM_NUMBER:
      return readDouble(shared, offset);
    case FORM_TEXT_1:
      return narrowText(shared, offset, length);
    case FORM_TEXT_2:
      return wideText(shared, offset, length);
    case FORM_BYTES:
      return copyOf(shared, offset, length);
    case FORM_PLAIN:
      return decodeTree(shared, offset);
    case FORM_BUFFER:
      return copyOf(shared, offset, length).buffer;
    case FORM_V8:
      return deserialize(shared, offset, length);
    case FORM_CODEC:
      return new Encoded(copyOf(shared, offset, length));
    case FORM_PORT:
      throw new Error('Broken payload: a value in a port has no bytes');
  }
}

/** A tree whose foreign parts lie beside it. Only in the thread that encoded it. */
export function decodeWith(beside: readonly unknown[], tree: Buffer): unknown {
  const outer = foreign;
  foreign = beside;
  tree[0]! |= tag.SHARED; // its objects were numbered, foreign ones included
  try {
    return decodeTree(tree, 0);
  } finally {
    foreign = outer;
  }
}

function copyOf(from: Buffer, start: number, length: number): Uint8Array {
  const copy = new Uint8Array(length);
  copyBytes(from, copy, 0, start, start + length);
  return copy;
}

function decodeTree(shared: Buffer, offset: number): unknown {
  const outerBytes = bytes; // else NOTHING: what was read may be a message of half a gigabyte
  const outerAt = at;
  const outerMade = made;
  const root = shared[offset]!;
  bytes = shared;
  at = offset + 1;
  made = (root & tag.SHARED) === 0 ? undefined : [];
  try {
    return readTagged(root & ~tag.SHARED);
  } finally {
    bytes = outerBytes;
    at = outerAt;
    made = outerMade;
  }
}

function readValue(): unknown {
  const first = bytes[at++]!;
  if (first >= tag.SMALL_INT) return first - tag.SMALL_INT;
  if (first >= tag.SHORT_TEXT) return readNarrow(first - tag.SHORT_TEXT);
  return readTagged(first);
}

function readTagged(first: number): unknown {
  switch (first) {
    case tag.UNDEFINED:
      return undefined;
    case tag.NULL:
      return null;
    case tag.FALSE:
      return false;
    case tag.TRUE:
      return true;
    case tag.INT: {
      const zigzag = readVarint();
      return (zigzag >>> 1) ^ -(zigzag & 1);
    }
    case tag.FLOAT_32:
      return readFloat(4);
    case tag.FLOAT_64:
      return readFloat(8);
    case tag.TEXT_1:
      return readNarrow(readVarint());
    case tag.TEXT_2:
      return readWide(readVarint());
    case tag.BYTES:
      return readBytes(readVarint());
    case tag.OBJECT:
      return readRecord();
    case tag.ARRAY:
      return readArray(readVarint());
    case tag.SPARSE:
      return readSparse(readVarint());
    case tag.REF:
      return made![readVarint()];
    case tag.FOREIGN:
      return readForeign(readVarint());
    default:
      throw new Error(`Broken payload: tag ${first} at byte ${at - 1}`);
  }
}

function keep(value: unknown): void {
  if (made !== undefined) made[made.length] = value;
}

/** All 32 bits, unsigned. */
function readVarint(): number {
  let octet = bytes[at++]!;
  if (octet < 128) return octet;
  let value = octet & 127;
  let shift = 7;
  do {
    octet = bytes[at++]!;
    value |= (octet & 127) << shift;
    shift += 7;
  } while (octet >= 128);
  return value >>> 0;
}

const float64 = new Float64Array(1);
const float32 = new Float32Array(float64.buffer, 0, 1);
const octets = new Uint8Array(float64.buffer);

function readFloat(size: 4 | 8): number {
  for (let i = 0; i < size; i++) octets[i] = bytes[at++]!;
  return size === 4 ? float32[0]! : float64[0]!;
}

function readNarrow(length: number): string {
  const start = at;
  at += length;
  return narrowText(bytes, start, length);
}

function readWide(length: number): string {
  const start = at;
  at += length * 2;
  return wideText(bytes, start, length * 2);
}

function readBytes(length: number): Uint8Array {
  const copy = copyOf(bytes, at, length);
  at += length;
  keep(copy);
  return copy;
}

function readForeign(place: number): unknown {
  const value = foreign[place];
  if (typeof value === 'object') keep(value); // a bigint has no identity, and no number
  return value;
}

function readRecord(): object {
  const record: Record<string, unknown> = {};
  keep(record);
  for (let header = readVarint(); header !== tag.END; header = readVarint()) {
    const key = readKnownKey(header);
    if (key !== undefined) record[key] = readValue();
    else define(record, readKey(header), readValue());
  }
  return record;
}

function readArray(length: number): unknown[] {
  const array: unknown[] = [];
  keep(array);
  for (let i = 0; i < length; i++) {
    if (bytes[at] === tag.HOLE) {
      at++;
      array.length = i + 1;
    } else array[i] = readValue();
  }
  return array;
}

function readSparse(length: number): unknown[] {
  const array: unknown[] = [];
  array.length = length;
  keep(array);
  for (let header = readVarint(); header !== tag.END; header = readVarint()) define(array, readKey(header), readValue());
  return array;
}

/** A key that plain assignment may set; undefined, and nothing read, if it is not known to be one. */
function readKnownKey(header: number): string | undefined {
  if ((header & 1) === 0) return undefined; // two-byte
  const length = (header - 1) >>> 1;
  const key = knownKey(bytes, at, length);
  if (key !== undefined) at += length;
  return key;
}

function readKey(header: number): string {
  const length = (header - 1) >>> 1;
  return (header & 1) === 0 ? readWide(length) : readNarrow(length);
}

/** As an own property, whatever its name: assignment would run the setter of `__proto__`. */
function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, {
    __proto__: null,
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  } as PropertyDescriptor); // a field of Object.prototype is none of it
}

/** FORM_V8. Reads in place: nothing of the result aliases the bytes. */
function deserialize(from: Buffer, offset: number, length: number): unknown {
  const deserializer = new Deserializer(subarray(from, offset, offset + length));
  deserializer.readHeader();
  return deserializer.readValue();
}
