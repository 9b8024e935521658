/**
 * Repair after a thread has ended, however it ended. Run by the host alone, after the thread's `exit` event, when the dead can
 * write nowhere any more; and after it has drained its own completion stack.
 *
 * Nobody asks what the thread owned. It had announced what it meant to take and noted what it ran; the records say the rest:
 * still QUEUED, it never started and is published again; STARTED, it died with the thread; SETTLED, only the hand-over is missing.
 */
import { cas, load, peek, poke, store } from '#atomics';
import { type Entry, Math, type RecordNumber, type Slot } from '#base';
import {
  BATCH_MAX,
  clearBit,
  IDLE_BITS,
  newBatch,
  type Region,
  REGION_SEARCHER,
  RUN_MAX,
  recordAt,
  recordOf,
  SLOT_ANNOUNCED,
  SLOT_BATCH,
  SLOT_ENTRIES,
  SLOT_FRONT,
  SLOT_GUARD,
  SLOT_RUN,
  SLOT_STARTED,
  SLOT_STARTED_BEFORE,
  SLOT_STARTING,
  slotAt,
  slotCount,
} from '#memory';
import { ABANDONED, hasEntries, isIn, mendLane, SETTLED, STARTED, toRequeued } from '#ring';
import { OPEN } from './guard.ts';
import { renewPermits } from './idle.ts';
import { markFront } from './sources.ts';

export interface Remains {
  /** Jobs that ran on the thread and died with it. */
  readonly died: RecordNumber[];
  /** Jobs that ran on it and had been given up before. */
  readonly abandoned: RecordNumber[];
  /** Jobs that it had settled and not yet handed over. */
  readonly settled: RecordNumber[];
  /** Fresh entries of jobs that it had claimed and not started: to be published ahead of newer ones, in this order. */
  readonly requeued: Entry[];
}

export function recoverSlot(region: Region, slot: Slot): Remains {
  const { m } = region; // the slots' words lie in every view
  const at = slotAt(slot);
  clearBit(m, IDLE_BITS, slot);
  cas(m, REGION_SEARCHER, slot, 0);
  store(m, at + SLOT_GUARD, OPEN);
  const remains: Remains = { died: [], abandoned: [], settled: [], requeued: [] };
  for (let k = 0; k < RUN_MAX; k++) {
    const entry = peek(m, at + SLOT_RUN + k) as Entry; // plain: carried by edge exit-1
    poke(m, at + SLOT_RUN + k, 0);
    if (entry === 0) continue;
    const record = recordAt(region, recordOf(entry));
    if (isIn(region.m, record, entry, STARTED)) remains.died.push(recordOf(entry));
    else if (isIn(region.m, record, entry, ABANDONED)) remains.abandoned.push(recordOf(entry));
    else if (isIn(region.m, record, entry, SETTLED)) remains.settled.push(recordOf(entry));
    else {
      requeue(region, entry, remains);
      continue;
    }
    // It was started, and if it was the last one its count may be missing.
    if (entry === peek(m, at + SLOT_STARTING)) poke(m, at + SLOT_STARTED, peek(m, at + SLOT_STARTED_BEFORE) + 1);
  }
  const announced = Math.min(load(m, at + SLOT_ANNOUNCED), BATCH_MAX);
  for (let k = 0; k < announced; k++) requeue(region, peek(m, at + SLOT_ENTRIES + k) as Entry, remains);
  store(m, at + SLOT_ANNOUNCED, 0);
  store(m, at + SLOT_BATCH, newBatch(load(m, at + SLOT_BATCH), 0));
  mendLane(region, at + SLOT_FRONT);
  renewPermits(m);
  remarkFronts(region);
  return remains;
}

/** The dead one may have cleared the bit of a front lane and not looked again: what lies there would be forgotten. */
function remarkFronts(region: Region): void {
  for (let slot = 0; slot < slotCount(region.m); slot++) {
    if (hasEntries(region, slotAt(slot as Slot) + SLOT_FRONT)) markFront(region.m, slot as Slot);
  }
}

/** An announced entry may be void, or run elsewhere by now: then it is left alone. */
function requeue(region: Region, entry: Entry, remains: Remains): void {
  const record = recordOf(entry);
  const at = recordAt(region, record);
  const again = toRequeued(region.m, at, record, entry);
  if (again !== 0) remains.requeued.push(again);
}
