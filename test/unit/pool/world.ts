/** For the pool's tests: a region with jobs in lanes, workers that claim from them, and a death at any shared access. One thread. */
import type { Entry, RecordNumber, Slot } from '#base';
import {
  createRegion,
  HOST,
  LANE_BITS,
  LANE_RING,
  LIVE_BITS,
  metaFor,
  NO_RECORD,
  RECORD_META,
  recordAt,
  recordOf,
  type Region,
  SLOT_ANNOUNCED,
  SLOT_BATCH,
  SLOT_ENTRIES,
  SLOT_FRONT,
  SLOT_LANE,
  SLOT_RUN,
  setBit,
  slotAt,
  batchLeft,
} from '#memory';
import { claim, type Claimer, claimer, markFront, NO_ENTRY, takeNext } from '#pool';
import { complete, nextCompleted, openLane, publishRun, type Records, takeCompleted, toFree, toQueued, toSettled, toStarted } from '#ring';
import { realm } from '../../support/open-realm.ts';
import { sequence } from '../ring/battery.ts';

export const laneOf = (slot: Slot): number => slotAt(slot) + SLOT_LANE;
export const ringOf = ({ m }: Region, slot: Slot): number => m[laneOf(slot) + LANE_RING] as number;

export function worldOf(slots: number, bytes = 2 ** 22): Region {
  return createRegion(slots, bytes);
}

/** Opens the lane of a slot, as its submitter does. */
export function submitterIn(region: Region, slot: Slot, capacity = 64, start = 0): void {
  openLane(region, laneOf(slot), capacity, sequence(start));
  setBit(region.m, LANE_BITS, slot);
}

/** A worker that runs in `slot`, with claims of up to `size` from the start. */
export function workerIn(region: Region, slot: Slot, size = 1, maxBatchSize = 255): Claimer {
  setBit(region.m, LIVE_BITS, slot);
  const worker = claimer(region, slot, maxBatchSize, sequence(0));
  worker.size = size;
  return worker;
}

/** All that one claim gives: its first entry, then the rest of the batch. */
export function claimAll(worker: Claimer, most: number): Entry[] {
  const got: Entry[] = [];
  for (let entry = claim(worker, most); entry !== NO_ENTRY; entry = takeNext(worker.region.m, slotAt(worker.slot))) got.push(entry);
  return got;
}

export const announcedBy = ({ m }: Region, slot: Slot): number[] => {
  const at = slotAt(slot);
  return [...m.subarray(at + SLOT_ENTRIES, at + SLOT_ENTRIES + (m[at + SLOT_ANNOUNCED] as number))];
};
export const leftInBatch = ({ m }: Region, slot: Slot): number => batchLeft(m[slotAt(slot) + SLOT_BATCH] as number);

/** Jobs of the host with records of their own, queued and published in its lane. */
export function submit(region: Region, records: Records, count: number): Entry[] {
  const entries: Entry[] = [];
  for (let k = 0; k < count; k++) {
    const record = records.take();
    const at = recordAt(region, record);
    region.m[at + RECORD_META] = metaFor(HOST, 0, 0);
    entries.push(toQueued(region.m, at, record));
  }
  publishRun(region, laneOf(HOST), entries);
  return entries;
}

/** As `Runner` does it. `ran` is told once the job is started, as a handler would be called. */
export function runJob(region: Region, slot: Slot, entry: Entry, ran: (record: RecordNumber) => void, place = 0): void {
  const run = slotAt(slot) + SLOT_RUN + place;
  const at = recordAt(region, recordOf(entry));
  Atomics.store(region.m, run, entry);
  if (toStarted(region.m, at, entry)) {
    ran(recordOf(entry));
    if (toSettled(region.m, at)) complete(region, slotAt(HOST), recordOf(entry), at);
  }
  Atomics.store(region.m, run, 0);
}

/** As the submitter does it: the records that came back, the oldest first, free again. */
export function drainHost(region: Region): RecordNumber[] {
  const back: RecordNumber[] = [];
  for (let record = takeCompleted(region, slotAt(HOST)); record !== NO_RECORD; ) {
    const at = recordAt(region, record);
    const next = nextCompleted(region.m, at);
    toFree(region.m, at);
    back.push(record);
    record = next;
  }
  return back;
}

/** As the host does it with what a dead worker had claimed. */
export function publishAhead(region: Region, entries: readonly Entry[]): void {
  if (entries.length === 0) return;
  const front = slotAt(HOST) + SLOT_FRONT;
  if (region.m[front + LANE_RING] === 0) openLane(region, front, 4, sequence(0));
  publishRun(region, front, entries);
  markFront(region.m, HOST);
}

const OPERATIONS = ['load', 'store', 'compareExchange', 'exchange', 'and', 'or', 'add', 'notify'] as const;

/** Runs `run`, and `before` ahead of each of its atomic accesses, counted from 0; those of `before` do not count. */
function watchAccesses(run: () => void, before: (access: number) => void): void {
  const atomics = realm as unknown as Record<string, (...args: number[]) => number>;
  const real = Object.fromEntries(OPERATIONS.map((name) => [name, atomics[name] as (...args: number[]) => number]));
  let accesses = 0;
  let inBefore = false;
  for (const name of OPERATIONS) {
    atomics[name] = (...args) => {
      if (!inBefore) {
        inBefore = true;
        before(accesses++);
        inBefore = false;
      }
      return (real[name] as (...args: number[]) => number)(...args);
    };
  }
  try {
    run();
  } finally {
    Object.assign(atomics, real);
  }
}

/** Runs `life` up to its `steps`-th atomic access, which no longer happens. True: it died; false: it had ended before. */
export function diesAfter(steps: number, life: () => void): boolean {
  const death = new Error('the thread has ended');
  try {
    watchAccesses(life, (access) => {
      if (access >= steps) throw death;
    });
    return false;
  } catch (thrown) {
    if (thrown !== death) throw thrown;
    return true;
  }
}

/**
 * Runs `run`, and the whole of `meanwhile` after `steps` of its atomic accesses; from then on `look` before each access and at
 * the end. False: `run` had ended before.
 */
export function interruptedAfter(steps: number, meanwhile: () => void, look: () => void, run: () => void): boolean {
  let done = false;
  watchAccesses(run, (access) => {
    if (access === steps) meanwhile();
    if (access >= steps) look();
    done ||= access === steps;
  });
  look();
  return done;
}
