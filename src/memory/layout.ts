/**
 * Where every shared word lives: the only file with word numbers. Any thread; nothing here runs.
 *
 *   region:  header | bitmaps | slab directory | definitions | slots | heap (slabs of records, rings, payload blocks)
 *   slot:    a worker's (or the host's) place; outlives its thread
 *   record:  16 words = 64 bytes, one job from submit to settle
 *
 * `LAYOUT` below repeats the shared ones as data: the layout test reads it, so that no two words can overlap and hot words
 * of different writers stay `LINE` apart. Any change here raises `LAYOUT_VERSION`.
 */
import { Object, type Slot, type WordIndex } from '#base';

const at = (n: number): WordIndex => n as WordIndex;

/** Words between hot words: 128 bytes, since x86 fetches 64-byte lines in pairs. Less: false sharing; more: only memory. */
export const LINE = 32;

export const MAGIC = 0x7261696c; // "rail"
export const LAYOUT_VERSION = 3;

// ---- region header
export const REGION_MAGIC: WordIndex = at(0);
export const REGION_VERSION: WordIndex = at(1);
/** Number of slots: the host's and the workers'. */
export const REGION_SLOTS: WordIndex = at(2);
/** Words the region may grow to. */
export const REGION_MAX: WordIndex = at(3);
/** First word that nobody has taken: the bump allocator of slabs, rings and chunks. */
export const REGION_TOP: WordIndex = at(1 * LINE);
/** RUNNING, ENDING or STOPPED: see `pool/life.ts`. */
export const REGION_PHASE: WordIndex = at(2 * LINE);
/** How many workers should run now; the host writes it. */
export const REGION_TARGET: WordIndex = at(2 * LINE + 1);
/** Raised by `recycle` and read by workers as they claim: one that booted under an older number leaves. */
export const REGION_RECYCLE: WordIndex = at(2 * LINE + 2);
/** Slot of the worker that looks for work by spinning, or 0. */
export const REGION_SEARCHER: WordIndex = at(3 * LINE);
/** Counts parkings; the highest ticket is the hottest worker. */
export const REGION_TICKET: WordIndex = at(4 * LINE);

// ---- bitmaps, one bit a slot
/** Words in each bitmap: room for 2,080 slots. */
export const BITMAP_WORDS = 65;
const BITMAP_STRIDE = 3 * LINE;
/** Slots whose thread has been started and has not ended or left. Written by the host; a leaving worker clears its own. */
export const LIVE_BITS: WordIndex = at(5 * LINE);
/** Slots whose worker is parked and has no permit. Whoever clears a bit owns the wake-up. */
export const IDLE_BITS: WordIndex = at(LIVE_BITS + BITMAP_STRIDE);
/** Slots whose front lane may hold entries. */
export const FRONT_BITS: WordIndex = at(IDLE_BITS + BITMAP_STRIDE);
/** Slots whose lane has been used; never cleared. */
export const LANE_BITS: WordIndex = at(FRONT_BITS + BITMAP_STRIDE);

// ---- slab directory: word index of each slab of records, 0 where there is none yet
export const SLAB_SHIFT = 12;
export const SLAB_RECORDS: number = 1 << SLAB_SHIFT;
export const SLAB_COUNT = 4096;
export const SLABS: WordIndex = at(LANE_BITS + BITMAP_STRIDE);
/** 24 bits of record number; beyond that a verb refuses as when full. */
export const RECORDS_MAX: number = SLAB_COUNT * SLAB_RECORDS;
/** How many slabs have been handed out. */
export const SLAB_TAKEN: WordIndex = at(SLABS + SLAB_COUNT);

// ---- definitions: what a handler id stands for. One row an id; a row is reused only when no unsettled job names it
export const DEFINITION_COUNT = 4096;
export const DEFINITION_WORDS = 8;
export const DEFINITIONS: WordIndex = at(SLAB_TAKEN + LINE);
/** Full handler id, written last: 0 while the row is empty or being changed. */
export const DEFINITION_ID = 0;
/** Byte offset of the text in the region, and its length. */
export const DEFINITION_TEXT = 1;
export const DEFINITION_LENGTH = 2;
/** Load failures in a row, by workers. */
export const DEFINITION_FAILURES = 3;
/** Ticks until which jobs of a handler that cannot be loaded are refused without another try. */
export const DEFINITION_OPEN_UNTIL = 4;
/** The failure that opened the back-off: byte offset of form, length and bytes of what `toWire` made of it; 0 while there is none. */
export const DEFINITION_ERROR = 5;

// ---- slots
/** The host's slot: it made the region. Workers count from 1. */
export const HOST: Slot = 0 as Slot;
export const SLOTS: WordIndex = at(DEFINITIONS + DEFINITION_COUNT * DEFINITION_WORDS);
export const SLOT_WORDS: number = 27 * LINE;
/** VACANT, STARTING, LIVE, LEAVING: see `pool/life.ts`. */
export const SLOT_LIFE = 0;
/** 1 once the thread ends by its own will; 0 while it runs, and when it was ended from outside. */
export const SLOT_EXITED = 1;
/** Handler id of the module that the worker imports now, or 0. */
export const SLOT_LOADING = 2;
/** Jobs started by the slot's threads, ever; wraps. Its worker writes it, plainly. */
export const SLOT_STARTED: number = 1 * LINE;
/** The entry that the worker starts, and the count before it: from these the host finishes a count that a death has split. */
export const SLOT_STARTING: number = 1 * LINE + 1;
export const SLOT_STARTED_BEFORE: number = 1 * LINE + 2;
/** Units that the worker has added to its submitter's unread results for a job that it has not settled yet, or 0. */
export const SLOT_RAISED: number = 1 * LINE + 3;
/** Entries that the worker runs now: `RUN_MAX` words, 0 where none. */
export const SLOT_RUN: number = 2 * LINE;
export const RUN_MAX = 64;
/** How many of `SLOT_ENTRIES` the worker has announced; and the packed state of its batch (`words.ts`). */
export const SLOT_ANNOUNCED: number = 4 * LINE;
export const SLOT_BATCH: number = 5 * LINE;
/** Entries announced or claimed together: `BATCH_MAX` words. */
export const SLOT_ENTRIES: number = 6 * LINE;
export const BATCH_MAX = 255;
/** The ticket of the last parking; the permit to run again, on which the worker waits. */
export const SLOT_TICKET: number = 14 * LINE;
export const SLOT_PERMIT: number = 15 * LINE;
/** OPEN, LIBRARY or DOOMED: see `pool/guard.ts`. */
export const SLOT_GUARD: number = 16 * LINE;
/** Submitter: top of its completion stack (0 empty), and its wake word. */
export const SLOT_STACK: number = 17 * LINE;
export const SLOT_WAKE: number = 18 * LINE;
/** Submitter's lane and every thread's front lane: see `LANE_*`. */
export const SLOT_LANE: number = 19 * LINE;
export const SLOT_FRONT: number = 21 * LINE;
/** Arena: blocks freed by other threads; then the owner's own words, `ARENA_*`. */
export const SLOT_REMOTE: number = 23 * LINE;
export const SLOT_ARENA: number = 24 * LINE;
/** Submitter: results it has not read yet, in units of 64 bytes; and how often that fell to half of the most allowed, for those who wait. */
export const SLOT_UNREAD: number = 25 * LINE;
export const SLOT_FALL: number = 26 * LINE;

// ---- arena, relative to SLOT_ARENA; all the owner's
/** Free list per size class. */
export const ARENA_FREE = 0;
export const ARENA_CLASSES = 28;
/** Rest of the chunk from which blocks are cut. */
export const ARENA_CURSOR = 28;
export const ARENA_END = 29;

// ---- lane, relative to SLOT_LANE or SLOT_FRONT
/** The ring that consumers take from, 0 before the first; moved on by a compare-exchange of any consumer. */
export const LANE_RING = 0;
/** The ring that the producer writes to; the producer's alone. */
export const LANE_LAST: number = 1 * LINE;

// ---- ring
export const RING_HEAD = 0; // sequence; consumers, by compare-exchange
export const RING_TAIL: number = 1 * LINE; // sequence; its producer alone
export const RING_NEXT: number = 2 * LINE; // the ring after this one, 0 while this is the last
export const RING_MASK: number = 2 * LINE + 1; // capacity - 1; constant
export const RING_ENTRIES: number = 3 * LINE;

// ---- record
export const RECORD_SHIFT = 4;
export const RECORD_WORDS: number = 1 << RECORD_SHIFT;
export const RECORD_STATE = 0; // packed: generation and state, the single arbiter
export const RECORD_NEXT = 1; // link: completion stack, or the submitter's free list
export const RECORD_HANDLER = 2; // handler id
export const RECORD_META = 3; // packed: payload form, flags, submitter
export const RECORD_LENGTH = 4; // bytes of payload
export const RECORD_BLOCK = 5; // byte offset of the argument's block, 0 when inline
export const RECORD_INLINE = 6; // 40 bytes of argument, then of result
export const INLINE_BYTES = 40;
/** Where a result that is not inline says its block: the argument is read by then, so its inline bytes are free. */
export const RECORD_RESULT: number = RECORD_INLINE;

// ---- block of an arena: its header
export const BLOCK_CLASS = 0; // size class and owner's slot, packed
export const BLOCK_NEXT = 1; // free list link
export const BLOCK_HEADER = 2;

type Kind = 'constant' | 'sequence' | 'count' | 'state' | 'packed' | 'offset' | 'ticks' | 'bitmap' | 'link' | 'payload';
export interface LayoutRow {
  readonly part: 'region' | 'slot' | 'lane' | 'ring' | 'record' | 'definition' | 'block' | 'arena';
  readonly name: string;
  readonly index: number;
  readonly words: number;
  readonly kind: Kind;
  readonly writers: string;
  readonly readers: string;
  /** Written often by threads that do not own it: needs a line of its own. */
  readonly hot?: true;
  readonly is: string;
}
const row = (
  part: LayoutRow['part'],
  word: Readonly<Record<string, number>>, // `{ NAME }`: the constant gives both its name and its index
  words: number,
  kind: Kind,
  writers: string,
  readers: string,
  is: string,
  hot?: true,
): LayoutRow => {
  const [name, index] = Object.entries(word)[0] as [string, number];
  return { part, name, index, words, kind, writers, readers, is, ...(hot ? { hot } : {}) };
};

export const LAYOUT: readonly LayoutRow[] = [
  row('region', { REGION_MAGIC }, 1, 'constant', 'host, once', 'all', 'Says that this is a region of ours.'),
  row('region', { REGION_VERSION }, 1, 'constant', 'host, once', 'all', 'A thread with another layout refuses to attach.'),
  row('region', { REGION_SLOTS }, 1, 'constant', 'host, once', 'all', 'Number of slots, the host’s included.'),
  row('region', { REGION_MAX }, 1, 'constant', 'host, once', 'all', 'Words the region may grow to.'),
  row('region', { REGION_TOP }, 1, 'offset', 'all', 'all', 'First word that nobody has taken.', true),
  row('region', { REGION_PHASE }, 1, 'state', 'host', 'workers', 'Whether jobs may start.', true),
  row('region', { REGION_TARGET }, 1, 'count', 'host', 'all', 'How many workers should run.'),
  row('region', { REGION_RECYCLE }, 1, 'count', 'host', 'workers', 'Number of the last recycling.'),
  row('region', { REGION_SEARCHER }, 1, 'state', 'workers, host', 'all', 'Who spins for work.', true),
  row('region', { REGION_TICKET }, 1, 'count', 'workers', 'workers', 'Parkings so far.', true),
  row('region', { LIVE_BITS }, BITMAP_WORDS, 'bitmap', 'host, workers', 'all', 'Slots with a thread.', true),
  row('region', { IDLE_BITS }, BITMAP_WORDS, 'bitmap', 'all', 'all', 'Slots with a parked worker.', true),
  row('region', { FRONT_BITS }, BITMAP_WORDS, 'bitmap', 'all', 'all', 'Slots whose front lane may hold entries.', true),
  row('region', { LANE_BITS }, BITMAP_WORDS, 'bitmap', 'submitters', 'all', 'Slots whose lane is in use.', true),
  row('region', { SLABS }, SLAB_COUNT, 'offset', 'submitters', 'all', 'Where each slab of records begins.', true),
  row('region', { SLAB_TAKEN }, 1, 'count', 'submitters', 'submitters', 'Slabs handed out.', true),
  row('region', { DEFINITIONS }, DEFINITION_COUNT * DEFINITION_WORDS, 'packed', 'host, workers', 'workers', 'Handlers.', true),
  row('slot', { SLOT_LIFE }, 1, 'state', 'host, its worker', 'host', 'Life of the slot’s thread.'),
  row('slot', { SLOT_EXITED }, 1, 'state', 'its worker, host', 'host after exit', 'Whether the thread ended by its own will.'),
  row('slot', { SLOT_LOADING }, 1, 'count', 'its worker, host', 'host after exit', 'Which module it imports.'),
  row('slot', { SLOT_STARTED }, 1, 'count', 'its worker', 'all', 'Jobs started.', true),
  row('slot', { SLOT_STARTING }, 1, 'link', 'its worker', 'host after exit', 'The entry started last.'),
  row('slot', { SLOT_STARTED_BEFORE }, 1, 'count', 'its worker', 'host after exit', 'Jobs started before it.'),
  row('slot', { SLOT_RAISED }, 1, 'count', 'its worker', 'host after exit', 'Units raised for a job not settled yet.'),
  row('slot', { SLOT_RUN }, RUN_MAX, 'link', 'its worker', 'host', 'Entries being run.', true),
  row('slot', { SLOT_ANNOUNCED }, 1, 'count', 'its worker', 'all', 'Entries announced.', true),
  row('slot', { SLOT_BATCH }, 1, 'packed', 'all', 'all', 'Epoch of the batch, and how many are left.', true),
  row('slot', { SLOT_ENTRIES }, BATCH_MAX, 'link', 'its worker', 'all', 'Entries of the batch.', true),
  row('slot', { SLOT_TICKET }, 1, 'count', 'its worker', 'wakers', 'When it parked, as a count.', true),
  row('slot', { SLOT_PERMIT }, 1, 'state', 'wakers, its worker', 'its worker', 'Leave to run.', true),
  row('slot', { SLOT_GUARD }, 1, 'state', 'its worker, host', 'host', 'Whether user code runs.', true),
  row('slot', { SLOT_STACK }, 1, 'link', 'all', 'its submitter', 'Top of the completion stack.', true),
  row('slot', { SLOT_WAKE }, 1, 'state', 'all', 'its submitter', 'Whether the submitter sleeps.', true),
  row('slot', { SLOT_LANE }, 2 * LINE, 'link', 'submitter, consumers', 'all', 'Its lane.', true),
  row('slot', { SLOT_FRONT }, 2 * LINE, 'link', 'its thread, consumers', 'all', 'Its front lane.', true),
  row('slot', { SLOT_REMOTE }, 1, 'link', 'all', 'its thread', 'Blocks freed by other threads.', true),
  row('slot', { SLOT_ARENA }, ARENA_END + 1, 'link', 'its thread', 'its thread', 'Free lists and chunk.', true),
  row('slot', { SLOT_UNREAD }, 1, 'count', 'workers, its submitter', 'workers', 'Unread results, in units of 64 bytes.', true),
  row('slot', { SLOT_FALL }, 1, 'count', 'its submitter', 'workers', 'How often unread results fell to half.'),
  row('lane', { LANE_RING }, 1, 'offset', 'producer once, consumers', 'all', 'Ring that is taken from.', true),
  row('lane', { LANE_LAST }, 1, 'offset', 'producer', 'producer', 'Ring that is written to.', true),
  row('ring', { RING_HEAD }, 1, 'sequence', 'consumers', 'all', 'Next to claim.', true),
  row('ring', { RING_TAIL }, 1, 'sequence', 'producer', 'all', 'Next to publish.', true),
  row('ring', { RING_NEXT }, 1, 'offset', 'producer, once', 'all', 'Ring after this one.', true),
  row('ring', { RING_MASK }, 1, 'constant', 'producer, once', 'all', 'Capacity less one.'),
  row('record', { RECORD_STATE }, 1, 'packed', 'all', 'all', 'Generation and state: the arbiter.'),
  row('record', { RECORD_NEXT }, 1, 'link', 'owner of the moment', 'submitter', 'Link of stack and free list.'),
  row('record', { RECORD_HANDLER }, 1, 'count', 'submitter', 'worker', 'Handler id.'),
  row('record', { RECORD_META }, 1, 'packed', 'owner of the moment', 'owner of the moment', 'Form, flags, submitter.'),
  row('record', { RECORD_LENGTH }, 1, 'count', 'owner of the moment', 'owner of the moment', 'Bytes of payload.'),
  row('record', { RECORD_BLOCK }, 1, 'offset', 'submitter', 'all', 'Block of the argument.'),
  row('record', { RECORD_INLINE }, INLINE_BYTES / 4, 'payload', 'owner of the moment', 'owner of the moment', 'Small payload.'),
  row('definition', { DEFINITION_ID }, 1, 'state', 'host', 'workers', 'Handler id, written last.'),
  row('definition', { DEFINITION_TEXT }, 1, 'offset', 'host', 'workers', 'Where the text is.'),
  row('definition', { DEFINITION_LENGTH }, 1, 'count', 'host', 'workers', 'Bytes of text.'),
  row('definition', { DEFINITION_FAILURES }, 1, 'count', 'workers, host', 'workers, host', 'Load failures in a row.'),
  row('definition', { DEFINITION_OPEN_UNTIL }, 1, 'ticks', 'workers, host', 'workers', 'End of the back-off.'),
  row('definition', { DEFINITION_ERROR }, 1, 'offset', 'workers, host', 'workers', 'The failure that opened the back-off.'),
  row('block', { BLOCK_CLASS }, 1, 'packed', 'owner, once', 'all', 'Size class and owner.'),
  row('block', { BLOCK_NEXT }, 1, 'link', 'whoever frees it', 'owner', 'Free list link.'),
];
