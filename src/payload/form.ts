/** How a payload is stored: four bits of a record. Pure; any thread. */

export const FORM_UNDEFINED = 0;
export const FORM_NULL = 1;
export const FORM_FALSE = 2;
export const FORM_TRUE = 3;
/** One float64, little endian. */
export const FORM_NUMBER = 4;
/** Text of code units below 256, one byte each. */
export const FORM_TEXT_1 = 5;
/** Text as UTF-16 code units, little endian: unlike UTF-8 it keeps lone surrogates. */
export const FORM_TEXT_2 = 6;
/** A Uint8Array, raw. */
export const FORM_BYTES = 7;
/** The tagged tree of `tags.ts`. */
export const FORM_PLAIN = 8;
/** What v8.Serializer writes. */
export const FORM_V8 = 9;
/** What the user's codec wrote. */
export const FORM_CODEC = 10;
/** An ArrayBuffer of fixed length, raw. */
export const FORM_BUFFER = 12;
/** Nothing here: the value lies in a MessagePort as its one message. */
export const FORM_PORT = 11;

export type Form =
  | typeof FORM_UNDEFINED
  | typeof FORM_NULL
  | typeof FORM_FALSE
  | typeof FORM_TRUE
  | typeof FORM_NUMBER
  | typeof FORM_TEXT_1
  | typeof FORM_TEXT_2
  | typeof FORM_BYTES
  | typeof FORM_PLAIN
  | typeof FORM_V8
  | typeof FORM_CODEC
  | typeof FORM_BUFFER
  | typeof FORM_PORT;
