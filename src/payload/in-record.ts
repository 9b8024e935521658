/**
 * A payload's place: 40 bytes in the record itself, or a block of the writer's arena. Written by whoever owns the record: the
 * submitter for the argument, the worker for the result.
 */
import { peek, poke } from '#atomics';
import { setBytes, type Slot, subarray } from '#base';
import {
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
import { FORM_NUMBER, FORM_PORT, type Form } from './form.ts';
import type { Scratch } from './scratch.ts';
import { lowerUnread, raiseUnread } from './unread.ts';

/**
 * @thread submitter. Writes what is in `scratch` as the argument. `keep`: in a block whatever its size, so that it outlives the
 * result, which is written into the record. False: the region is at its limit; only the record's length was written then.
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
 * wire form. False: the region is at its limit. Then only the record's length has changed, and the next
 * attempt writes it anew.
 */
export function putResult(region: Region, self: Slot, at: number, scratch: Scratch, flags: number): boolean {
  const submitter = submitterOf(peek(region.m, at + RECORD_META)); // the attempt is not kept: only the argument's meta has it
  const block = put(region, self, at, scratch, INLINE_BYTES);
  if (block < 0) return false;
  poke(region.m, at + RECORD_META, metaFor(submitter, block > 0 ? flags | IN_BLOCK : flags, scratch.form));
  if (block > 0) poke(region.m, at + RECORD_RESULT, block);
  else if (scratch.form === FORM_PORT)
    poke(region.m, at + RECORD_RESULT, self); // whose port it is
  else return true;
  raiseUnread(region.m, self, submitter, scratch.length); // before the job settles: the submitter lowers it after
  return true;
}

/** Byte offset of the block used, 0 when inline or in a port, -1 when none could be had. */
function put(region: Region, self: Slot, at: number, scratch: Scratch, inlineMax: number): number {
  poke(region.m, at + RECORD_LENGTH, scratch.length);
  if (scratch.form === FORM_PORT) return 0;
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
  else setBytes(bytes, source.length === length ? source : subarray(source, 0, length), to);
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

/** Form of the payload that the record holds now. */
export const formAt = (region: Region, at: number): Form => formOf(peek(region.m, at + RECORD_META)) as Form;

/** Bytes of the payload that the record holds now. */
export const sizeAt = (region: Region, at: number): number => peek(region.m, at + RECORD_LENGTH);

/** @thread submitter, for a settled job whose result lies in a port: the slot of the worker that has it. */
export const portOwner = (region: Region, at: number): Slot => peek(region.m, at + RECORD_RESULT) as Slot;

/**
 * @thread submitter, for a settled job whose result has been read, or is not wanted. `most`: units that may be unread before
 * workers wait.
 */
export function freeBlocks(region: Region, self: Slot, at: number, settled: boolean, most: number): void {
  const argument = peek(region.m, at + RECORD_BLOCK);
  if (argument !== 0) freeBlock(region, self, argument);
  if (!settled) return;
  const meta = peek(region.m, at + RECORD_META);
  if ((meta & IN_BLOCK) !== 0) freeBlock(region, self, peek(region.m, at + RECORD_RESULT));
  else if (formOf(meta) !== FORM_PORT) return;
  lowerUnread(region.m, self, peek(region.m, at + RECORD_LENGTH), most);
}
