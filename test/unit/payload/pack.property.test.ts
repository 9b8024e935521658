/** Any value against structuredClone: the copy equals its clone, and it is refused exactly when that throws. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Scratch } from '#payload';
import { cross, difference } from './crossing.ts';

class Point {
  x = 1;
  readonly #hidden = 2;
  get sum(): number {
    return this.x + this.#hidden;
  }
}
class Failure extends TypeError {
  code = 'E_MINE';
}
class Index extends Map {}
class List extends Array {}

/** One value of each kind that has no parts of its own. Made anew each time. */
const LEAVES: readonly ((n: number) => unknown)[] = [
  (n) => n,
  (n) => -n,
  () => -0,
  (n) => `text ${n}`,
  () => undefined,
  () => null,
  (n) => BigInt(n) ** 9n,
  (n) => -BigInt(n),
  (n) => new Date(n),
  () => new Date(Number.NaN),
  (n) => Object.assign(new RegExp(`a{${n % 50}}`, 'giu'), { lastIndex: 3 }),
  () => Object('boxed'),
  (n) => Object(n),
  () => Object(false),
  (n) => Object(BigInt(n)),
  (n) => new Uint8Array(n % 40).fill(7),
  (n) => Buffer.from(`pooled ${n}`),
  (n) => new Float64Array([n, Number.NaN, -0]),
  (n) => new BigInt64Array([BigInt(n)]),
  () => new Uint8ClampedArray([1, 2, 3]).subarray(1),
  (n) => new DataView(new ArrayBuffer(n % 30)),
  (n) => new ArrayBuffer(n % 30),
  (n) => new ArrayBuffer(n % 30, { maxByteLength: 64 }),
  () => new Point(),
  () => new Failure('failed'),
  () => new RangeError('out', { cause: new Error('inner') }),
  () => new AggregateError([1, new Error('one')], 'many'),
  () => Object.assign(new Error('renamed'), { name: 'Custom', extra: 1 }),
  () => Object.create({ inherited: 1 }),
  () => new URLSearchParams('a=1'),
];
/** What structuredClone refuses. */
const REFUSED: readonly (() => unknown)[] = [
  () => () => 1,
  () => Symbol('s'),
  () => Promise.resolve(),
  () => new WeakMap(),
  () => new Proxy({}, {}),
  () => Object(Symbol('s')),
  () => [][Symbol.iterator](),
  () => new MessageChannel().port1,
];
const KINDS: readonly (() => object)[] = [
  () => ({}),
  () => Object.create(null),
  () => [],
  () => new Array(3),
  () => new Map(),
  () => new Set(),
  () => new Index(),
  () => new List(),
  () => new Point(),
  () => new Error('holder'),
];

function put(into: object, key: string, value: unknown): void {
  if (into instanceof Map) into.set(key, value);
  else if (into instanceof Set) into.add(value);
  else if (into instanceof Error) Object.defineProperty(into, 'cause', { value, configurable: true, writable: true });
  else if (Array.isArray(into)) into.push(value);
  else Object.defineProperty(into, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Containers of every kind, reachable from the first, with leaves and each other in them: shared parts and cycles. */
const graph = fc
  .tuple(
    fc.array(fc.nat(KINDS.length - 1), { minLength: 1, maxLength: 24 }),
    fc.array(fc.tuple(fc.nat(), fc.string({ maxLength: 4 }), fc.nat(), fc.nat(400), fc.boolean()), { maxLength: 40 }),
    fc.option(fc.tuple(fc.nat(), fc.nat(REFUSED.length - 1)), { freq: 4 }),
  )
  .map(([kinds, edges, refused]) => {
    const nodes = kinds.map((kind) => (KINDS[kind] as () => object)());
    for (const [i, node] of nodes.entries()) if (i > 0) put(nodes[(i - 1) >> 1]!, `child${i}`, node);
    const leaves: unknown[] = [];
    for (const [from, key, to, n, again] of edges) {
      const leaf = again && leaves.length > 0 ? leaves[n % leaves.length] : LEAVES[to % LEAVES.length]!(n);
      leaves.push(leaf);
      put(nodes[from % nodes.length]!, key, n % 3 === 0 ? nodes[to % nodes.length] : leaf);
    }
    if (refused != null) put(nodes[refused[0] % nodes.length]!, 'refused', REFUSED[refused[1]]!());
    return nodes[0]!;
  });

/** Whether it throws, and else what it gives. */
function attempt(make: () => unknown): { readonly threw: boolean; readonly value?: unknown } {
  try {
    return { threw: false, value: make() };
  } catch {
    return { threw: true };
  }
}

describe('a value of any kind', () => {
  const scratch = new Scratch(); // one for all runs: nothing of a value may leak into the next
  const agrees = (value: unknown): void => {
    const ours = attempt(() => cross(value, scratch));
    const engine = attempt(() => structuredClone(value));
    expect(ours.threw).toBe(engine.threw);
    expect(difference(ours.value, engine.value)).toBeUndefined();
  };

  it('alone is what structuredClone makes of it', () => {
    for (const leaf of LEAVES) for (const n of [0, 1, 17, 400]) agrees(leaf(n));
    for (const kind of KINDS) agrees(kind());
    for (const refused of REFUSED) agrees(refused());
  });

  it('inside plain ones is what structuredClone makes of it', () => {
    for (const leaf of LEAVES)
      for (const wrap of [(v: unknown) => [v], (v: unknown) => ({ v, w: [v] }), (v: unknown) => new Map([[v, v]])]) agrees(wrap(leaf(5)));
    for (const refused of REFUSED) for (const wrap of [(v: unknown) => [v], (v: unknown) => ({ a: new Set([v]) })]) agrees(wrap(refused()));
  });

  it('is what structuredClone makes of it, however kinds refer to each other, and refused when that throws', () => {
    fc.assert(fc.property(graph, agrees), { numRuns: 1_500 });
  });
});
