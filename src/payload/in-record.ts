/**
 * A payload's place: 40 bytes in the record itself, or a block of the writer's arena. Written by whoever owns the record: the
 * submitter for the argument, the worker for the result.
 */
import { peek, poke } from '#atomics';
import type { Slot } from '#base';
import {
  FAILED,
  formOf,
  IN_BLOCK,
  INLINE_BYTES,
  metaFor,
  RECORD_BLOCK,
  RECORD_INLINE,
  RECORD_LENGTH,
  RECORD_META,
  RECORD_RESULT,
  type Region,
  reach,
  submitterOf,
} from '#memory';
import { allocateBlock, freeBlock } from './arena.ts';
import { decode } from './decode.ts';
import { FORM_NUMBER, FORM_UNDEFINED, type Form } from './form.ts';
import type { Scratch } from './scratch.ts';

/**
 * @thread submitter. Writes what is in `scratch` as the argument. `keep`: in a block whatever its size, so that it outlives the
 * result, which is written into the record. False: the region is at its limit, and nothing was taken.
 */
export function putArgument(region: Region, self: Slot, at: number, scratch: Scratch, flags: number, keep: boolean): boolean {
  const block = put(region, self, at, scratch, keep ? 0 : INLINE_BYTES);
  if (block < 0) return false;
  poke(region.m, at + RECORD_META, metaFor(self, block > 0 ? flags | IN_BLOCK : flags, scratch.form));
  poke(region.m, at + RECORD_BLOCK, block);
  return true;
}

/**
 * @thread worker, which has read the argument. Writes what is in `scratch` as the result, or with the flag FAILED as an error in
 * wire form. At the region's limit the job fails with NO_ROOM instead, which needs no room.
 */
export function putResult(region: Region, self: Slot, at: number, scratch: Scratch, flags: number): void {
  const submitter = submitterOf(peek(region.m, at + RECORD_META)); // the attempt is not kept: only the argument's meta has it
  const block = put(region, self, at, scratch, INLINE_BYTES);
  if (block < 0) {
    poke(region.m, at + RECORD_META, metaFor(submitter, FAILED, FORM_UNDEFINED));
    poke(region.m, at + RECORD_LENGTH, NO_ROOM);
    return;
  }
  poke(region.m, at + RECORD_META, metaFor(submitter, block > 0 ? flags | IN_BLOCK : flags, scratch.form));
  if (block > 0) poke(region.m, at + RECORD_RESULT, block);
}

/** Length of a failure that says only: the result, or the error, found no room in the region. */
const NO_ROOM = -1;
export const foundNoRoom = (region: Region, at: number): boolean => peek(region.m, at + RECORD_LENGTH) === NO_ROOM;

/** Byte offset of the block used, 0 when inline, -1 when none could be had. */
function put(region: Region, self: Slot, at: number, scratch: Scratch, inlineMax: number): number {
  poke(region.m, at + RECORD_LENGTH, scratch.length);
  const block = scratch.length <= inlineMax ? 0 : allocateBlock(region, self, scratch.length);
  if (block === 0 && scratch.length > inlineMax) return -1;
  const to = block === 0 ? (at + RECORD_INLINE) * 4 : block;
  if (scratch.form === FORM_NUMBER) region.f64[to >> 3] = scratch.number;
  else copy(region, to, scratch);
  return block;
}

/** Fewer bytes than this are copied one by one: a call into the engine costs more. */
const BY_HAND = 64;

function copy(region: Region, to: number, { source, length }: Scratch): void {
  const { bytes } = region;
  if (length <= BY_HAND) for (let k = 0; k < length; k++) bytes[to + k] = source[k] as number;
  else bytes.set(source.length === length ? source : source.subarray(0, length), to);
}

/** @thread worker that started the job. */
export function getArgument(region: Region, at: number): unknown {
  const meta = peek(region.m, at + RECORD_META);
  return get(region, at, meta, (meta & IN_BLOCK) !== 0 ? peek(region.m, at + RECORD_BLOCK) : 0);
}

/** @thread submitter, for a settled job. */
export function getResult(region: Region, at: number): unknown {
  const meta = peek(region.m, at + RECORD_META);
  return get(region, at, meta, (meta & IN_BLOCK) !== 0 ? peek(region.m, at + RECORD_RESULT) : 0);
}

function get(region: Region, at: number, meta: number, block: number): unknown {
  const form = formOf(meta) as Form;
  const from = block === 0 ? (at + RECORD_INLINE) * 4 : block;
  const length = peek(region.m, at + RECORD_LENGTH);
  if (block !== 0) reach(region, (block + length + 3) >>> 2);
  return form === FORM_NUMBER ? region.f64[from >> 3] : decode(form, region.bytes, from, length);
}

/** @thread submitter, for a settled job whose result has been read, or is not wanted. */
export function freeBlocks(region: Region, self: Slot, at: number, settled: boolean): void {
  const argument = peek(region.m, at + RECORD_BLOCK);
  if (argument !== 0) freeBlock(region, self, argument);
  if (settled && (peek(region.m, at + RECORD_META) & IN_BLOCK) !== 0) freeBlock(region, self, peek(region.m, at + RECORD_RESULT));
}
