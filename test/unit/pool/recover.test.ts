/** Repair after a death: each state in which a worker can die by itself, then death at every single shared access. */
import { describe, expect, it } from 'vitest';
import type { Entry, RecordNumber } from '#base';
import {
  FRONT_BITS,
  HOST,
  hasBit,
  IDLE_BITS,
  LANE_LAST,
  LANE_RING,
  NONE,
  REGION_SEARCHER,
  type Region,
  RING_HEAD,
  recordAt,
  recordOf,
  SLOT_ANNOUNCED,
  SLOT_FRONT,
  SLOT_GUARD,
  SLOT_PERMIT,
  SLOT_RUN,
  SLOT_STARTED,
  SLOT_STARTED_BEFORE,
  SLOT_STARTING,
  slotAt,
} from '#memory';
import {
  type Claimer,
  claim,
  claimer,
  DOOMED,
  giveBack,
  LIBRARY,
  markFront,
  NO_ENTRY,
  OPEN,
  publishIdle,
  type Remains,
  recoverSlot,
  startSearch,
  takeNext,
  unparkHottest,
} from '#pool';
import { CANCELLED, complete, LEFT_RUNNING, openLane, publish, Records, toEnded, toFree, toQueued, toSettled, toStarted } from '#ring';
import { within } from '../../support/index.ts';
import { entry, range, sequence, slot } from '../ring/battery.ts';
import { interrupted } from '../ring/interrupt.ts';
import {
  announcedBy,
  claimAll,
  diesAfter,
  drainHost,
  leftInBatch,
  publishAhead,
  ringOf,
  runJob,
  submit,
  submitterIn,
  workerIn,
  worldOf,
} from './world.ts';

const DEAD = slot(1);
const at = slotAt(DEAD);
const NOTHING: Remains = { died: [], abandoned: [], settled: [], requeued: [] };
const frontOf = (k: number): number => slotAt(slot(k)) + SLOT_FRONT;

interface World {
  readonly region: Region;
  /** The worker that is going to die, and one that lives. */
  readonly dead: Claimer;
  readonly other: Claimer;
  readonly jobs: Entry[];
  readonly records: RecordNumber[];
}
function worldWith(jobs: number, size: number): World {
  const region = worldOf(4);
  submitterIn(region, HOST);
  const dead = workerIn(region, DEAD, size);
  const entries = submit(region, new Records(region), jobs);
  const other = claimer(region, slot(2), 255, sequence(0)); // not among those who run: the share of one is all
  return { region, dead, other, jobs: entries, records: entries.map(recordOf) };
}
const noteRun = (region: Region, entry: Entry, place = 0): void => {
  region.m[at + SLOT_RUN + place] = entry;
};
const end = (region: Region, record: RecordNumber): number => toEnded(region.m, recordAt(region, record));
const start = (region: Region, entry: Entry): boolean => toStarted(region.m, recordAt(region, recordOf(entry)), entry);
/** What the survivors run, in order, once the host has published what was left: each record once, or the test fails. */
function afterwards({ region, other }: World, remains: Remains): RecordNumber[] {
  publishAhead(region, remains.requeued);
  const ran: RecordNumber[] = [];
  other.size = 1;
  for (let entry = claim(other, 1); entry !== NO_ENTRY; entry = claim(other, 1))
    runJob(region, other.slot, entry, (record) => ran.push(record));
  expect(new Set(ran).size).toBe(ran.length);
  return ran;
}

describe('of a worker that died', () => {
  it('before it did anything nothing is left to repair', () => {
    const world = worldWith(2, 1);
    expect(recoverSlot(world.region, DEAD)).toEqual(NOTHING);
    expect(afterwards(world, NOTHING)).toEqual(world.records);
  });

  it('with jobs announced and not taken, these jobs run once, though their old entries still lie in the lane', () => {
    const world = worldWith(5, 2);
    const { region, dead, records } = world;
    const death = (): void => {
      throw new Error('died');
    };
    expect(() => interrupted('before', 'compareExchange', ringOf(region, HOST) + RING_HEAD, death, () => claim(dead, 64))).toThrow('died');
    expect(announcedBy(region, DEAD)).toEqual(world.jobs.slice(0, 2));
    const remains = recoverSlot(region, DEAD);
    expect([remains.requeued.map(recordOf), remains.died, remains.settled]).toEqual([records.slice(0, 2), [], []]);
    expect(afterwards(world, remains)).toEqual(records);
  });

  it('with jobs announced and not taken that another took, these are left to the other', () => {
    const world = worldWith(3, 2);
    const { region, dead, other, records } = world;
    const taken: Entry[] = [];
    const death = (): void => {
      taken.push(claim(other, 1));
      throw new Error('died');
    };
    expect(() => interrupted('before', 'compareExchange', ringOf(region, HOST) + RING_HEAD, death, () => claim(dead, 64))).toThrow('died');
    expect(start(region, taken[0] as Entry)).toBe(true);
    const remains = recoverSlot(region, DEAD);
    expect(remains.requeued.map(recordOf)).toEqual([records[1]]);
    expect(afterwards(world, remains)).toEqual([records[1], records[2]]);
  });

  it('with one job taken and not started, it runs ahead of newer ones', () => {
    const world = worldWith(3, 1);
    claim(world.dead, 1);
    const remains = recoverSlot(world.region, DEAD);
    expect(remains.requeued.map(recordOf)).toEqual([world.records[0]]);
    expect(afterwards(world, remains)).toEqual(world.records);
  });

  it('with a batch taken and not started, all of it runs, in order, ahead of newer ones', () => {
    const world = worldWith(8, 5);
    claim(world.dead, 5);
    takeNext(world.region.m, at);
    const remains = recoverSlot(world.region, DEAD);
    expect(remains.requeued.map(recordOf)).toEqual(world.records.slice(0, 5));
    expect(afterwards(world, remains)).toEqual(world.records);
  });

  it('with a job noted as running and not started, it runs once although it is announced too', () => {
    const world = worldWith(2, 1);
    noteRun(world.region, claim(world.dead, 1));
    const remains = recoverSlot(world.region, DEAD);
    expect(remains.requeued.map(recordOf)).toEqual([world.records[0]]);
    expect(afterwards(world, remains)).toEqual(world.records);
  });

  it('with jobs started, these died with it and do not run again', () => {
    const world = worldWith(4, 3);
    const { region, dead, records } = world;
    const batch = claimAll(dead, 3);
    for (const [k, entry] of batch.entries()) {
      noteRun(region, entry, [0, 63, 5][k]); // the first and the last place too
      if (k < 2) start(region, entry);
    }
    const remains = recoverSlot(region, DEAD);
    expect([remains.died, remains.settled, remains.requeued.map(recordOf)]).toEqual([records.slice(0, 2), [], [records[2]]]);
    expect([remains.abandoned, afterwards(world, remains)]).toEqual([[], [records[2], records[3]]]);
  });

  it('with a job that had been given up, this one is told from those that died with it, and runs no more either', () => {
    const world = worldWith(4, 3);
    const { region, dead, records } = world;
    for (const [k, entry] of claimAll(dead, 3).entries()) {
      noteRun(region, entry, k);
      start(region, entry);
    }
    expect(end(region, records[1] as RecordNumber)).toBe(LEFT_RUNNING);
    const remains = recoverSlot(region, DEAD);
    expect(remains).toEqual({ died: [records[0], records[2]], abandoned: [records[1]], settled: [], requeued: [] });
    expect(afterwards(world, remains)).toEqual([records[3]]);
    toFree(region.m, recordAt(region, records[1] as RecordNumber)); // still the submitter's to free
  });

  it('with a job that had been given up and then settled late, only the hand-over is missing', () => {
    const world = worldWith(1, 1);
    const { region, dead, records } = world;
    const entry = claim(dead, 1);
    noteRun(region, entry);
    start(region, entry);
    end(region, recordOf(entry));
    toSettled(region.m, recordAt(region, recordOf(entry)));
    expect(recoverSlot(region, DEAD)).toEqual({ ...NOTHING, settled: records });
  });

  it('with jobs cancelled in its hands, before or after it had noted them, these stay cancelled, and their records may be used again', () => {
    const world = worldWith(5, 4);
    const { region, dead, records } = world;
    const batch = claimAll(dead, 4);
    noteRun(region, batch[0] as Entry);
    for (const k of [0, 2, 3]) expect(end(region, records[k] as RecordNumber)).toBe(CANCELLED);
    const again = toQueued(region.m, recordAt(region, records[3] as RecordNumber), records[3] as RecordNumber); // published by nobody yet
    const remains = recoverSlot(region, DEAD);
    expect({ ...remains, requeued: remains.requeued.map(recordOf) }).toEqual({ ...NOTHING, requeued: [records[1]] });
    expect(start(region, again)).toBe(true);
    expect(afterwards(world, remains)).toEqual([records[1], records[4]]);
  });

  it('with a job settled and not handed over, only the hand-over is missing', () => {
    const world = worldWith(2, 1);
    const { region, dead, records } = world;
    const entry = claim(dead, 1);
    noteRun(region, entry);
    start(region, entry);
    toSettled(region.m, recordAt(region, recordOf(entry)));
    const remains = recoverSlot(region, DEAD);
    expect(remains).toEqual({ ...NOTHING, settled: [records[0]] });
    expect(afterwards(world, remains)).toEqual([records[1]]);
  });

  it('with a job handed over and still noted as running, nothing is left once the host has drained its stack', () => {
    const world = worldWith(2, 1);
    const { region, dead, records } = world;
    const entry = claim(dead, 1);
    noteRun(region, entry);
    start(region, entry);
    const record = recordAt(region, recordOf(entry));
    toSettled(region.m, record);
    complete(region, slotAt(HOST), recordOf(entry), record);
    expect(drainHost(region)).toEqual([records[0]]);
    expect(recoverSlot(region, DEAD)).toEqual(NOTHING);
    expect(afterwards(world, NOTHING)).toEqual([records[1]]);
  });

  it('with jobs given back, these run once, though they are announced and published', () => {
    const world = worldWith(4, 3);
    const { region, dead, records } = world;
    claim(dead, 3);
    giveBack(dead);
    const remains = recoverSlot(region, DEAD);
    expect(remains.requeued.map(recordOf)).toEqual(records.slice(0, 3)); // the one in hand too
    expect(afterwards(world, remains)).toEqual(records);
  });

  it('with jobs given back that others have started, these are left to the others', () => {
    const world = worldWith(5, 4);
    const { region, dead, other, records } = world;
    claim(dead, 4);
    giveBack(dead);
    const [first, second] = [claim(other, 1), claim(other, 1)];
    start(region, first);
    runJob(region, other.slot, second, () => {});
    expect(drainHost(region)).toEqual([records[2]]);
    const remains = recoverSlot(region, DEAD);
    expect([remains.requeued.map(recordOf), remains.died]).toEqual([[records[0], records[3]], []]);
    expect(afterwards(world, remains)).toEqual([records[0], records[3], records[4]]);
  });

  it('parked, searching, in the library or doomed, the next thread of its slot begins anew', () => {
    for (const guard of [LIBRARY, DOOMED]) {
      const { region, dead } = worldWith(3, 3);
      noteRun(region, claim(dead, 3), 63);
      publishIdle(region.m, DEAD);
      startSearch(region.m, DEAD);
      region.m[at + SLOT_GUARD] = guard;
      recoverSlot(region, DEAD);
      const { m } = region;
      expect([hasBit(m, IDLE_BITS, DEAD), m[REGION_SEARCHER], m[at + SLOT_GUARD], m[at + SLOT_ANNOUNCED]]).toEqual([false, 0, OPEN, 0]);
      expect([leftInBatch(region, DEAD), takeNext(m, at)]).toEqual([0, NO_ENTRY]);
      expect(m.subarray(at + SLOT_RUN, at + SLOT_RUN + 64).some((word) => word !== 0)).toBe(false);
      expect(recoverSlot(region, DEAD)).toEqual(NOTHING);
    }
  });

  it('the search of another goes on', () => {
    const { region } = worldWith(1, 1);
    startSearch(region.m, slot(2));
    recoverSlot(region, DEAD);
    expect(region.m[REGION_SEARCHER]).toBe(2);
  });
});

describe('what other threads relied on a dead worker for', () => {
  const death = (): void => {
    throw new Error('died');
  };

  it('a front lane that it unmarked just when something was published there is marked again', () => {
    const world = worldWith(3, 1);
    const { region, dead, other, records } = world;
    other.size = 2;
    expect(claim(other, 2)).toBe(world.jobs[0]);
    openLane(region, frontOf(2), 4, sequence(0));
    markFront(region.m, slot(2)); // its front lane is empty, and still marked
    const publish = (): boolean => giveBack(other);
    const unmark = (): Entry => interrupted('after', 'and', FRONT_BITS, death, () => claim(dead, 1));
    expect(() => interrupted('before', 'and', FRONT_BITS, publish, unmark)).toThrow('died');
    expect(hasBit(region.m, FRONT_BITS, slot(2))).toBe(false);
    const remains = recoverSlot(region, DEAD);
    expect(hasBit(region.m, FRONT_BITS, slot(2))).toBe(true);
    expect(afterwards(world, remains)).toEqual(records.slice(1));
  });

  it('front lanes are marked if they hold entries, and no others', () => {
    const { region } = worldWith(0, 1);
    for (const k of [0, 1, 2]) openLane(region, frontOf(k), 4, sequence(0));
    for (const k of [0, 1]) publish(region, frontOf(k), 77 as Entry);
    recoverSlot(region, DEAD);
    expect([0, 1, 2, 3].map((k) => hasBit(region.m, FRONT_BITS, slot(k)))).toEqual([true, true, false, false]);
  });

  it('a parked worker that it had chosen to wake is parked as before, or has its permit', () => {
    const { region } = worldWith(0, 1);
    workerIn(region, slot(2));
    publishIdle(region.m, slot(2));
    expect(() => interrupted('after', 'and', IDLE_BITS, death, () => unparkHottest(region.m))).toThrow('died');
    recoverSlot(region, DEAD);
    const permit = region.m[slotAt(slot(2)) + SLOT_PERMIT];
    expect([hasBit(region.m, IDLE_BITS, slot(2)), permit]).not.toEqual([false, 0]);
  });

  it('every live worker that is not parked gets a permit, since it may be one of those; the parked ones stay parked, without one', () => {
    const { region } = worldWith(0, 1);
    const { m } = region;
    workerIn(region, slot(2)); // chosen by the dead, and waits; or runs, and then its next wait ends early
    workerIn(region, slot(3));
    publishIdle(m, slot(3));
    const permits = (): unknown[] => [0, 2, 3].map((k) => m[slotAt(slot(k)) + SLOT_PERMIT]);
    expect(permits()).toEqual([0, 0, 0]);
    const wait = Atomics.waitAsync(m, slotAt(slot(2)) + SLOT_PERMIT, 0);
    recoverSlot(region, DEAD);
    expect([permits(), hasBit(m, IDLE_BITS, slot(3))]).toEqual([[0, 1, 0], true]);
    return expect(within(wait.value as Promise<string>, 'the permit')).resolves.toBe('ok');
  });
});

describe('the front lane of a worker that died', () => {
  const death = (): void => {
    throw new Error('died');
  };
  const ends = ({ m }: Region): unknown[] => [m[frontOf(1) + LANE_RING], m[frontOf(1) + LANE_LAST]];

  it('while it was opened is as if it never had been', () => {
    const world = worldWith(3, 3);
    const { region, dead, records } = world;
    claim(dead, 3);
    expect(() => interrupted('after', 'store', frontOf(1) + LANE_LAST, death, () => giveBack(dead))).toThrow('died');
    const remains = recoverSlot(region, DEAD);
    expect(ends(region)).toEqual([NONE, NONE]);
    publishAhead(region, remains.requeued);
    const next = workerIn(region, DEAD, 3);
    const inHand = claim(next, 3);
    expect([recordOf(inHand), giveBack(next)]).toEqual([records[0], true]);
    expect(afterwards(world, NOTHING)).toEqual(records.slice(1));
  });

  it('while it grew ends with the last ring that was linked, so that what its next thread publishes there is found', () => {
    const world = worldWith(90, 2);
    const { region, dead, records } = world;
    claim(dead, 2);
    giveBack(dead);
    expect(claim(dead, 1)).toBe(world.jobs[1]); // the front lane is open and empty
    dead.size = 80;
    claim(dead, 80);
    expect(() => interrupted('after', 'store', frontOf(1) + LANE_LAST, death, () => giveBack(dead))).toThrow('died');
    const [first, last] = ends(region);
    expect(last).not.toBe(first);
    const remains = recoverSlot(region, DEAD);
    expect(ends(region)).toEqual([first, first]);
    publishAhead(region, remains.requeued);
    const next = workerIn(region, DEAD, 80);
    const inHand = claim(next, 80);
    expect([leftInBatch(region, DEAD) > 64, giveBack(next)]).toEqual([true, true]); // so it grows again
    expect([recordOf(inHand), ...afterwards(world, NOTHING)]).toEqual(records.slice(2));
  });

  it('that had grown keeps its last ring, though consumers still take from an older one', () => {
    const { region } = worldWith(0, 1);
    openLane(region, frontOf(1), 2, sequence(0));
    for (const k of range(1, 20)) publish(region, frontOf(1), entry(k));
    const before = ends(region);
    expect(before[0]).not.toBe(before[1]);
    recoverSlot(region, DEAD);
    expect(ends(region)).toEqual(before);
  });

  it('that was never opened stays so', () => {
    const { region } = worldWith(0, 1);
    recoverSlot(region, DEAD);
    expect(ends(region)).toEqual([NONE, NONE]);
  });
});

describe('17.3 the count of started jobs', () => {
  /** As `Runner.run` leaves the words when it dies after `steps` of its steps: entry, count before, start, count. */
  function startOf({ region }: World, entry: Entry, before: number, steps: number, place = 0): void {
    noteRun(region, entry, place);
    if (steps > 0) region.m[at + SLOT_STARTING] = entry;
    if (steps > 1) region.m[at + SLOT_STARTED_BEFORE] = before;
    if (steps > 2) start(region, entry);
    if (steps > 3) region.m[at + SLOT_STARTED] = before + 1;
  }

  it.each([
    [0, 0],
    [1, 0],
    [2, 0],
    [3, 1],
    [4, 1],
  ])('is right after a death at step %i of a start', (steps, started) => {
    const world = worldWith(1, 1);
    startOf(world, claim(world.dead, 1), 0, steps);
    recoverSlot(world.region, DEAD);
    expect(world.region.m[at + SLOT_STARTED]).toBe(started);
  });

  it.each([0, 1, 2, 3, 4])('counts no older task that still runs a second time, at step %i of the next start', (steps) => {
    const world = worldWith(2, 1);
    startOf(world, claim(world.dead, 1), 0, 4);
    startOf(world, claim(world.dead, 1), 1, steps, 1);
    recoverSlot(world.region, DEAD);
    expect(world.region.m[at + SLOT_STARTED]).toBe(steps > 2 ? 2 : 1);
  });
});

describe('death at any shared access', () => {
  /** More than a front lane's first ring holds, so that giving back links another. */
  const BATCH = 70;

  /** Two batches, the second given back after its first job, then a single job, with its run noted in another place. */
  function life({ region, dead }: World, ran: RecordNumber[]): void {
    const run = (entry: Entry, place = 0): void => runJob(region, DEAD, entry, (record) => ran.push(record), place);
    for (const entry of claimAll(dead, 3)) run(entry);
    run(claim(dead, BATCH));
    giveBack(dead);
    run(claim(dead, 1), 1);
  }
  /** The slot's next thread: runs the first job that it claims, and gives back the others. */
  function nextLife({ region }: World, ran: RecordNumber[]): void {
    const next = workerIn(region, DEAD, BATCH);
    runJob(region, DEAD, claim(next, BATCH), (record) => ran.push(record));
    expect(giveBack(next)).toBe(true);
  }

  it('starts no job twice, loses none, counts each as run or died with its thread, and leaves the slot fit for the next', () => {
    const wrong: string[] = [];
    let deaths = 0;
    for (let steps = 0; ; steps++) {
      const world = worldWith(90, BATCH);
      const { region, records } = world;
      const ran: RecordNumber[] = [];
      if (!diesAfter(steps, () => life(world, ran))) break;
      deaths++;
      const back = drainHost(region);
      const remains = recoverSlot(region, DEAD);
      const message = `death before access ${steps + 1}`;
      expect(recoverSlot(region, DEAD), message).toEqual(NOTHING);
      publishAhead(region, remains.requeued);
      const later: RecordNumber[] = [];
      nextLife(world, later);
      later.push(...afterwards(world, NOTHING));
      const sorted = (list: RecordNumber[]): string => list.sort((a, b) => a - b).join();
      if (sorted([...ran, ...later]) !== sorted(records)) wrong.push(`${message}: ${ran.length + later.length} jobs ran`);
      if (sorted([...back, ...remains.died, ...remains.settled, ...later]) !== sorted(records))
        wrong.push(`${message}: the counts are wrong`);
      expect([remains.abandoned.length, remains.died.length + remains.settled.length <= 1], message).toEqual([0, true]);
    }
    expect(wrong).toEqual([]);
    expect(deaths).toBeGreaterThan(60);
  });
});
