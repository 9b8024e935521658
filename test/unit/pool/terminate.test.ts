/** Choosing a thread to be ended: only for a job that was given up and still runs there, and never while the library is at work. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Entry, RecordNumber, Slot } from '#base';
import { HOST, type Region, RUN_MAX, recordAt, recordOf, SLOT_GUARD, SLOT_RUN, slotAt } from '#memory';
import {
  BUSY,
  DOOMED,
  toDoomed,
  enterLibrary,
  LIBRARY,
  leaveLibrary,
  MUST_END,
  OPEN,
  placeOf,
  runningEntries,
  runsAny,
  GOES_ON,
} from '#pool';
import { LEFT_RUNNING, Records, toEnded, toFree, toQueued, toSettled, toStarted } from '#ring';
import { within } from '../../support/index.ts';
import { slot } from '../ring/battery.ts';
import { interrupted } from '../ring/interrupt.ts';
import { submit, submitterIn, worldOf } from './world.ts';

const WORKER = slot(1);
const OTHER = slot(2);
const guardOf = (worker: Slot): number => slotAt(worker) + SLOT_GUARD;
let region: Region;
let m: Int32Array;
let jobs: Entry[];

beforeEach(() => {
  region = worldOf(3);
  ({ m } = region);
  submitterIn(region, HOST);
  jobs = submit(region, new Records(region), 4);
});

const job = (k: number): Entry => jobs[k] as Entry;
const wordOf = (entry: Entry): number => recordAt(region, recordOf(entry));
const note = (entry: number, place = 0, worker = WORKER): void => {
  m[slotAt(worker) + SLOT_RUN + place] = entry;
};
/** As `Runner` begins a job. */
const run = (entry: Entry, place = 0, worker = WORKER): void => {
  note(entry, place, worker);
  expect(toStarted(m, wordOf(entry), entry)).toBe(true);
};
const giveUp = (entry: Entry): void => expect(toEnded(m, wordOf(entry))).toBe(LEFT_RUNNING) as undefined;
const guard = (): number => m[guardOf(WORKER)] as number;

describe('the thread of a job that was given up', () => {
  it.each([0, RUN_MAX - 1])('must end if the job is still there, in place %i, and crosses no guard from then on', (place) => {
    run(job(0), place);
    giveUp(job(0));
    expect([toDoomed(region, WORKER, job(0)), guard()]).toEqual([MUST_END, DOOMED]);
  });

  it('must end although others run there too', () => {
    run(job(0), 0);
    run(job(1), 1);
    giveUp(job(1));
    expect(toDoomed(region, WORKER, job(1))).toBe(MUST_END);
  });

  it('is left alone while it is in the library, which is nobody’s but its own to leave', () => {
    run(job(0));
    giveUp(job(0));
    enterLibrary(m, guardOf(WORKER));
    expect([toDoomed(region, WORKER, job(0)), guard()]).toEqual([BUSY, LIBRARY]);
    leaveLibrary(m, guardOf(WORKER));
    expect(toDoomed(region, WORKER, job(0))).toBe(MUST_END);
  });

  it('is doomed once: the second who asks, for whatever job, changes nothing', () => {
    run(job(0), 0);
    run(job(1), 1);
    giveUp(job(0));
    giveUp(job(1));
    expect([toDoomed(region, WORKER, job(0)), toDoomed(region, WORKER, job(1)), guard()]).toEqual([MUST_END, BUSY, DOOMED]);
    expect([toDoomed(region, WORKER, job(2)), guard()]).toEqual([BUSY, DOOMED]);
  });
});

describe('a thread is spared, and its guard open again,', () => {
  const spared = (entry: Entry, worker = WORKER): void => {
    expect([toDoomed(region, worker, entry), m[guardOf(worker)]]).toEqual([GOES_ON, OPEN]);
  };

  it('if the job that runs there was not given up', () => {
    run(job(0));
    spared(job(0));
  });

  it('if the job runs on another', () => {
    run(job(0), 0, OTHER);
    giveUp(job(0));
    run(job(1));
    spared(job(0));
    expect(toDoomed(region, OTHER, job(0))).toBe(MUST_END);
  });

  it('if the job has settled late, handed over or not', () => {
    run(job(0));
    giveUp(job(0));
    toSettled(m, wordOf(job(0)));
    spared(job(0));
    note(0);
    spared(job(0));
  });

  it('if the job has left the run list, whatever its record says', () => {
    run(job(0));
    giveUp(job(0));
    note(0);
    spared(job(0));
  });

  it('if the record is somebody else’s by now, even one that is given up in the same place', () => {
    run(job(0));
    giveUp(job(0));
    toSettled(m, wordOf(job(0)));
    toFree(m, wordOf(job(0)));
    const next = toQueued(m, wordOf(job(0)), recordOf(job(0)));
    run(next);
    giveUp(next);
    spared(job(0));
    expect(toDoomed(region, WORKER, next)).toBe(MUST_END);
  });

  it('if it ended the job just before it was doomed, though the killer had seen it run', () => {
    run(job(0));
    giveUp(job(0));
    const end = (): void => {
      enterLibrary(m, guardOf(WORKER));
      toSettled(m, wordOf(job(0)));
      note(0);
      run(job(1)); // and began the next
      leaveLibrary(m, guardOf(WORKER));
    };
    const is = interrupted('before', 'compareExchange', guardOf(WORKER), end, () => toDoomed(region, WORKER, job(0)));
    expect([is, guard()]).toEqual([GOES_ON, OPEN]);
  });

  it('and if it waits at the guard by then it is told', async () => {
    run(job(0));
    let wait: ReturnType<typeof Atomics.waitAsync> | undefined;
    const comes = (): void => {
      wait = Atomics.waitAsync(m, guardOf(WORKER), DOOMED);
    };
    interrupted('after', 'compareExchange', guardOf(WORKER), comes, () => toDoomed(region, WORKER, job(0)));
    expect(wait?.async).toBe(true);
    expect(await within(wait?.value as Promise<string>, 'the notify')).toBe('ok');
  });
});

describe('what a worker runs', () => {
  it('is what it started and has not settled, given up or not, in the order of places', () => {
    run(job(0), RUN_MAX - 1);
    run(job(1), 0);
    run(job(2), 5);
    giveUp(job(2));
    run(job(3), 1, OTHER);
    expect(runningEntries(region, WORKER)).toEqual([job(1), job(2), job(0)]);
    expect(runningEntries(region, OTHER)).toEqual([job(3)]);
    expect(runningEntries(region, HOST)).toEqual([]);
  });

  it('is not what it noted and has not started, nor what it settled and has not handed over, nor a job of old', () => {
    note(job(0), 0);
    run(job(1), 1);
    toSettled(m, wordOf(job(1)));
    run(job(2), 2);
    toSettled(m, wordOf(job(2)));
    toFree(m, wordOf(job(2)));
    const again = toQueued(m, wordOf(job(2)), recordOf(job(2)) as RecordNumber);
    run(again, 3, OTHER); // the same record, elsewhere
    expect(runningEntries(region, WORKER)).toEqual([]);
    expect(runningEntries(region, OTHER)).toEqual([again]);
  });

  it('is something from the moment it is noted until its place is cleared, in any place', () => {
    expect(runsAny(m, WORKER)).toBe(false);
    for (const place of [0, 31, RUN_MAX - 1]) {
      note(job(0), place);
      expect([runsAny(m, WORKER), runsAny(m, OTHER), runsAny(m, HOST)]).toEqual([true, false, false]);
      note(0, place);
      expect(runsAny(m, WORKER)).toBe(false);
    }
  });

  it('is found in its place, for its very entry, and on no other worker', () => {
    for (const place of [0, 31, RUN_MAX - 1]) {
      note(job(0), place);
      expect([placeOf(m, WORKER, job(0)), placeOf(m, WORKER, job(1)), placeOf(m, OTHER, job(0))]).toEqual([place, -1, -1]);
      note(0, place);
    }
    expect(placeOf(m, WORKER, job(0))).toBe(-1);
  });
});
