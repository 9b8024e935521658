/**
 * Void entries: what cancelled jobs leave in a lane. Their records serve again at once, and nothing but a pop removes the
 * entries, so behind workers that are stuck they would pile up for ever. Run by the lane's producer, as one more consumer.
 */
import { load, peek } from '#atomics';
import { type Entry, Math, type Sequence } from '#base';
import { LANE_RING, NONE, type Region, RING_ENTRIES, RING_HEAD, RING_MASK, RING_NEXT, RING_TAIL, reach, recordAt, recordOf } from '#memory';
import { EMPTY, type Offer, offer, publishRun, take } from './lane.ts';
import { isIn, QUEUED } from './record.ts';

/** Entries taken at once. */
const TAKE = 255;
/**
 * So many void entries, in rotations of the free records, and at least as many as live ones were left, between two sweeps. More: a
 * record comes round closer to the 256 times after which a void entry would name its new job; fewer: more sweeps.
 */
const SWEEP_ROTATIONS = 4;

/** Sweeps one lane as often as it pays: each void entry costs a few looks. @thread producer of the lane */
export class Sweeper {
  readonly #region: Region;
  readonly #lane: number;
  readonly #into: number;
  readonly #least: number;
  readonly #offered: Offer = { ring: 0, head: 0 as Sequence };
  /** Entries that have become void since the last sweep, and how many call for the next. */
  #left = 0;
  #sweepAt: number;

  /** `into`: TAKE words of the producer's own. `rotation`: of its free records. */
  constructor(region: Region, lane: number, into: number, rotation: number) {
    this.#region = region;
    this.#lane = lane;
    this.#into = into;
    this.#least = SWEEP_ROTATIONS * rotation;
    this.#sweepAt = this.#least;
  }

  /** So many jobs were cancelled. Whoever did that looks afterwards whether enough workers are awake: some may have found the lane empty. */
  leftVoid(entries: number): void {
    this.#left += entries;
    if (this.#left < this.#sweepAt) return;
    const live = sweepLane(this.#region, this.#lane, this.#into, this.#offered);
    this.#left = 0;
    this.#sweepAt = Math.max(this.#least, live);
  }
}

/**
 * @thread producer of the lane. If at least half of its entries are void, drops them; the others keep their order. `into`: TAKE
 * words of the producer's own. Returns how many live entries the lane holds, or a few more.
 *
 * It takes all there is and publishes the live ones again behind nothing. They fit into the last ring, which has room for half
 * of the whole chain, so no memory is needed: one that ran out could not lose them. Workers may find the lane empty meanwhile:
 * whoever calls this looks afterwards whether enough of them are awake.
 */
export function sweepLane(region: Region, lane: number, into: number, offered: Offer): number {
  const { live, dead } = census(region, lane);
  if (dead < live || dead === 0) return live;
  const kept: Entry[] = [];
  for (;;) {
    const n = offer(region, lane, TAKE, 1, into, offered);
    if (n === EMPTY) break;
    if (n < 0 || !take(region.m, offered, n)) continue;
    for (let k = 0; k < n; k++) {
      const entry = peek(region.m, into + k) as Entry;
      if (isLive(region, entry)) kept.push(entry);
    }
  }
  if (kept.length > 0) publishRun(region, lane, kept);
  return kept.length;
}

/** A moment's truth: workers claim meanwhile, so there are never more live ones than this. */
function census(region: Region, lane: number): { live: number; dead: number } {
  let [live, dead] = [0, 0];
  for (let ring = load(region.m, lane + LANE_RING); ring !== NONE; ring = load(region.m, ring + RING_NEXT)) {
    const mask = peek(reach(region, ring + RING_ENTRIES), ring + RING_MASK);
    const tail = load(reach(region, ring + RING_ENTRIES + mask + 1), ring + RING_TAIL);
    for (let at = load(region.m, ring + RING_HEAD); at !== tail; at = (at + 1) | 0) {
      if (isLive(region, peek(region.m, ring + RING_ENTRIES + (at & mask)) as Entry)) live++;
      else dead++;
    }
  }
  return { live, dead };
}

function isLive(region: Region, entry: Entry): boolean {
  const at = recordAt(region, recordOf(entry));
  return isIn(region.m, at, entry, QUEUED);
}
