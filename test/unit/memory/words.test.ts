/** Packed words: each field at its limits, and what an overflow on top does to the others. */
import { describe, expect, it } from 'vitest';
import type { RecordNumber, Slot } from '#base';
import {
  advanced,
  attemptOf,
  batchLeft,
  blockHeader,
  CRASH_LOOP,
  classOf,
  entryFor,
  FAILED,
  formOf,
  IN_BLOCK,
  inState,
  isCurrent,
  metaFor,
  newBatch,
  nextGeneration,
  ONE_GENERATION,
  ownerOf,
  recordOf,
  stateOf,
  submitterOf,
  WANTS_RESULT,
  withAttempt,
} from '#memory';

const isWord = (value: number): boolean => value === (value | 0);
const STATES = [0, 1, 14, 15];
const RECORDS = [0, 1, 2 ** 23 - 1, 2 ** 23, 2 ** 24 - 1] as RecordNumber[];
/** Generations at the borders of the 8 bits in an entry, of the sign, and of the word. */
const GENERATIONS = [0, 1, 255, 256, 257, 2 ** 27 - 1, 2 ** 27, 2 ** 28 - 1];
const wordOf = (generation: number, state: number): number => (generation * ONE_GENERATION) | 0 | state;

describe('the state of a record', () => {
  it('changes its state in every generation and keeps the generation', () => {
    for (const generation of GENERATIONS) {
      for (const from of STATES) {
        for (const to of STATES) {
          const word = inState(wordOf(generation, from), to);
          expect([isWord(word), stateOf(word), word >>> 4]).toEqual([true, to, generation]);
        }
      }
    }
  });

  it('moves its generation on by one, and from the last to 0 without touching the state', () => {
    for (const generation of GENERATIONS) {
      for (const state of STATES) {
        const word = nextGeneration(wordOf(generation, 15), state);
        expect([isWord(word), stateOf(word), word >>> 4]).toEqual([true, state, (generation + 1) % 2 ** 28]);
      }
    }
  });
});

describe('an entry', () => {
  it('gives back every record number, in every generation, as an int32', () => {
    for (const record of RECORDS) {
      for (const generation of GENERATIONS) {
        const entry = entryFor(record, wordOf(generation, 15));
        expect([isWord(entry), recordOf(entry)]).toEqual([true, record]);
      }
    }
  });

  it('is current in its own generation, in any state, and void in the next 255', () => {
    for (const record of RECORDS) {
      for (const generation of GENERATIONS) {
        let word = wordOf(generation, 1);
        const entry = entryFor(record, word);
        for (const state of STATES) expect(isCurrent(entry, inState(word, state))).toBe(true);
        for (let k = 1; k < 256; k++) {
          word = nextGeneration(word, 1);
          expect(isCurrent(entry, word)).toBe(false);
        }
      }
    }
  });

  it('of record 0 in generation 0 is the word that means none, which is why record 0 is never used', () => {
    expect(entryFor(0 as RecordNumber, 0)).toBe(0);
    for (const record of RECORDS.slice(1)) expect(entryFor(record, 0)).not.toBe(0);
  });
});

describe('the meta of a record', () => {
  it('gives back submitter, flags and form, each at its limits', () => {
    const all = WANTS_RESULT | FAILED | IN_BLOCK | CRASH_LOOP;
    for (const submitter of [0, 1, 2079, 4095] as Slot[]) {
      for (const flags of [0, WANTS_RESULT, FAILED, IN_BLOCK, CRASH_LOOP, all]) {
        for (const form of [0, 8, 15]) {
          const meta = metaFor(submitter, flags, form);
          expect([isWord(meta), submitterOf(meta), meta & all, formOf(meta)]).toEqual([true, submitter, flags, form]);
        }
      }
    }
  });

  it('counts the attempts before, from 0 to 4,095, and changing the count touches nothing else', () => {
    const all = WANTS_RESULT | FAILED | IN_BLOCK | CRASH_LOOP;
    for (const submitter of [0, 2079, 4095] as Slot[]) {
      for (const [flags, form] of [
        [0, 0],
        [all, 15],
      ] as const) {
        let meta = metaFor(submitter, flags, form);
        expect(attemptOf(meta)).toBe(0);
        for (const attempt of [1, 2, 255, 256, 2_047, 2_048, 4_095, 3, 0]) {
          meta = withAttempt(meta, attempt);
          expect([isWord(meta), attemptOf(meta)]).toEqual([true, attempt]);
          expect([submitterOf(meta), meta & all, formOf(meta)]).toEqual([submitter, flags, form]);
        }
        expect(meta).toBe(metaFor(submitter, flags, form));
      }
    }
  });

  it('has four flags of one bit each, apart from the form', () => {
    expect(WANTS_RESULT | FAILED | IN_BLOCK | CRASH_LOOP).toBe(0xf0);
    expect(WANTS_RESULT + FAILED + IN_BLOCK + CRASH_LOOP).toBe(0xf0);
  });
});

describe('the batch of a worker', () => {
  it('holds each number of entries left, up to 255', () => {
    for (const left of [0, 1, 2, 127, 128, 255]) {
      const batch = newBatch(0, left);
      expect([isWord(batch), batchLeft(batch)]).toEqual([true, left]);
    }
  });

  it('advances one entry at a time to its end without touching the epoch', () => {
    for (const before of [0, 0x7fffff << 8, 0xfffffe << 8]) {
      let batch = newBatch(before, 255);
      const epoch = batch >>> 8;
      for (let left = 254; left >= 0; left--) {
        batch = advanced(batch);
        expect([isWord(batch), batchLeft(batch), batch >>> 8]).toEqual([true, left, epoch]);
      }
    }
  });

  it('17.8 differs from every other one of the 16,777,215 batches before it, and its epoch then begins again', () => {
    let batch = newBatch(0, 3);
    const first = batch;
    let batches = 0;
    do {
      batch = newBatch(advanced(batch), 3);
      batches++;
    } while (batch !== first && batches <= 2 ** 24);
    expect(batches).toBe(2 ** 24);
  });
});

describe('the header of a block', () => {
  it('gives back owner and size class, each at its limits', () => {
    for (const owner of [0, 1, 2079, 4095] as Slot[]) {
      for (const sizeClass of [0, 1, 27, 255]) {
        const header = blockHeader(owner, sizeClass);
        expect([isWord(header), ownerOf(header), classOf(header)]).toEqual([true, owner, sizeClass]);
      }
    }
  });
});
