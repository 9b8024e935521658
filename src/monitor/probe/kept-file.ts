/**
 * A small file of the system that is read again and again: opened once, each `read` fills the same bytes, and numbers are taken
 * out of them without making a string. Any thread; the descriptor of a worker is closed when the worker ends.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { Buffer, charCodeAt } from '#base';

const NEWLINE = 10;
const ZERO = 48;
const NINE = 57;

/** Enough for the `cpu` lines of some 700 processors; the other files are much shorter. */
const bytes = Buffer.allocUnsafeSlow(2 ** 16);
let length = 0;
/** Where the next number is looked for. */
let at = 0;

/** A descriptor; -1 if the file cannot be opened. */
export function open(path: string): number {
  try {
    return openSync(path, 'r');
  } catch {
    return -1;
  }
}

export function close(descriptor: number): void {
  try {
    if (descriptor >= 0) closeSync(descriptor);
  } catch {
    // whoever closed it before has done it for us
  }
}

/** Up to `most` bytes from the file's start. False if they cannot be had: the thread that the file is about has ended. */
export function read(descriptor: number, most: number = bytes.length): boolean {
  at = 0;
  length = 0;
  if (descriptor < 0) return false;
  try {
    length = readSync(descriptor, bytes, 0, most, 0);
  } catch {
    return false;
  }
  return length > 0;
}

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

/** The next unsigned number of what was read; NaN after the last. */
export function nextNumber(): number {
  while (at < length && !isDigit(bytes[at] as number)) at++;
  if (at === length) return NaN;
  let value = 0;
  for (; at < length && isDigit(bytes[at] as number); at++) value = value * 10 + (bytes[at] as number) - ZERO;
  return value;
}

/** The number after `key` in a line that begins with it; NaN if there is none. */
export function numberOf(key: string): number {
  at = 0;
  do if (isAt(key)) return nextNumber();
  while (toNextLine());
  return NaN;
}

/** The line begins with `key`; then the next number is looked for behind it. */
export function isAt(key: string): boolean {
  if (at + key.length > length) return false;
  for (let k = 0; k < key.length; k++) if (bytes[at + k] !== charCodeAt(key, k)) return false;
  at += key.length;
  return true;
}

export function toNextLine(): boolean {
  while (at < length && bytes[at] !== NEWLINE) at++;
  at++;
  return at < length;
}

/** The byte `beyond` bytes after the last `code`; the next number is looked for behind it. 0 if there is none. */
export function byteAfterLast(code: number, beyond: number): number {
  let found = length - 1;
  while (found >= 0 && bytes[found] !== code) found--;
  at = found + beyond;
  return found >= 0 && at < length ? (bytes[at++] as number) : 0;
}
