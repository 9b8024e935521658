/**
 * Probabilistic concurrency testing (Burckhardt and others, 2010): threads get random priorities, the highest runs, and at
 * `depth - 1` random steps the running thread falls behind all others. A fault that needs `depth` ordering constraints is found by
 * one seed with probability at least 1 / (n * k^(depth - 1)), for n threads and k steps. Long schedules, which no search exhausts.
 */
import { kindOf, RUN, threadOf } from './choice.js';

/** A small generator of random numbers in [0, 1) (mulberry32): the same seed, the same schedule. */
export function randomOf(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * @param {import('./machine.js').Machine} machine
 * @param {{ seeds: number, depth: number, firstSeed?: number, deadline: number, judge: () => boolean, look?: () => void }} options
 * @returns {import('./dfs.js').Search & { seed: number }}
 */
export function byPriorities(machine, { seeds, depth, firstSeed = 1, deadline, judge, look }) {
  const search = { schedules: 0, cut: 0, exhausted: false, failed: null, seed: firstSeed };
  let longest = 1; // k: as long as the longest schedule so far
  for (; search.schedules < seeds; search.seed++) {
    const random = randomOf(search.seed);
    const path = [];
    const priorities = machine.names.map(() => depth + random());
    const changes = Array.from({ length: depth - 1 }, (_, d) => ({ at: Math.floor(random() * longest), to: d + random() / 2 }));
    machine.begin();
    for (let count = machine.offer(); count > 0; count = machine.offer()) {
      const c = pick(machine, count, priorities, random, 1 / longest);
      for (const change of changes) if (change.at === path.length) priorities[threadOf(c)] = change.to;
      path.push(c);
      machine.take(c);
      look?.();
    }
    longest = Math.max(longest, path.length);
    search.schedules++;
    if (!judge()) {
      search.failed = path;
      return search;
    }
    if (search.schedules % 64 === 0 && performance.now() > deadline) return search;
  }
  return search;
}

/** The runnable thread of highest priority; now and then a fault instead, about one in a schedule. */
function pick(machine, count, priorities, random, faultRate) {
  const offered = Array.from(machine.choices.subarray(0, count));
  const runs = offered.filter((c) => kindOf(c) === RUN);
  const faults = offered.filter((c) => kindOf(c) !== RUN);
  if (runs.length === 0 || (faults.length > 0 && random() < faultRate)) return faults[Math.floor(random() * faults.length)];
  return runs.reduce((best, c) => (priorities[threadOf(c)] > priorities[threadOf(best)] ? c : best));
}
