/**
 * The arena: its owner allocates and frees, others free to it. No block is handed out twice, and none is lost. The functions are
 * `payload/arena.ts`'s own.
 */
import { peek } from '#atomics';
import { ARENA_FREE, BLOCK_HEADER, BLOCK_NEXT, SLOT_ARENA, SLOT_REMOTE, slotAt } from '#memory';
import { allocateBlock, freeBlock } from '#payload';
import { litmus, mutant } from './explorer/litmus.js';
import { describe } from './parts/describe.js';
import { makeRegion, viewOf } from './parts/shared.js';

const OWNER = 1;
/** Fits the smallest block. */
const BYTES = 40;

/** `taken` blocks of slot 1 are in use, `free` on its list. */
const setup = (taken, free) => () => {
  const region = makeRegion(3);
  const blocks = [];
  for (let k = 0; k < taken + free; k++) blocks.push(allocateBlock(region, OWNER, BYTES));
  for (const block of blocks.slice(taken)) freeBlock(region, OWNER, block);
  return { region, blocks, taken, owner: viewOf(region), 2: viewOf(region), 3: viewOf(region) };
};

/** Blocks on both lists of the owner. */
function onLists({ region: { m } }) {
  const found = [];
  for (const list of [slotAt(OWNER) + SLOT_ARENA + ARENA_FREE, slotAt(OWNER) + SLOT_REMOTE]) {
    for (let block = peek(m, list); block !== 0 && found.length < 20; block = peek(m, block + BLOCK_NEXT))
      found.push((block + BLOCK_HEADER) * 4);
  }
  return found;
}

/** Every block once: held, or on a list. */
const account = (s, held) => {
  const all = [...held, ...onLists(s)];
  if (new Set(all).size !== all.length) return 'a block twice';
  const lost = s.blocks.filter((block) => !all.includes(block));
  if (lost.length > 0) return `${lost.length} lost`;
  return `${held.filter((block) => s.blocks.includes(block)).length} of ${held.length} used again`;
};

litmus('two free to the owner, which allocates', {
  setup: setup(3, 0),
  bound: 3,
  describe,
  threads: {
    owner: ({ owner }) => [allocateBlock(owner, OWNER, BYTES), allocateBlock(owner, OWNER, BYTES)],
    two: (s) => {
      freeBlock(s[2], 2, s.blocks[0]);
      freeBlock(s[2], 2, s.blocks[1]);
    },
    three: (s) => freeBlock(s[3], 3, s.blocks[2]),
  },
  outcome: (s, { owner }) => account(s, owner),
  outcomes: { '0 of 2 used again': 'nothing had come back', '1 of 2 used again': 'one had', '2 of 2 used again': 'two had' },
});

litmus('the owner frees and allocates while another frees', {
  setup: setup(2, 1),
  bound: 3,
  describe,
  threads: {
    owner: ({ owner, blocks }) => {
      const first = allocateBlock(owner, OWNER, BYTES);
      freeBlock(owner, OWNER, blocks[0]);
      freeBlock(owner, OWNER, first);
      return [allocateBlock(owner, OWNER, BYTES), allocateBlock(owner, OWNER, BYTES), allocateBlock(owner, OWNER, BYTES)];
    },
    two: (s) => freeBlock(s[2], 2, s.blocks[1]),
  },
  outcome: (s, { owner }) => account(s, owner),
  outcomes: { '2 of 3 used again': 'the third had not come back', '3 of 3 used again': 'all' },
});

litmus('a block goes round: freed by another, allocated, freed again', {
  setup: setup(2, 0),
  bound: 3,
  describe,
  threads: {
    owner: ({ owner }) => {
      // Takes what came back and hands it out at once, so that the same block is pushed again.
      const first = allocateBlock(owner, OWNER, BYTES);
      freeBlock(owner, 2, first); // as the slot of another thread would
      return [];
    },
    two: (s) => freeBlock(s[2], 2, s.blocks[0]),
    three: (s) => freeBlock(s[3], 3, s.blocks[1]),
  },
  outcome: (s, { owner }) => account(s, owner),
  outcomes: { '0 of 0 used again': 'all on its lists' },
});

const M = 'payload/arena.js';
mutant('freed to the owner without an exchange', {
  module: M,
  replace: ['const seen = cas(m, owner + SLOT_REMOTE, top, block);', 'poke(m, owner + SLOT_REMOTE, block); const seen = top;'],
});
mutant('a block taken without an exchange', {
  module: M,
  replace: [
    'const seen = cas(m, remote, block, peek(m, block + BLOCK_NEXT));',
    'const seen = block; poke(m, remote, peek(m, block + BLOCK_NEXT));',
  ],
});
mutant('linked after it is pushed', {
  module: M,
  replace: [
    /poke\(m, block \+ BLOCK_NEXT, top\);\n\s*(const seen = cas\(m, owner \+ SLOT_REMOTE, top, block\);.*)/,
    '$1\n poke(m, block + BLOCK_NEXT, top);',
  ],
});
mutant('the link not read anew after a push that failed', {
  module: M,
  replace: [/for \(;;\) \{\n\s*poke\(m, block \+ BLOCK_NEXT, top\);/, 'poke(m, block + BLOCK_NEXT, top); for (;;) {'],
});
mutant('freed by another as if by the owner', { module: M, replace: ['if (ownerOf(header) === self)', 'if (true)'] });
mutant('a block is put on the other list before it is off this one', {
  module: M,
  replace: [
    /const seen = cas\(m, remote, block, peek\(m, block \+ BLOCK_NEXT\)\);\n\s*if \(seen === block\) \{\n\s*(pushFree\(.*\);)/,
    'const below = peek(m, block + BLOCK_NEXT); $1 const seen = cas(m, remote, block, below); if (seen === block) {',
  ],
});
