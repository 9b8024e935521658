/** The arena: blocks that do not overlap, go back to their owner from wherever they are freed, and serve again. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Slot } from '#base';
import { allocate, attachRegion, createRegion, NONE, REGION_MAX, REGION_TOP, type Region, SLOT_REMOTE, slotAt } from '#memory';
import { allocateBlock, freeBlock, LARGE_BYTES } from '#payload';
import { seeded } from '../../support/index.ts';
import { diesAfter } from '../pool/world.ts';
import { interrupted } from '../ring/interrupt.ts';

const [OWNER, OTHER, THIRD] = [0, 1, 2] as [Slot, Slot, Slot];
const SIZES = [1, 8, 55, 56, 57, 64, 120, 121, 1_000, 65_527, 65_528, 65_529, 70_000, 300_000];
const range = (count: number): number[] => Array.from({ length: count }, (_, k) => k);
let region: Region;

beforeEach(() => {
  region = createRegion(3, 2 ** 24);
});
const top = (): number => region.m[REGION_TOP] as number;

describe('a block', () => {
  it('has room for all its bytes, at its two borders too, and shares none with another', () => {
    const random = seeded();
    const blocks: { at: number; bytes: number; fill: number }[] = [];
    const check = ({ at, bytes, fill }: { at: number; bytes: number; fill: number }): boolean =>
      region.bytes.subarray(at, at + bytes).every((byte) => byte === fill);
    for (let k = 0; k < 600; k++) {
      if (blocks.length > 20 && random.next() < 0.55) {
        const block = blocks.splice(random.int(0, blocks.length - 1), 1)[0] as { at: number; bytes: number; fill: number };
        expect(check(block)).toBe(true);
        freeBlock(region, random.pick([OWNER, OTHER, THIRD]), block.at);
      } else {
        const block = { at: 0, bytes: random.pick(SIZES), fill: k % 256 };
        block.at = allocateBlock(region, OWNER, block.bytes);
        if (block.at === 0) continue; // full for now
        region.bytes.fill(block.fill, block.at, block.at + block.bytes);
        blocks.push(block);
      }
    }
    expect(blocks.length).toBeGreaterThan(10);
    expect(blocks.every(check)).toBe(true);
  });

  it('takes the least power of two from 64 bytes on that holds it with its header', () => {
    // A freed block of one size serves all sizes of its class, and no other.
    const sameClass = (a: number, b: number): boolean => {
      const block = allocateBlock(region, OWNER, a);
      freeBlock(region, OWNER, block);
      const again = allocateBlock(region, OWNER, b);
      freeBlock(region, OWNER, again);
      return again === block;
    };
    for (const power of [64, 128, 1024, 65_536]) {
      expect(sameClass(power - 8, power / 2 - 7)).toBe(true);
      expect(sameClass(power - 8, power - 9)).toBe(true);
      expect(sameClass(power - 8, power - 7)).toBe(false);
    }
    expect(sameClass(56, 1)).toBe(true);
  });

  it('begins at a multiple of eight bytes', () => {
    for (const bytes of SIZES) expect(allocateBlock(region, OWNER, bytes) % 8).toBe(0);
  });
});

describe('small blocks', () => {
  it('are cut from one chunk: a hundred of them move the region’s counter once', () => {
    allocateBlock(region, OWNER, 10);
    const before = top();
    for (const _ of range(100)) allocateBlock(region, OWNER, 10);
    expect(top()).toBe(before);
  });

  it('of two slots come from two chunks', () => {
    const blocks = range(50).flatMap(() => [allocateBlock(region, OWNER, 10), allocateBlock(region, OTHER, 10)]);
    expect(new Set(blocks).size).toBe(100);
    const gap = Math.min(...range(50).map((k) => Math.abs((blocks[2 * k] as number) - (blocks[2 * k + 1] as number))));
    expect(gap).toBeGreaterThan(50 * 64);
  });
});

describe('a freed block', () => {
  it('serves its owner again, the one freed last first', () => {
    const [a, b] = [allocateBlock(region, OWNER, 10), allocateBlock(region, OWNER, 10)];
    freeBlock(region, OWNER, a);
    freeBlock(region, OWNER, b);
    expect([allocateBlock(region, OWNER, 20), allocateBlock(region, OWNER, 5)]).toEqual([b, a]);
  });

  it('by another thread goes back to its owner, and never to the one that freed it', () => {
    const [a, b] = [allocateBlock(region, OWNER, 10), allocateBlock(region, OWNER, 200)];
    freeBlock(region, OTHER, a);
    freeBlock(region, THIRD, b);
    expect([allocateBlock(region, OTHER, 10), allocateBlock(region, THIRD, 200)].filter((at) => at === a || at === b)).toEqual([]);
    expect(allocateBlock(region, OWNER, 200)).toBe(b);
    expect(allocateBlock(region, OWNER, 10)).toBe(a); // of another size, and not lost when the list was taken for the first
  });

  it('by a thread whose views end before it comes back like any other', () => {
    const [other, another] = [attachRegion(region.buffer), attachRegion(region.buffer)];
    allocate(region, region.m.length);
    const [a, b] = [allocateBlock(region, OTHER, 500_000), allocateBlock(region, OTHER, 500_000)];
    expect(a / 4).toBeGreaterThan(other.m.length);
    freeBlock(other, OWNER, a);
    freeBlock(another, THIRD, b);
    expect([allocateBlock(region, OTHER, 500_000), allocateBlock(region, OTHER, 500_000)].sort()).toEqual([a, b].sort());
  });

  it('is not lost when another thread frees one at the same moment, or the owner takes those that were freed', () => {
    const blocks = [1, 2, 3].map(() => allocateBlock(region, OWNER, 10)) as [number, number, number];
    const remote = slotAt(OWNER) + SLOT_REMOTE;
    const free = (by: Slot, block: number) => (): void => freeBlock(region, by, block);
    interrupted('before', 'compareExchange', remote, free(OTHER, blocks[0]), free(THIRD, blocks[1]));
    const first = interrupted('before', 'compareExchange', remote, free(OTHER, blocks[2]), () => allocateBlock(region, OWNER, 10));
    const again = [first, allocateBlock(region, OWNER, 10), allocateBlock(region, OWNER, 10)];
    expect(again.sort()).toEqual([...blocks].sort());
  });

  it('is the only one lost when its owner dies while it takes what others have freed', () => {
    const blocks = range(5).map(() => allocateBlock(region, OWNER, 10));
    let deaths = 0;
    for (let steps = 0; ; steps++) {
      for (const block of blocks) freeBlock(region, OTHER, block);
      if (!diesAfter(steps, () => allocateBlock(region, OWNER, 10))) break;
      deaths++;
      const served = range(5).map(() => allocateBlock(region, OWNER, 10));
      expect(served.filter((block) => blocks.includes(block)).length).toBeGreaterThanOrEqual(4);
      expect(new Set(served).size).toBe(5);
      blocks.splice(0, 5, ...served); // a lost one is replaced by one that is new
    }
    expect(deaths).toBeGreaterThan(5);
  });

  it('serves smaller payloads once no other memory is left, and is as large as before when it comes back', () => {
    const all: number[] = [];
    for (let block = allocateBlock(region, OWNER, LARGE_BYTES); block !== 0; block = allocateBlock(region, OWNER, LARGE_BYTES))
      all.push(block);
    while (allocateBlock(region, OWNER, 10) !== 0);
    const [last] = all as [number];
    freeBlock(region, OTHER, last);
    expect(allocateBlock(region, OWNER, 10)).toBe(last);
    expect(allocateBlock(region, OWNER, 10)).toBe(0);
    freeBlock(region, OTHER, last);
    expect(allocateBlock(region, OWNER, LARGE_BYTES)).toBe(last);
  });

  it('serves the next thread of its slot', () => {
    const block = allocateBlock(region, OTHER, 100);
    freeBlock(region, OTHER, block);
    const next = attachRegion(region.buffer);
    expect(allocateBlock(next, OTHER, 100)).toBe(block);
  });
});

describe('bursts', () => {
  it('of payloads that are freed by others need no memory from the second on', () => {
    const burst = (): void => {
      const blocks = SIZES.flatMap((bytes) => range(5).map(() => allocateBlock(region, OWNER, bytes)));
      expect(blocks).not.toContain(0);
      for (const [k, block] of blocks.entries()) freeBlock(region, k % 3 === 0 ? OWNER : OTHER, block);
    };
    burst();
    const after = top();
    for (let k = 0; k < 5; k++) burst();
    expect(top()).toBe(after);
  });
});

describe('at the limit of memory', () => {
  it('a block is refused with 0, smaller ones are still served, and one that is freed serves again', () => {
    const first = allocateBlock(region, OWNER, 1_000_000);
    while (allocateBlock(region, OWNER, 1_000_000) !== 0);
    expect(allocateBlock(region, OWNER, 4 * (region.m[REGION_MAX] as number))).toBe(0);
    expect(allocateBlock(region, OWNER, 10)).not.toBe(0);
    freeBlock(region, OTHER, first);
    expect(allocateBlock(region, OWNER, 1_000_000)).toBe(first);
    expect(allocateBlock(region, OWNER, 1_000_000)).toBe(0);
  });

  it('large blocks leave half of it to others', () => {
    while (allocateBlock(region, OWNER, LARGE_BYTES * 4) !== 0);
    expect(top()).toBeGreaterThan((region.m[REGION_MAX] as number) / 2);
    expect(top()).toBeLessThan((region.m[REGION_MAX] as number) / 2 + LARGE_BYTES * 4);
    expect(allocateBlock(region, OWNER, LARGE_BYTES / 2)).not.toBe(0);
  });

  it('small blocks come from the rest of the chunk, until there is none', () => {
    allocateBlock(region, OWNER, 10);
    while (allocate(region, 16) !== NONE);
    let more = 0;
    while (allocateBlock(region, OWNER, 10) !== 0) more++;
    expect(more).toBe(65_536 / 16 - 1);
  });
});

it('past half of the region, payloads of up to LARGE_BYTES still find room, and larger ones do not', () => {
  const region = createRegion(2, 8 * 1024 * 1024);
  while (allocateBlock(region, 1 as Slot, LARGE_BYTES + 1) !== 0);
  expect(allocateBlock(region, 1 as Slot, LARGE_BYTES)).not.toBe(0);
  expect(allocateBlock(region, 1 as Slot, LARGE_BYTES + 1)).toBe(0);
});
