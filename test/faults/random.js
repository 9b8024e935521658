/** Random numbers that can be had again, for plain JavaScript. The same generator as test/support/seeded.ts. Pure; any thread. */

/** mulberry32: 32 bits of state are plenty to choose faults, delays and sizes. */
export function seeded(seed) {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  /** An integer from `low` to `high`, both included. */
  const int = (low, high) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    int,
    pick: (list) => list[int(0, list.length - 1)],
    shuffle: (list) => {
      const out = [...list];
      for (let i = out.length - 1; i > 0; i--) {
        const j = int(0, i);
        [out[i], out[j]] = [out[j], out[i]];
      }
      return out;
    },
  };
}
