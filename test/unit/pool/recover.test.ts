/** Repair after a death: each state in which a worker can die by itself, then death at every single shared access. */
import { describe, expect, it } from 'vitest';
import type { Entry, RecordNumber } from '#base';
import {
  FRONT_BITS,
  HOST,
  hasBit,
  IDLE_BITS,
  REGION_SEARCHER,
  type Region,
  RING_HEAD,
  recordAt,
  recordOf,
  SLOT_ANNOUNCED,
  SLOT_GUARD,
  SLOT_PERMIT,
  SLOT_RUN,
  slotAt,
} from '#memory';
import {
  type Claimer,
  claim,
  claimer,
  DOOMED,
  giveBack,
  LIBRARY,
  NO_ENTRY,
  OPEN,
  publishIdle,
  type Remains,
  recoverSlot,
  startSearch,
  takeNext,
  unparkHottest,
} from '#pool';
import { complete, Records, toSettled, toStarted } from '#ring';
import { sequence, slot } from '../ring/battery.ts';
import { interrupted } from '../ring/interrupt.ts';
import { announcedBy, claimAll, diesAfter, drainHost, leftInBatch, publishAhead, ringOf, runJob, submit, submitterIn, workerIn, worldOf } from './world.ts';

const DEAD = slot(1);
const at = slotAt(DEAD);
const NOTHING: Remains = { died: [], settled: [], requeued: [] };

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
const start = (region: Region, entry: Entry): boolean => toStarted(region.m, recordAt(region, recordOf(entry)), entry);
/** What the survivors run, in order, once the host has published what was left: each record once, or the test fails. */
function afterwards({ region, other }: World, remains: Remains): RecordNumber[] {
  publishAhead(region, remains.requeued);
  const ran: RecordNumber[] = [];
  other.size = 1;
  for (let entry = claim(other, 1); entry !== NO_ENTRY; entry = claim(other, 1)) runJob(region, other.slot, entry, (record) => ran.push(record));
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
      noteRun(region, entry, k * 31); // the last of 64 places too
      if (k < 2) start(region, entry);
    }
    const remains = recoverSlot(region, DEAD);
    expect([remains.died, remains.settled, remains.requeued.map(recordOf)]).toEqual([records.slice(0, 2), [], [records[2]]]);
    expect(afterwards(world, remains)).toEqual([records[2], records[3]]);
  });

  it('with a job settled and not handed over, only the hand-over is missing', () => {
    const world = worldWith(2, 1);
    const { region, dead, records } = world;
    const entry = claim(dead, 1);
    noteRun(region, entry);
    start(region, entry);
    toSettled(region.m, recordAt(region, recordOf(entry)));
    const remains = recoverSlot(region, DEAD);
    expect(remains).toEqual({ died: [], settled: [records[0]], requeued: [] });
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
    giveBack(dead, claim(dead, 3));
    const remains = recoverSlot(region, DEAD);
    expect(remains.requeued.map(recordOf)).toEqual(records.slice(0, 3));
    expect(afterwards(world, remains)).toEqual(records);
  });

  it('with jobs given back that others have started, these are left to the others', () => {
    const world = worldWith(4, 3);
    const { region, dead, other, records } = world;
    giveBack(dead, claim(dead, 3));
    const [first, second] = [claim(other, 1), claim(other, 1)];
    start(region, first);
    runJob(region, other.slot, second, () => {});
    drainHost(region);
    const remains = recoverSlot(region, DEAD);
    expect([remains.requeued.map(recordOf), remains.died]).toEqual([[records[2]], []]);
    expect(afterwards(world, remains)).toEqual([records[2], records[3]]);
  });

  it('parked, searching, in the library or doomed, the next thread of its slot begins anew', () => {
    for (const guard of [LIBRARY, DOOMED]) {
      const { region, dead } = worldWith(3, 3);
      claim(dead, 3);
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
    giveBack(other, claim(other, 1));
    expect(claim(other, 1)).toBe(world.jobs[0]); // its front lane is empty now, and still marked
    const publish = (): boolean => giveBack(other, world.jobs[0] as Entry);
    const unmark = (): Entry => interrupted('after', 'and', FRONT_BITS, death, () => claim(dead, 1));
    expect(() => interrupted('before', 'and', FRONT_BITS, publish, unmark)).toThrow('died');
    const remains = recoverSlot(region, DEAD);
    expect(afterwards(world, remains)).toEqual(records);
  });

  it('a parked worker that it had chosen to wake is parked as before, or has its permit', () => {
    const { region } = worldWith(0, 1);
    publishIdle(region.m, slot(2));
    expect(() => interrupted('after', 'and', IDLE_BITS, death, () => unparkHottest(region.m))).toThrow('died');
    recoverSlot(region, DEAD);
    const permit = region.m[slotAt(slot(2)) + SLOT_PERMIT];
    expect([hasBit(region.m, IDLE_BITS, slot(2)), permit]).not.toEqual([false, 0]);
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
    giveBack(dead, NO_ENTRY);
    run(claim(dead, 1), 1);
  }
  /** The slot's next thread: gives back what it claims. */
  function nextLife({ region }: World): void {
    const next = workerIn(region, DEAD, BATCH);
    expect(giveBack(next, claim(next, BATCH))).toBe(true);
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
      nextLife(world);
      const later = afterwards(world, NOTHING);
      const sorted = (list: RecordNumber[]): string => list.sort((a, b) => a - b).join();
      if (sorted([...ran, ...later]) !== sorted(records)) wrong.push(`${message}: ${ran.length + later.length} jobs ran`);
      if (sorted([...back, ...remains.died, ...remains.settled, ...later]) !== sorted(records)) wrong.push(`${message}: the counts are wrong`);
      expect(remains.died.length + remains.settled.length, message).toBeLessThanOrEqual(1);
    }
    expect(wrong).toEqual([]);
    expect(deaths).toBeGreaterThan(60);
  });
});
