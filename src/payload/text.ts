/** Text from shared memory, and the keys met lately. Any thread; the keys are the thread's own. */
import { Array, charCodeAt, Math, Object, String, textOf } from '#base';

/** Up to here the engine's string operations are faster than a call into C++ (measured: 53 ns at any length). */
const JOIN_MAX = 8;
/** Longer keys are rare, and comparing them costs as much as making them. */
const KEY_MAX = 24;
/** More slots: more memory of each thread. Fewer: more keys share a slot, and are made anew each time. */
const KEY_SLOT_BITS = 9;
/** 2^32 / golden ratio: spreads its product's upper bits evenly. */
const GOLDEN = 0x9e3779b1;

const { fromCharCode } = String;

export function narrowText(bytes: Buffer, at: number, length: number): string {
  return length > JOIN_MAX ? textOf(bytes, 'latin1', at, at + length) : joined(bytes, at, length);
}

/** `size` in bytes. */
export function wideText(bytes: Buffer, at: number, size: number): string {
  return textOf(bytes, 'utf16le', at, at + size);
}

function joined(b: Buffer, at: number, length: number): string {
  switch (length) {
    case 0:
      return '';
    case 1:
      return fromCharCode(b[at]!);
    case 2:
      return fromCharCode(b[at]!, b[at + 1]!);
    case 3:
      return fromCharCode(b[at]!, b[at + 1]!, b[at + 2]!);
    case 4:
      return fromCharCode(b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!);
    default:
      return joined(b, at, 4) + joined(b, at + 4, length - 4);
  }
}

const keys = Array.from({ length: 1 << KEY_SLOT_BITS }, () => '');

/**
 * The key made of these bytes, if it may be set by assignment: `Object.prototype` has no such property, so there is no
 * setter to run and nothing frozen to be refused by. Making a string anew, and having the engine find its unique copy, is
 * most of what decoding an object costs; so the last key seen in each slot is kept.
 */
export function knownKey(bytes: Buffer, at: number, length: number): string | undefined {
  if (length === 0 || length > KEY_MAX) return undefined;
  const some = bytes[at]! | (bytes[at + (length >> 1)]! << 8) | (bytes[at + length - 1]! << 16) | (length << 24);
  const slot = Math.imul(some, GOLDEN) >>> (32 - KEY_SLOT_BITS);
  const known = keys[slot]!;
  if (isText(known, bytes, at, length)) return known;
  const key = narrowText(bytes, at, length);
  if (key in Object.prototype) return undefined;
  keys[slot] = key;
  return key;
}

function isText(text: string, bytes: Buffer, at: number, length: number): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) if (charCodeAt(text, i) !== bytes[at + i]) return false;
  return true;
}
