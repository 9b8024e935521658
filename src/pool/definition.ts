/**
 * Definitions: what a handler id stands for, as text in the region, so that a worker finds a new one while the host is blocked.
 * Written by the host, once each; read by workers. Task values never hold any of it.
 */
import { add, cas, load, store } from '#atomics';
import { type ErrorWire, type Slot, ticks } from '#base';
import {
  DEFINITION_COUNT,
  DEFINITION_ERROR,
  DEFINITION_ERROR_FORM,
  DEFINITION_ERROR_LENGTH,
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
  store(m, row + DEFINITION_ERROR_LENGTH, 0);
  store(m, row + DEFINITION_ID, id); // edge definition-1: write -> read
}

/** @thread worker. The definition of a handler that an unsettled job names; undefined when the row is somebody else's by now. */
export function readDefinition(region: Region, id: number): Definition | undefined {
  const row = rowOf(id);
  if (load(region.m, row + DEFINITION_ID) !== id) return undefined; // edge definition-1: reading side
  const text = readText(region, load(region.m, row + DEFINITION_TEXT), load(region.m, row + DEFINITION_LENGTH));
  return JSON.parse(text) as Definition;
}

/** @thread worker. Ids of all definitions there are now. */
export function knownDefinitions(m: Int32Array): number[] {
  const ids: number[] = [];
  for (let row: number = DEFINITIONS; row < DEFINITIONS + DEFINITION_COUNT * DEFINITION_WORDS; row += DEFINITION_WORDS) {
    const id = load(m, row + DEFINITION_ID);
    if (id !== 0) ids.push(id);
  }
  return ids;
}

/**
 * @thread worker that could not load a module, or the host if the thread ended over it. Returns how many failures in a row that
 * makes. The one that opens the back-off is kept first: whoever reads the count finds the cause.
 */
export function noteFailure(region: Region, slot: Slot, id: number, cause: ErrorWire): number {
  const { m } = region;
  if (load(m, rowOf(id) + DEFINITION_FAILURES) >= FAILURES_MAX - 1) keepFailure(region, slot, id, cause);
  const failures = add(m, rowOf(id) + DEFINITION_FAILURES, 1) + 1;
  if (failures >= FAILURES_MAX) store(m, rowOf(id) + DEFINITION_OPEN_UNTIL, (ticks() + backoffMs(failures)) | 0);
  return failures;
}

const backoffMs = (failures: number): number => Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(failures - FAILURES_MAX, 20));

/** @thread worker that loaded it. */
export function noteSuccess(m: Int32Array, id: number): void {
  store(m, rowOf(id) + DEFINITION_ERROR_LENGTH, 0);
  store(m, rowOf(id) + DEFINITION_FAILURES, 0);
}

/** Jobs refused during the back-off can say the cause. One block for each run of failures, never freed: a reader may hold it. */
function keepFailure(region: Region, slot: Slot, id: number, cause: ErrorWire): void {
  if (load(region.m, rowOf(id) + DEFINITION_ERROR_LENGTH) !== 0) return; // the first one that led here says enough
  const scratch = new Scratch();
  encode(cause, scratch);
  const block = allocateBlock(region, slot, scratch.length);
  if (block === 0) return; // no room: the jobs are refused without the cause
  region.bytes.set(scratch.source.subarray(0, scratch.length), block);
  store(region.m, rowOf(id) + DEFINITION_ERROR, block);
  store(region.m, rowOf(id) + DEFINITION_ERROR_FORM, scratch.form);
  store(region.m, rowOf(id) + DEFINITION_ERROR_LENGTH, scratch.length);
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
  const length = load(region.m, row + DEFINITION_ERROR_LENGTH);
  if (length === 0) return { failures, cause: undefined };
  const block = load(region.m, row + DEFINITION_ERROR);
  reach(region, (block + length + 3) >>> 2);
  return { failures, cause: decode(load(region.m, row + DEFINITION_ERROR_FORM) as Form, region.bytes, block, length) as ErrorWire };
}
