/**
 * Where payloads live that do not fit into a record: blocks in sizes of powers of two, owned by the slot that allocated them.
 * Owner: allocates, frees. Any other thread: frees, by a list that the owner takes from.
 *
 * The words belong to the slot, not to the thread, and pass to its next thread. The arena keeps what it has grown to.
 */
import { cas, load, peek, poke } from '#atomics';
import { Math, type Slot } from '#base';
import {
  ARENA_CLASSES,
  ARENA_CURSOR,
  ARENA_END,
  ARENA_FREE,
  allocate,
  BLOCK_CLASS,
  BLOCK_HEADER,
  BLOCK_NEXT,
  blockHeader,
  classOf,
  NONE,
  ownerOf,
  REGION_MAX,
  REGION_TOP,
  type Region,
  reach,
  SLOT_ARENA,
  SLOT_REMOTE,
  slotAt,
} from '#memory';

/** Words of the smallest block, header included: 64 bytes. */
const SMALLEST_WORDS = 16;
/** Small blocks are cut from chunks of so many words. Smaller: the region's one counter is hit often; larger: idle slots hold more. */
const CHUNK_WORDS = 65_536;

/** Bytes between a block's first word and its payload. */
const HEADER_BYTES: number = BLOCK_HEADER * 4;
/** Larger blocks are taken from the region one by one, and none once half of it is in use. */
const LARGE_WORDS: number = CHUNK_WORDS / 4;
/** Larger payloads find no room once half of the region is in use: they go by port then, and leave it to records, rings and small ones. */
export const LARGE_BYTES: number = LARGE_WORDS * 4 - HEADER_BYTES;

/** @thread owner of `slot`. Byte offset of a block with room for `bytes`, or 0 when the region is at its limit, or, for more than `LARGE_BYTES`, half taken. */
export function allocateBlock(region: Region, slot: Slot, bytes: number): number {
  const words = Math.ceil((bytes + HEADER_BYTES) / 4);
  const sizeClass = words <= SMALLEST_WORDS ? 0 : 32 - Math.clz32(Math.ceil(words / SMALLEST_WORDS) - 1);
  const arena = slotAt(slot) + SLOT_ARENA;
  let block = takeFree(region, arena, slot, sizeClass) || cut(region, arena, SMALLEST_WORDS << sizeClass);
  let its = sizeClass;
  while (block === NONE && ++its < ARENA_CLASSES) block = takeFree(region, arena, slot, its); // no memory is left but in larger free blocks
  if (block === NONE) return 0;
  poke(region.m, block + BLOCK_CLASS, blockHeader(slot, its)); // it stays as large as it is
  return block * 4 + HEADER_BYTES;
}

/** Gives a block back to its owner, from any thread. */
export function freeBlock(region: Region, self: Slot, offset: number): void {
  const block = (offset - HEADER_BYTES) >>> 2;
  const m = reach(region, block + BLOCK_HEADER);
  const header = peek(m, block + BLOCK_CLASS); // plain: carried by the edge that brought the payload
  const owner = slotAt(ownerOf(header));
  if (ownerOf(header) === self) {
    pushFree(m, owner + SLOT_ARENA, block, classOf(header));
    return;
  }
  let top = load(m, owner + SLOT_REMOTE);
  for (;;) {
    poke(m, block + BLOCK_NEXT, top);
    const seen = cas(m, owner + SLOT_REMOTE, top, block); // edge arena-1: remote free -> take
    if (seen === top) return;
    top = seen;
  }
}

function takeFree(region: Region, arena: number, slot: Slot, sizeClass: number): number {
  const list = arena + ARENA_FREE + sizeClass;
  let block = peek(region.m, list);
  if (block === NONE) {
    takeRemote(region, arena, slot);
    block = peek(region.m, list);
    if (block === NONE) return NONE;
  }
  const m = reach(region, block + BLOCK_HEADER);
  poke(m, list, peek(m, block + BLOCK_NEXT));
  return block;
}

/**
 * One block after another, each off the one list before it is on the other: an owner that dies here loses one block, not a list.
 * Only the owner takes, so a top that is there cannot have gone and come back.
 */
function takeRemote(region: Region, arena: number, slot: Slot): void {
  const remote = slotAt(slot) + SLOT_REMOTE;
  let block = load(region.m, remote); // edge arena-1: take side
  while (block !== NONE) {
    const m = reach(region, block + BLOCK_HEADER);
    const seen = cas(m, remote, block, peek(m, block + BLOCK_NEXT));
    if (seen === block) {
      pushFree(m, arena, block, classOf(peek(m, block + BLOCK_CLASS)));
      block = load(m, remote);
    } else block = seen; // somebody has freed one meanwhile
  }
}

function pushFree(m: Int32Array, arena: number, block: number, sizeClass: number): void {
  poke(m, block + BLOCK_NEXT, peek(m, arena + ARENA_FREE + sizeClass));
  poke(m, arena + ARENA_FREE + sizeClass, block);
}

function cut(region: Region, arena: number, words: number): number {
  if (words > LARGE_WORDS) return load(region.m, REGION_TOP) > load(region.m, REGION_MAX) / 2 ? NONE : allocate(region, words);
  const cursor = peek(region.m, arena + ARENA_CURSOR);
  if (cursor + words > peek(region.m, arena + ARENA_END)) {
    const chunk = allocate(region, CHUNK_WORDS);
    if (chunk === NONE) return NONE;
    poke(region.m, arena + ARENA_CURSOR, chunk + words);
    poke(region.m, arena + ARENA_END, chunk + CHUNK_WORDS);
    return chunk;
  }
  poke(region.m, arena + ARENA_CURSOR, cursor + words);
  return cursor;
}
