/**
 * The tags of the tagged tree: the bytes of FORM_PLAIN, which `encode.ts` writes and `decode.ts` reads. Pure; any thread.
 * It never leaves the process, so it has no version.
 *
 *   value   = tag, then what the tag says
 *   object  = OBJECT  (key value)* END
 *   array   = ARRAY   length, value or HOLE for each place
 *   sparse  = SPARSE  length (key value)* END        an array with holes, or with properties besides its elements
 *   key     = varint  1 + 2 * length + (1 if two-byte), then its code units; 0 is END
 *
 * Objects, arrays and bytes are numbered in the order in which they begin; REF names one by that number. The root is
 * always an object or an array; SHARED is added to its tag when a REF follows, so that trees without one (nearly all)
 * are decoded without keeping a list.
 *
 * Tags from SHORT_TEXT carry a length and from SMALL_INT a value: a record of five short fields then fits in the 40 bytes
 * a job carries inline.
 */
export const END = 0;
export const UNDEFINED = 1;
export const NULL = 2;
export const FALSE = 3;
export const TRUE = 4;
/** Zigzag varint of an int32. */
export const INT = 5;
/** For numbers that a float32 holds exactly (1.5): half the bytes. */
export const FLOAT_32 = 6;
export const FLOAT_64 = 7;
/** Varint length in code units, then one byte each. */
export const TEXT_1 = 8;
/** Varint length in code units, then two bytes each. */
export const TEXT_2 = 9;
/** Varint length, then the bytes. */
export const BYTES = 10;
export const OBJECT = 11;
export const ARRAY = 12;
export const SPARSE = 13;
export const HOLE = 14;
/** Varint number of an object met before. */
export const REF = 15;
export const SHARED = 16;
/** Varint place in a list that comes beside the bytes. Never leaves the thread. */
export const FOREIGN = 17;
export const SHORT_TEXT = 32;
export const SMALL_INT = 128;

export const SHORT_TEXT_MAX: number = SMALL_INT - SHORT_TEXT - 1;
export const SMALL_INT_MAX = 127;

/**
 * Levels of nesting. Fixed, since a worker has more stack than the main thread that decodes its results: a value must
 * not be accepted on one and overflow the other. Measured on a stack of 984 KiB: `encode` overflows from 1,790 levels on,
 * `decode` from 2,630, structuredClone from 1,930. Larger: a caller deep in its own recursion overflows.
 */
export const DEPTH_MAX = 1_000;
