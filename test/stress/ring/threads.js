/** Producers and consumers of the lane, the ledger and the stack tests: each takes its part, and reports once. Worker thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { attachRegion, LANE_LAST, RING_HEAD, RING_MASK, RING_TAIL, recordAt, SLOT_ENTRIES, SLOT_LANE, slotAt } from '#memory';
import { freeBlock } from '#payload';
import { anySource, claim, claimer, giveBack, NO_ENTRY, takeNext } from '#pool';
import { complete, EMPTY, LOST, offer, publish, publishRun, take } from '#ring';
import { meet, spinUntil, yieldProcessor } from './meet.js';
import { CREDITS, GATE, PER_PRODUCER, PRODUCED, PRODUCERS_DONE, producerOf, STOP, TAKEN } from './words.js';

const { role, buffer, control, ledger, threads } = workerData;
const region = attachRegion(buffer);

// ---- producers

function hasRoom(lane) {
  const ring = Atomics.load(region.m, lane + LANE_LAST);
  return ((region.m[ring + RING_TAIL] - Atomics.load(region.m, ring + RING_HEAD)) | 0) <= region.m[ring + RING_MASK];
}

/**
 * Publishes `count` values, or fewer when told to stop. `small`: never lets its first ring grow. `run`: so many at once.
 * `credits`: says of each value that it is there. Returns how many.
 */
function produce({ slot, count, small, run, credits, milliseconds }) {
  const lane = slotAt(slot) + SLOT_LANE;
  const end = performance.now() + milliseconds;
  meet(control, GATE, threads);
  let n = 0;
  while (n < count && Atomics.load(control, STOP) === 0 && (n % 256 !== 0 || performance.now() < end)) {
    if (small) spinUntil(() => hasRoom(lane), 'room in the ring');
    const first = slot * PER_PRODUCER + n + 1;
    const ok =
      run === 1
        ? publish(region, lane, first)
        : publishRun(
            region,
            lane,
            Array.from({ length: run }, (_, k) => first + k),
          );
    if (!ok) throw new Error('the region is at its limit');
    n += run;
    if (credits) Atomics.add(control, CREDITS, run);
  }
  Atomics.add(control, PRODUCED, n);
  Atomics.add(control, PRODUCERS_DONE, 1);
  return n;
}

// ---- consumers

/** A claim from lanes in turn, without the pool. Returns a list, empty when all lanes were. */
function throughLanes({ slot, lanes, most }) {
  const into = slotAt(slot) + SLOT_ENTRIES;
  const out = { ring: 0, head: 0 };
  let turn = 0;
  const from = (lane) => {
    for (;;) {
      const n = offer(region, lane, most, 1, into, out);
      if (n === EMPTY) return [];
      if (n !== LOST && take(region.m, out, n)) return [...region.m.subarray(into, into + n)];
    }
  };
  return () => {
    for (let k = 0; k < lanes.length; k++) {
      const got = from(slotAt(lanes[turn++ % lanes.length]) + SLOT_LANE);
      if (got.length > 0) return got;
    }
    return [];
  };
}

/** As a worker claims. With `givesBack` it claims batches from the start, and returns now and then what it has not started. */
function throughPool({ slot, most, givesBack }) {
  const worker = claimer(region, slot, most, 0);
  const at = slotAt(slot);
  let dice = slot;
  if (givesBack) worker.size = most;
  return () => {
    const got = [];
    for (let entry = claim(worker, most); entry !== NO_ENTRY; entry = takeNext(region.m, at)) {
      got.push(entry);
      dice = (Math.imul(dice, 1_664_525) + 1_013_904_223) | 0;
      if (givesBack && dice >>> 28 === 0 && !giveBack(worker)) throw new Error('the region is at its limit');
    }
    return got;
  };
}

/** Claims until the producers are done and nothing is left, and enters each value in the ledger. */
function consume(job) {
  const next = job.through === 'pool' ? throughPool(job) : throughLanes(job);
  const last = [];
  const report = { claimed: 0, outOfOrder: 0, lengths: [] };
  meet(control, GATE, threads);
  for (let misses = 0; ; ) {
    const over = Atomics.load(control, PRODUCERS_DONE) === job.producers; // before the claim, or the last values might be missed
    const got = next();
    if (got.length === 0) {
      if (over && !anySource(region)) return report; // the second look of a worker that parks: a front lane may be marked again
      if (++misses % 32 === 0) yieldProcessor();
      continue;
    }
    for (const value of got) {
      Atomics.add(ledger, value, 1);
      const producer = producerOf(value);
      if (value <= (last[producer] ?? 0)) report.outOfOrder++;
      last[producer] = value;
    }
    report.claimed += got.length;
    if (job.keepLengths) report.lengths.push(got.length);
    Atomics.add(control, TAKEN + job.slot, got.length);
  }
}

/** Takes a credit, and then must find a value: for each credit there is one that nobody else may take. */
function redeem({ slot, lanes, producers }) {
  const lane = slotAt(lanes[0]) + SLOT_LANE;
  const into = slotAt(slot) + SLOT_ENTRIES;
  const out = { ring: 0, head: 0 };
  const report = { claimed: 0, foundNothing: 0 };
  meet(control, GATE, threads);
  for (let misses = 0; ; ) {
    const over = Atomics.load(control, PRODUCERS_DONE) === producers;
    const credits = Atomics.load(control, CREDITS);
    if (credits === 0) {
      if (over) return report;
      if (++misses % 32 === 0) yieldProcessor();
      continue;
    }
    if (Atomics.compareExchange(control, CREDITS, credits, credits - 1) !== credits) continue;
    for (;;) {
      const n = offer(region, lane, 1, 1, into, out);
      if (n === EMPTY) {
        report.foundNothing++;
        break;
      }
      if (n !== LOST && take(region.m, out, n)) {
        Atomics.add(ledger, region.m[into], 1);
        report.claimed++;
        break;
      }
    }
  }
}

// ---- stampede: in each round all wait, then `each` values come at once

function drive({ slot, rounds, each }) {
  for (let round = 0; round < rounds; round++) {
    spinUntil(() => Atomics.load(control, GATE) >= (round + 1) * (threads - 1), 'all consumers to wait');
    publishRun(
      region,
      slotAt(slot) + SLOT_LANE,
      Array.from({ length: each }, (_, k) => round * each + k + 1),
    );
  }
  return { claimed: 0 };
}

function stampede(job) {
  const next = throughLanes(job);
  const report = { claimed: 0 };
  for (let round = 0; round < job.rounds; round++) {
    Atomics.add(control, GATE, 1);
    spinUntil(() => {
      const got = next();
      for (const value of got) Atomics.add(ledger, value, 1);
      report.claimed += got.length;
      return Atomics.add(control, TAKEN, got.length) + got.length >= (round + 1) * job.each;
    }, 'all values of a round');
  }
  return report;
}

// ---- completions and freed blocks

function push({ submitter, records }) {
  meet(control, GATE, threads);
  for (let record = records.first; record < records.first + records.count; record++) {
    complete(region, slotAt(submitter), record, recordAt(region, record));
  }
  return records.count;
}

function free({ slot, blocks }) {
  meet(control, GATE, threads);
  for (let k = 0; k < blocks.length; k++) {
    freeBlock(region, slot, blocks[k]);
    if (k % 64 === 63) yieldProcessor(); // or each would be through before the next has begun
  }
  Atomics.add(control, PRODUCERS_DONE, 1);
  return blocks.length;
}

parentPort.postMessage({ produce, consume, redeem, drive, stampede, push, free }[role](workerData));
