/** A payload's place in the record: inline or in a block, argument and then result, whose block is whose, and no room at all. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { RecordNumber, Slot } from '#base';
import {
  allocate,
  attachRegion,
  attemptOf,
  createRegion,
  FAILED,
  INLINE_BYTES,
  NONE,
  RECORD_BLOCK,
  RECORD_LENGTH,
  RECORD_META,
  RECORD_WORDS,
  REGION_MAX,
  REGION_TOP,
  type Region,
  recordAt,
  submitterOf,
  takeSlab,
  WANTS_RESULT,
  withAttempt,
} from '#memory';
import {
  allocateBlock,
  encode,
  FORM_PORT,
  formAt,
  freeBlock,
  freeBlocks,
  getArgument,
  getResult,
  portOwner,
  putArgument,
  putResult,
  readPort,
  Scratch,
  toPort,
} from '#payload';
import { difference } from './crossing.ts';

/** Unread results never crowd anybody here. */
const MOST = 2 ** 31 - 1;
const [SUBMITTER, WORKER] = [3, 1] as [Slot, Slot];
const bytes = (length: number): Uint8Array => new Uint8Array(length).map((_, k) => k * 7);
const VALUES: readonly unknown[] = [
  undefined,
  null,
  false,
  true,
  0,
  -0,
  1.5,
  Number.NaN,
  Number.MIN_VALUE,
  '',
  'short',
  'é'.repeat(INLINE_BYTES),
  'x'.repeat(INLINE_BYTES + 1),
  '日'.repeat(INLINE_BYTES / 2),
  '日'.repeat(INLINE_BYTES / 2 + 1),
  ...[0, 1, 39, 40, 41, 63, 64, 65, 5_000, 300_000].map(bytes),
  { id: 1, name: 'abc' },
  { list: Array.from({ length: 500 }, (_, k) => ({ k })) },
];

let region: Region;
/** Views of its own, as the worker's thread has them. */
let there: Region;
let at: number;

beforeEach(() => {
  region = createRegion(4, 2 ** 24);
  there = attachRegion(region.buffer);
  takeSlab(region);
  at = recordAt(region, 9 as RecordNumber);
});

const scratchOf = (value: unknown): Scratch => {
  const scratch = new Scratch();
  encode(value, scratch);
  return scratch;
};
const put = (value: unknown, flags = 0, keep = false): boolean => putArgument(region, SUBMITTER, at, scratchOf(value), flags, keep);
const answer = (value: unknown, flags = 0): boolean => putResult(there, WORKER, at, scratchOf(value), flags);
const meta = (): number => region.m[at + RECORD_META] as number;
const top = (): number => region.m[REGION_TOP] as number;
const same = (a: unknown, b: unknown): void => expect(difference(a instanceof Uint8Array ? Uint8Array.from(a) : a, b)).toBeUndefined();

describe('an argument and then a result', () => {
  it('arrive exactly, of every form, inline and in blocks, in every pairing', () => {
    for (const argument of VALUES) {
      for (const result of VALUES) {
        expect(put(argument)).toBe(true);
        same(getArgument(there, at), argument);
        answer(result);
        same(getResult(region, at), result);
        freeBlocks(region, SUBMITTER, at, true, MOST);
      }
    }
  });

  it('touch no word of the records on either side', () => {
    region.m.fill(-1, at - RECORD_WORDS, at + 2 * RECORD_WORDS);
    put(bytes(INLINE_BYTES));
    answer(bytes(INLINE_BYTES));
    for (const other of [at - RECORD_WORDS, at + RECORD_WORDS]) {
      expect(region.m.subarray(other, other + RECORD_WORDS).every((word) => word === -1)).toBe(true);
    }
    expect([...region.m.subarray(at, at + 3)]).toEqual([-1, -1, -1]); // nor state, link and handler
  });

  it('touch no byte of the blocks on either side', () => {
    const [before, middle, after] = [1, 2, 3].map(() => allocateBlock(region, SUBMITTER, 100)) as [number, number, number];
    freeBlock(region, SUBMITTER, middle);
    region.bytes.fill(0xee, before, before + 100).fill(0xee, after, after + 100);
    for (const value of ['x'.repeat(100), bytes(100), { text: 'y'.repeat(80) }]) {
      expect(put(value)).toBe(true);
      expect(region.m[at + RECORD_BLOCK]).toBe(middle);
      for (const other of [before, after]) expect(region.bytes.subarray(other, other + 100).every((byte) => byte === 0xee)).toBe(true);
      freeBlocks(region, SUBMITTER, at, false, MOST);
    }
  });

  it('of up to 40 bytes and all numbers need no block', () => {
    allocateBlock(region, SUBMITTER, 1);
    allocateBlock(region, WORKER, 1);
    const [a, b] = [allocateBlock(region, SUBMITTER, 1), allocateBlock(region, WORKER, 1)];
    for (const value of [1.5, 'x'.repeat(INLINE_BYTES), bytes(INLINE_BYTES)]) {
      put(value);
      answer(value);
    }
    expect([allocateBlock(region, SUBMITTER, 1) - a, allocateBlock(region, WORKER, 1) - b]).toEqual([64, 64]);
    put(bytes(INLINE_BYTES + 1));
    expect(allocateBlock(region, SUBMITTER, 1) - a).toBeGreaterThan(128);
  });

  it('say whose job it is, from argument to result, with the flags of each', () => {
    for (const value of [1, bytes(100)]) {
      put(value, WANTS_RESULT);
      expect([submitterOf(meta()), meta() & WANTS_RESULT, meta() & FAILED]).toEqual([SUBMITTER, WANTS_RESULT, 0]);
      answer(value, FAILED);
      expect([submitterOf(meta()), meta() & WANTS_RESULT, meta() & FAILED]).toEqual([SUBMITTER, 0, FAILED]);
      same(getResult(region, at), value);
    }
  });
});

describe('an argument that is kept for another run', () => {
  /** What the submitter remembers of it, since the result takes its place in the record. */
  const remember = (): { meta: number; length: number } => ({ meta: meta(), length: region.m[at + RECORD_LENGTH] as number });

  it('outlives a result that was written and never handed over, whatever the form of either', () => {
    for (const argument of VALUES) {
      expect(put(argument, WANTS_RESULT, true)).toBe(true);
      const kept = remember();
      for (const [attempt, result] of [1, 'x'.repeat(INLINE_BYTES), bytes(5_000), undefined].entries()) {
        same(getArgument(there, at), argument);
        answer(result); // and the thread dies here
        region.m[at + RECORD_META] = withAttempt(kept.meta, attempt + 1);
        region.m[at + RECORD_LENGTH] = kept.length;
        expect([attemptOf(meta()), submitterOf(meta()), meta() & WANTS_RESULT]).toEqual([attempt + 1, SUBMITTER, WANTS_RESULT]);
      }
      same(getArgument(there, at), argument);
      freeBlocks(region, SUBMITTER, at, false, MOST);
    }
  });

  it('takes a block however small it is, and gives it back with the job', () => {
    const blocks = new Set<number>();
    for (const value of [1.5, 'short', bytes(INLINE_BYTES)]) {
      put(value, 0, true);
      blocks.add(region.m[at + RECORD_BLOCK] as number);
      answer('done');
      same(getResult(region, at), 'done');
      freeBlocks(region, SUBMITTER, at, true, MOST);
    }
    expect([blocks.size, blocks.has(0)]).toEqual([1, false]); // one and the same
  });
});

describe('blocks', () => {
  it('go back to those who allocated them: the argument’s to the submitter, the result’s to the worker', () => {
    const cycle = (): void => {
      put(bytes(100));
      answer(bytes(200));
      freeBlocks(region, SUBMITTER, at, true, MOST);
    };
    cycle();
    // The one block in each arena's list is the one used again and again.
    const [mine, its] = [allocateBlock(region, SUBMITTER, 100), allocateBlock(there, WORKER, 200)];
    const [mineNext, itsNext] = [allocateBlock(region, SUBMITTER, 100), allocateBlock(there, WORKER, 200)];
    expect([mineNext - mine, itsNext - its]).toEqual([128, 256]);
    const before = top();
    for (let k = 0; k < 5_000; k++) cycle();
    expect(top()).toBe(before);
  });

  it('of a job that never settled are the argument’s alone', () => {
    put(bytes(100));
    const before = top();
    for (let k = 0; k < 5_000; k++) {
      freeBlocks(region, SUBMITTER, at, false, MOST);
      put(bytes(100));
    }
    expect(top()).toBe(before);
    same(getArgument(there, at), bytes(100));
  });

  it('of an earlier job in the same record are not freed again by one that has none', () => {
    put(bytes(100));
    answer(bytes(100));
    freeBlocks(region, SUBMITTER, at, true, MOST);
    put(1);
    answer(2);
    freeBlocks(region, SUBMITTER, at, true, MOST);
    const blocks = [1, 2, 3].map(() => allocateBlock(region, SUBMITTER, 100));
    expect(new Set(blocks).size).toBe(3);
    const its = [1, 2, 3].map(() => allocateBlock(region, WORKER, 100));
    expect(new Set(its).size).toBe(3);
  });
});

describe('a reader whose views end before the payload', () => {
  it('sees all of it', () => {
    allocate(region, region.m.length);
    put(bytes(500_000));
    expect(there.m.length).toBeLessThan(region.m.length);
    same(getArgument(there, at), bytes(500_000));
  });
});

describe('at the limit of memory', () => {
  /** Takes all but what is left in chunks. */
  const fill = (): void => {
    for (const words of [2 ** 18, 2 ** 12, 16]) while (allocate(region, words) !== NONE);
  };

  it('an argument is refused and takes nothing, and one that fits inline is still accepted', () => {
    fill();
    expect(put(bytes(100))).toBe(false);
    expect(put('inline')).toBe(true);
    same(getArgument(there, at), 'inline');
  });

  it('a result is refused and changes nothing, and goes by port then', () => {
    put(bytes(100), WANTS_RESULT);
    fill();
    const before = meta();
    expect(putResult(there, WORKER, at, scratchOf(bytes(100)), 0)).toBe(false);
    expect(meta()).toBe(before);
    const scratch = scratchOf(bytes(100));
    toPort(scratch);
    expect(putResult(there, WORKER, at, scratch, 0)).toBe(true);
    expect([formAt(region, at), portOwner(region, at), submitterOf(meta())]).toEqual([FORM_PORT, WORKER, SUBMITTER]);
    same(readPort(scratch.takePort()), bytes(100));
    expect(() => freeBlocks(region, SUBMITTER, at, true, MOST)).not.toThrow();
  });

  it('the last payload that finds room in the largest region there can be crosses like any other', () => {
    region = createRegion(4);
    there = attachRegion(region.buffer);
    takeSlab(region);
    at = recordAt(region, 9 as RecordNumber);
    for (const words of [2 ** 26, 2 ** 20]) while ((region.m[REGION_MAX] as number) - top() > words + 2 ** 18) allocate(region, words);
    expect(put(bytes(50_000))).toBe(true);
    same(getArgument(there, at), bytes(50_000));
    answer(bytes(40_000));
    same(getResult(region, at), bytes(40_000));
    freeBlocks(region, SUBMITTER, at, true, MOST);
    expect(put(bytes(50_000))).toBe(true);
  });
});
