/**
 * Definitions: what a handler id stands for, as text in the region, so that a worker finds a new one while the host is blocked.
 * The text is written by the host, once each, the load failures by any worker and the host; workers read both. Task values never hold any of it.
 */
import { cas, load, peek, poke, store } from '#atomics';
import { type ErrorWire, JSON, Math, push, setBytes, type Slot, subarray, ticks } from '#base';
import {
  DEFINITION_COUNT,
  DEFINITION_ERROR,
  DEFINITION_FAILURES,
  DEFINITION_ID,
  DEFINITION_LENGTH,
  DEFINITION_OPEN_UNTIL,
  DEFINITION_TEXT,
  DEFINITION_WORDS,
  DEFINITIONS,
  type Region,
  reach,
  readText,
} from '#memory';
import { allocateBlock, decode, encode, type Form, Scratch } from '#payload';

export type Definition =
  | { readonly kind: 'function'; readonly name: string; readonly source: string }
  | { readonly kind: 'module'; readonly name: string; readonly url: string; readonly exportName: string };

/** Failures in a row after which a module is not tried again for a while. More: more threads are spent on a broken one. */
export const FAILURES_MAX = 5;
/** Form and length of a kept failure, before its bytes. */
const FAILURE_HEADER_BYTES = 8;
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 30_000;

const rowOf = (id: number): number => DEFINITIONS + (id % DEFINITION_COUNT) * DEFINITION_WORDS;

/** @thread host. `text` lies in the region already; the id goes last, and makes the row valid. */
export function writeDefinition(m: Int32Array, id: number, text: number, length: number): void {
  const row = rowOf(id);
  store(m, row + DEFINITION_ID, 0);
  store(m, row + DEFINITION_TEXT, text);
  store(m, row + DEFINITION_LENGTH, length);
  store(m, row + DEFINITION_FAILURES, 0);
  store(m, row + DEFINITION_ERROR, 0);
  store(m, row + DEFINITION_ID, id); // edge definition-1: write -> read
}

/** @thread host, before it frees the text: no unsettled job names the handler, but `warm` makes workers read every row. */
export function dropDefinition(m: Int32Array, id: number): void {
  store(m, rowOf(id) + DEFINITION_ID, 0);
}

/**
 * @thread worker. The definition of a handler; undefined when the row is somebody else's by now. Unless an unsettled job names it
 * the row and the text may change while they are read, so the id is looked at again before each use.
 */
export function readDefinition(region: Region, id: number): Definition | undefined {
  const { m } = region;
  const row = rowOf(id);
  if (load(m, row + DEFINITION_ID) !== id) return undefined; // edge definition-1: reading side
  const offset = load(m, row + DEFINITION_TEXT);
  const length = load(m, row + DEFINITION_LENGTH);
  if (load(m, row + DEFINITION_ID) !== id) return undefined; // offset and length belong together
  const text = readText(region, offset, length);
  if (cas(m, row + DEFINITION_ID, id, id) !== id) return undefined; // an exchange: no plain read moves behind it
  return JSON.parse(text) as Definition;
}

/** @thread worker. Ids of all definitions there are now. */
export function knownDefinitions(m: Int32Array): number[] {
  const ids: number[] = [];
  for (let row: number = DEFINITIONS; row < DEFINITIONS + DEFINITION_COUNT * DEFINITION_WORDS; row += DEFINITION_WORDS) {
    const id = load(m, row + DEFINITION_ID);
    if (id !== 0) push(ids, id);
  }
  return ids;
}

/**
 * @thread worker that could not load a module, or the host if the thread ended over it. Returns how many failures in a row that
 * makes. The one that opens the back-off is kept first: whoever reads the count finds the cause.
 */
export function noteFailure(region: Region, slot: Slot, id: number, cause: ErrorWire): number {
  const { m } = region;
  let failures = 0;
  for (let before = load(m, rowOf(id) + DEFINITION_FAILURES); failures === 0; ) {
    if (before >= FAILURES_MAX - 1) keepFailure(region, slot, id, cause); // anew for each try: another may have counted meanwhile
    const seen = cas(m, rowOf(id) + DEFINITION_FAILURES, before, before + 1);
    if (seen === before) failures = before + 1;
    before = seen;
  }
  if (failures >= FAILURES_MAX) store(m, rowOf(id) + DEFINITION_OPEN_UNTIL, (ticks() + backoffMs(failures)) | 0);
  return failures;
}

const backoffMs = (failures: number): number => Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(failures - FAILURES_MAX, 20));

/** @thread worker that loaded it. */
export function noteSuccess(m: Int32Array, id: number): void {
  store(m, rowOf(id) + DEFINITION_ERROR, 0);
  store(m, rowOf(id) + DEFINITION_FAILURES, 0);
}

/** Jobs refused during the back-off can say the cause. One block for each run of failures, never freed: a reader may hold it. */
function keepFailure(region: Region, slot: Slot, id: number, cause: ErrorWire): void {
  if (load(region.m, rowOf(id) + DEFINITION_ERROR) !== 0) return; // the first one that led here says enough
  const scratch = new Scratch();
  encode([cause], scratch); // in a list: one form for all, numbers too
  const block = allocateBlock(region, slot, FAILURE_HEADER_BYTES + scratch.length);
  if (block === 0) return; // no room: the jobs are refused without the cause
  poke(region.m, block >> 2, scratch.form);
  poke(region.m, (block >> 2) + 1, scratch.length);
  setBytes(region.bytes, subarray(scratch.source, 0, scratch.length), block + FAILURE_HEADER_BYTES);
  store(region.m, rowOf(id) + DEFINITION_ERROR, block); // edge definition-2: one word, so that nobody sees half of it
}

/**
 * @thread worker, before it tries a module. Undefined: go on and try. Else the module has failed too often and its back-off
 * runs: the kept failure. When the back-off is over one worker wins the right to try, and the rest wait on.
 */
export function backingOff(region: Region, id: number): { readonly failures: number; readonly cause: ErrorWire } | undefined {
  const row = rowOf(id);
  const failures = load(region.m, row + DEFINITION_FAILURES);
  if (failures < FAILURES_MAX) return undefined;
  const until = load(region.m, row + DEFINITION_OPEN_UNTIL);
  const now = ticks();
  if (((now - until) | 0) >= 0 && cas(region.m, row + DEFINITION_OPEN_UNTIL, until, (now + backoffMs(failures)) | 0) === until)
    return undefined;
  const block = load(region.m, row + DEFINITION_ERROR); // edge definition-2: reading side
  if (block === 0) return { failures, cause: undefined };
  const m = reach(region, (block + FAILURE_HEADER_BYTES) >> 2);
  const form = peek(m, block >> 2) as Form;
  const length = peek(m, (block >> 2) + 1);
  reach(region, (block + FAILURE_HEADER_BYTES + length + 3) >>> 2);
  return { failures, cause: (decode(form, region.bytes, block + FAILURE_HEADER_BYTES, length) as [ErrorWire])[0] };
}
