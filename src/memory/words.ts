/**
 * Packed words: their fields, and the only place that shifts them. Any thread; pure.
 *
 *   state of a record   generation (28) | state (4)             RECORD_STATE
 *   entry of a ring     record number (24) | generation (8)     ring slots, SLOT_ENTRIES, SLOT_RUN
 *   meta of a record    attempt (12) | submitter (12) | flags (4) | form (4)   RECORD_META
 *   batch of a worker   epoch (24) | left (8)                   SLOT_BATCH
 *   header of a block   owner (12) | size class (8)             BLOCK_CLASS
 *
 * The most-churned field is on top, so that it overflows off the end and into nobody.
 */
import type { Entry, RecordNumber, Slot } from '#base';

/** ## State of a record */
const STATE_BITS = 4;
const STATE_MASK: number = (1 << STATE_BITS) - 1;
export const ONE_GENERATION: number = 1 << STATE_BITS;
export const stateOf = (word: number): number => word & STATE_MASK;
/** The same generation in another state. */
export const inState = (word: number, state: number): number => (word & ~STATE_MASK) | state;
/** The next generation in a state: every older entry for this record is void from here. */
export const nextGeneration = (word: number, state: number): number => (inState(word, state) + ONE_GENERATION) | 0;

/** ## Entry. An entry is void once the generation of its record has moved on. */
const ENTRY_GENERATION_BITS = 8;
const ENTRY_GENERATION_MASK: number = (1 << ENTRY_GENERATION_BITS) - 1;
export const entryFor = (record: RecordNumber, stateWord: number): Entry =>
  ((record << ENTRY_GENERATION_BITS) | ((stateWord >>> STATE_BITS) & ENTRY_GENERATION_MASK)) as Entry;
export const recordOf = (entry: Entry): RecordNumber => (entry >>> ENTRY_GENERATION_BITS) as RecordNumber;
export const isCurrent = (entry: Entry, stateWord: number): boolean => ((entry ^ (stateWord >>> STATE_BITS)) & ENTRY_GENERATION_MASK) === 0;

/** ## Meta of a record */
const FORM_BITS = 4;
const FORM_MASK: number = (1 << FORM_BITS) - 1;
const SUBMITTER_SHIFT = 8;
const SUBMITTER_MASK = 0xfff;
const ATTEMPT_SHIFT = 20;
/** The submitter wants the value; without it a worker does not even encode it. */
export const WANTS_RESULT: number = 1 << FORM_BITS;
/** The payload is an error in wire form. */
export const FAILED: number = 2 << FORM_BITS;
/** The payload is not inline: the argument's block is in RECORD_BLOCK, the result's in RECORD_RESULT. */
export const IN_BLOCK: number = 4 << FORM_BITS;
/** The handler could not be loaded five times in a row: the host says `crashLoop`. */
export const CRASH_LOOP: number = 8 << FORM_BITS;
export const metaFor = (submitter: Slot, flags: number, form: number): number => (submitter << SUBMITTER_SHIFT) | flags | form;
export const formOf = (meta: number): number => meta & FORM_MASK;
export const submitterOf = (meta: number): Slot => ((meta >>> SUBMITTER_SHIFT) & SUBMITTER_MASK) as Slot;
/** Runs before this one: 0 at first. */
export const attemptOf = (meta: number): number => meta >>> ATTEMPT_SHIFT;
export const withAttempt = (meta: number, attempt: number): number => (meta & ~(-1 << ATTEMPT_SHIFT)) | (attempt << ATTEMPT_SHIFT);

/** ## Batch of a worker. Its entries are the last `left` of those announced */
const LEFT_BITS = 8;
const LEFT_MASK: number = (1 << LEFT_BITS) - 1;
export const batchLeft = (word: number): number => word & LEFT_MASK;
/**
 * A new batch: the epoch moves, so a rescue that looked at the old one fails. A rescuer that stalls over exactly 2^24 batches
 * (half a minute of the smallest ones) and finds as many left would take what is not there any more.
 */
export const newBatch = (word: number, left: number): number => (((word >>> LEFT_BITS) + 1) << LEFT_BITS) | left;
/** One less is left. Not of an empty batch. */
export const advanced = (word: number): number => word - 1;

/** ## Header of an arena block: owner (12+) | size class (8) */
const CLASS_BITS = 8;
const CLASS_MASK: number = (1 << CLASS_BITS) - 1;
export const blockHeader = (owner: Slot, sizeClass: number): number => (owner << CLASS_BITS) | sizeClass;
export const classOf = (word: number): number => word & CLASS_MASK;
export const ownerOf = (word: number): Slot => (word >>> CLASS_BITS) as Slot;
