/** The layout, checked from its own table: nothing overlaps, and hot words of different writers share no line. */
import { describe, expect, it } from 'vitest';
import * as memory from '#memory';
import {
  ARENA_CLASSES,
  ARENA_CURSOR,
  ARENA_END,
  ARENA_FREE,
  BITMAP_WORDS,
  BLOCK_HEADER,
  DEFINITION_COUNT,
  DEFINITION_WORDS,
  DEFINITIONS,
  LAYOUT,
  type LayoutRow,
  LINE,
  RECORD_WORDS,
  RING_ENTRIES,
  SLOT_WORDS,
  SLOTS,
} from '#memory';

const words = memory as unknown as Record<string, number>;
const parts = [...new Set(LAYOUT.map((row) => row.part))];
const rowsOf = (part: string): LayoutRow[] => LAYOUT.filter((row) => row.part === part).sort((a, b) => a.index - b.index);
/** Where each part ends. */
const SIZE: Record<string, number> = {
  region: SLOTS,
  slot: SLOT_WORDS,
  lane: 2 * LINE,
  ring: RING_ENTRIES,
  record: RECORD_WORDS,
  definition: DEFINITION_WORDS,
  block: BLOCK_HEADER,
};
const lineOf = (word: number): number => Math.floor(word / LINE);

describe('the layout', () => {
  it.each(parts)('has no two words of a %s overlap, and none beyond its end', (part) => {
    const clashes: string[] = [];
    let end = 0;
    for (const row of rowsOf(part)) {
      if (row.index < end) clashes.push(`${row.name} begins at ${row.index}, before ${end}`);
      end = row.index + row.words;
    }
    expect(clashes).toEqual([]);
    expect(end).toBeLessThanOrEqual(SIZE[part] as number);
  });

  it('has all its parts and names in the table, at the places the code uses', () => {
    expect(new Set(parts)).toEqual(new Set(Object.keys(SIZE)));
    expect(LAYOUT.filter((row) => words[row.name] !== row.index).map((row) => row.name)).toEqual([]);
    const sizesAndAliases = /_(WORDS|SHIFT|COUNT|HEADER)$|^RING_ENTRIES$|^RECORD_RESULT$|^RECORDS_MAX$/;
    const named = Object.keys(words).filter((name) => /^(REGION|SLOT|LANE|RING|RECORD|DEFINITION|BLOCK)_[A-Z_]+$/.test(name));
    const table = new Set(LAYOUT.map((row) => row.name));
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((name) => !table.has(name) && !sizesAndAliases.test(name))).toEqual([]);
  });

  it.each(['region', 'slot', 'lane'])('keeps hot words of a %s that different threads write on lines of their own', (part) => {
    const rows = rowsOf(part);
    const shared: string[] = [];
    for (const hot of rows.filter((row) => row.hot)) {
      for (const other of rows.filter((row) => row.writers !== hot.writers)) {
        const apart = lineOf(hot.index + hot.words - 1) < lineOf(other.index) || lineOf(other.index + other.words - 1) < lineOf(hot.index);
        if (!apart) shared.push(`${hot.name} and ${other.name}`);
      }
    }
    expect(rows.filter((row) => row.hot).length).toBeGreaterThan(1);
    expect(shared).toEqual([]);
  });

  it('counts no word as hot that is written a few times in a thread’s life: those three share one line, which is theirs alone', () => {
    const first = rowsOf('slot').filter((row) => lineOf(row.index) === 0);
    expect(first.map((row) => row.name)).toEqual(['SLOT_LIFE', 'SLOT_EXITED', 'SLOT_LOADING']);
    expect(first.filter((row) => row.hot).map((row) => row.name)).toEqual([]);
    const writersOf = (row: LayoutRow): string => row.writers.split(', ').sort().join();
    expect(new Set(first.map(writersOf))).toEqual(new Set(['host,its worker']));
  });

  it('keeps head, tail and the rest of a ring a line apart wherever the ring begins, since rings begin at any 64 bytes', () => {
    const rows = rowsOf('ring');
    const near = rows.flatMap((a) =>
      rows.filter((b) => a.writers !== b.writers && a.index < b.index && b.index - (a.index + a.words - 1) < LINE),
    );
    expect(near.map((row) => row.name)).toEqual([]);
    expect(RING_ENTRIES - Math.max(...rows.map((row) => row.index))).toBeGreaterThan(16); // a head at the next ring's start
  });

  it('begins slots on a line, so that the lines of one slot are nobody else’s', () => {
    expect([SLOTS % LINE, SLOT_WORDS % LINE, DEFINITIONS % LINE]).toEqual([0, 0, 0]);
    expect(rowsOf('slot').filter((row) => row.hot && row.index % LINE !== 0)).toEqual([]);
  });

  it('fills a record to the last word, and puts its number payload where a float64 view can reach it', () => {
    expect(rowsOf('record').reduce((sum, row) => sum + row.words, 0)).toBe(RECORD_WORDS);
    expect(RECORD_WORDS % 2).toBe(0);
    expect(memory.RECORD_INLINE % 2).toBe(0);
  });

  it('has room in its tables for as many bits, definitions and arena classes as it says', () => {
    const row = (name: string): number => LAYOUT.find((each) => each.name === name)?.words as number;
    for (const bitmap of ['LIVE_BITS', 'IDLE_BITS', 'FRONT_BITS', 'LANE_BITS']) expect(row(bitmap)).toBe(BITMAP_WORDS);
    expect(row('DEFINITIONS')).toBe(DEFINITION_COUNT * DEFINITION_WORDS);
    expect(row('SLOT_ENTRIES')).toBe(memory.BATCH_MAX);
    expect(row('SLOT_RUN')).toBe(memory.RUN_MAX);
    expect(row('SLOT_ARENA')).toBeGreaterThan(ARENA_END);
    expect(ARENA_FREE + ARENA_CLASSES).toBeLessThanOrEqual(ARENA_CURSOR);
    expect(ARENA_CURSOR).toBeLessThan(ARENA_END);
    expect(memory.RECORDS_MAX).toBe(2 ** 24);
  });
});
