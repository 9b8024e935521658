/** The codec against structuredClone, on generated values. A failure prints its seed and the smallest value found. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Scratch } from '#payload';
import { cross, difference } from './crossing.ts';

const units = (most: number, maxLength: number) =>
  fc.array(fc.integer({ min: 0, max: most }), { maxLength }).map((codes) => String.fromCharCode(...codes));
/** Latin, two-byte with lone surrogates, and longer than any loop or short tag. */
const text = fc.oneof(
  units(127, 20),
  units(255, 20),
  units(0xffff, 20),
  fc.tuple(units(0xffff, 3), fc.nat(300)).map(([s, n]) => s.repeat(n)),
);
const key = fc.oneof(
  text,
  fc.nat(40).map(String),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'length', '', '4294967295', '01', '-0'),
);
const number = fc.oneof(
  fc.integer(),
  fc.integer({ min: -300, max: 300 }),
  fc.double(),
  fc.float(),
  fc.constantFrom(
    -0,
    0,
    127,
    128,
    2 ** 31 - 1,
    -(2 ** 31),
    2 ** 31,
    2 ** 32,
    2 ** 53,
    Number.MIN_VALUE,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ),
);
const bytes = fc.uint8Array({ maxLength: 300 }).chain((array) =>
  fc
    .constantFrom<() => Uint8Array>(
      () => array,
      () => Buffer.from(array), // a slice of Node's pool
      () => new Uint8Array([1, 2, ...array, 3]).subarray(2, 2 + array.length),
    )
    .map((make) => make()),
);
const leaf = fc.oneof(number, text, fc.boolean(), fc.constant(null), fc.constant(undefined), bytes);

function ownProperty(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

/** Containers of every kind, which then get leaves and each other as properties: shared references and cycles. */
const graph = fc
  .tuple(
    fc.array(fc.constantFrom('object', 'bare', 'array', 'sparse'), { minLength: 1, maxLength: 40 }),
    fc.array(
      fc.tuple(
        fc.nat(),
        key,
        fc.oneof(
          leaf,
          fc.nat().map((to) => ({ to })),
        ),
      ),
      { maxLength: 120 },
    ),
  )
  .map(([kinds, edges]) => {
    const nodes = kinds.map(
      (kind) => (kind === 'object' ? {} : kind === 'bare' ? Object.create(null) : kind === 'array' ? [] : new Array(5)) as object,
    );
    for (const [i, node] of nodes.entries()) if (i > 0) ownProperty(nodes[(i - 1) >> 1]!, `child${i}`, node); // all reachable
    for (const [from, name, what] of edges) {
      const node = nodes[from % nodes.length]!;
      const value = typeof what === 'object' && what !== null && 'to' in what ? nodes[what.to % nodes.length] : what;
      if (Array.isArray(node) && (name === 'length' || Number(name) > 100)) continue;
      if (Array.isArray(node) && from % 2 === 0) node.push(value);
      else ownProperty(node, name, value);
    }
    return nodes[0]!;
  });

describe('a value that crosses', () => {
  const scratch = new Scratch(); // one for all runs: nothing of a value may leak into the next

  it('is what structuredClone makes of it, scalar or bytes', () => {
    fc.assert(
      fc.property(leaf, (value) => {
        expect(difference(cross(value, scratch), structuredClone(value))).toBeUndefined();
      }),
      { numRuns: 2_000 },
    );
  });

  it('is what structuredClone makes of it, however objects and arrays refer to each other', () => {
    fc.assert(
      fc.property(graph, (value) => {
        expect(difference(cross(value, scratch), structuredClone(value))).toBeUndefined();
      }),
      { numRuns: 1_500 },
    );
  });

  it('is what structuredClone makes of it, for JSON-like trees', () => {
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof({ maxDepth: 6 }, leaf, fc.array(tie('tree')), fc.sparseArray(tie('tree')), fc.dictionary(key, tie('tree'))),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const copy = cross(value, scratch);
        const clone = structuredClone(value);
        expect(difference(copy, clone)).toBeUndefined();
        expect(isDeepStrictEqual(copy, clone)).toBe(true);
      }),
      { numRuns: 1_500 },
    );
  });

  it('is left as it was', () => {
    fc.assert(
      fc.property(graph, (value) => {
        const before = structuredClone(value);
        cross(value, scratch);
        expect(difference(structuredClone(value), before)).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });
});
