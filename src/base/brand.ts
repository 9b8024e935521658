/** Units in types: a word index is not a sequence, and a sequence wraps. No thread of its own; pure. */

declare const brand: unique symbol;
/** A number that says what it counts; costs nothing at run time. */
export type Branded<Name extends string> = number & { readonly [brand]: Name };

/** Index into an `Int32Array`, never a byte offset. */
export type WordIndex = Branded<'word'>;
/** An ever-growing position that wraps at 2^32: compare by difference only. */
export type Sequence = Branded<'sequence'>;
/** Number of a record: 24 bits. */
export type RecordNumber = Branded<'record'>;
/** What a ring carries: a record number, and the low 8 bits of its generation. */
export type Entry = Branded<'entry'>;
/** Number of a slot: 0 is the host thread, workers count from 1. */
export type Slot = Branded<'slot'>;
/** Index of a slot's first word: `slotAt(slot)`. What is added to it is one of the SLOT_ words. */
export type SlotAt = Branded<'slot index'>;

export const seqAdd = (s: Sequence, n: number): Sequence => ((s + n) | 0) as Sequence;
export const seqDiff = (a: Sequence, b: Sequence): number => (a - b) | 0;
