/** Numbers, text and keys into a Scratch that has room for them. Any thread; runs no user code. */
import { charCodeAt, exec, Float32Array, Float64Array, Math, Uint8Array, writeTo } from '#base';
import * as tag from './tags.ts';
import type { Scratch } from './scratch.ts';

/** Up to here a loop is faster than a call into C++ (measured: equal at 14). */
const LOOP_MAX = 14;
/** V8 answers this without looking at a string it stores with one byte per unit. */
const WIDE = /[\u0100-\uffff]/;

const float64 = new Float64Array(1);
const float32 = new Float32Array(float64.buffer, 0, 1);
const octets = new Uint8Array(float64.buffer);

export function writeNumber(out: Scratch, value: number): void {
  const { bytes } = out;
  if ((value | 0) === value && (value !== 0 || 1 / value > 0)) {
    // an int32, and not -0
    if (value >= 0 && value <= tag.SMALL_INT_MAX) bytes[out.at++] = tag.SMALL_INT + value;
    else {
      bytes[out.at++] = tag.INT;
      writeVarint(out, (value << 1) ^ (value >> 31));
    }
    return;
  }
  let at = out.at;
  const narrow = Math.fround(value) === value; // never for NaN
  bytes[at++] = narrow ? tag.FLOAT_32 : tag.FLOAT_64;
  if (narrow) float32[0] = value;
  else float64[0] = value;
  const size = narrow ? 4 : 8;
  for (let i = 0; i < size; i++) bytes[at++] = octets[i]!;
  out.at = at;
}

/** Any 32 bits, read as unsigned. */
export function writeVarint(out: Scratch, value: number): void {
  const { bytes } = out;
  let at = out.at;
  let rest = value >>> 0;
  while (rest > 127) {
    bytes[at++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  bytes[at++] = rest;
  out.at = at;
}

/** Tag, length, units. Makes room for itself. */
export function writeText(out: Scratch, text: string): void {
  const { length } = text;
  out.room(length * 2 + 16);
  if (length <= LOOP_MAX) {
    const start = out.at;
    if (writeShort(out, text, start + 1)) {
      out.bytes[start] = tag.SHORT_TEXT + length;
      return;
    }
  }
  const wide = exec(WIDE, text) !== null;
  if (!wide && length <= tag.SHORT_TEXT_MAX) out.bytes[out.at++] = tag.SHORT_TEXT + length;
  else {
    out.bytes[out.at++] = wide ? tag.TEXT_2 : tag.TEXT_1;
    writeVarint(out, length);
  }
  writeLong(out, text, wide);
}

/** Takes room for granted. */
export function writeKey(out: Scratch, key: string): void {
  const { length } = key;
  if (length <= LOOP_MAX) {
    const start = out.at;
    if (writeShort(out, key, start + 1)) {
      out.bytes[start] = 1 + 2 * length; // LOOP_MAX keeps this within one byte
      return;
    }
  }
  const wide = exec(WIDE, key) !== null;
  writeVarint(out, 1 + 2 * length + (wide ? 1 : 0));
  writeLong(out, key, wide);
}

/** The units alone. Takes room for granted. True if they are two-byte. */
export function writeUnits(out: Scratch, text: string): boolean {
  if (text.length <= LOOP_MAX && writeShort(out, text, out.at)) return false;
  const wide = exec(WIDE, text) !== null;
  writeLong(out, text, wide);
  return wide;
}

/** One byte per unit from `at` on. False, and nothing has happened, if a unit needs two. */
function writeShort(out: Scratch, text: string, at: number): boolean {
  const { bytes } = out;
  for (let i = 0; i < text.length; i++) {
    const unit = charCodeAt(text, i);
    if (unit > 255) return false;
    bytes[at + i] = unit;
  }
  out.at = at + text.length;
  return true;
}

function writeLong(out: Scratch, text: string, wide: boolean): void {
  out.at += writeTo(out.bytes, text, out.at, wide ? 'utf16le' : 'latin1');
}
