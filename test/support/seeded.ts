/** Random numbers that can be had again: the seed is printed, and RAILHEAD_SEED sets it. Pure apart from that; any thread. */

export interface Random {
  readonly seed: number;
  /** From 0 up to, not including, 1. */
  next(): number;
  /** An integer from `low` to `high`, both included. */
  int(low: number, high: number): number;
  pick<T>(list: readonly T[]): T;
  /** A new list with the same members in another order. */
  shuffle<T>(list: readonly T[]): T[];
}

/** mulberry32: 32 bits of state are plenty to choose delays and sizes. */
export function seeded(seed: number = Number(process.env.RAILHEAD_SEED ?? Date.now() % 1_000_000_000)): Random {
  console.log(`seed ${seed} (again with RAILHEAD_SEED=${seed})`);
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    seed,
    next,
    int,
    pick: <T>(list: readonly T[]): T => list[int(0, list.length - 1)] as T,
    shuffle: <T>(list: readonly T[]): T[] => {
      const out = [...list];
      for (let i = out.length - 1; i > 0; i--) {
        const j = int(0, i);
        [out[i], out[j]] = [out[j] as T, out[i] as T];
      }
      return out;
    },
  };
}
