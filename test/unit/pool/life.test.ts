/** The life of a slot's thread as the words say it, how it ended, and the phases up to the one in which no job starts any more. */
import { describe, expect, it } from 'vitest';
import { hasBit, LIVE_BITS, REGION_PHASE, SLOT_LIFE, SLOT_LOADING, slotAt } from '#memory';
import {
  announceEnd,
  discount,
  ENDING,
  exitedByItself,
  LEAVING,
  LIVE,
  mayStart,
  noteExit,
  publishIdle,
  RUNNING,
  runningWorkers,
  STARTING,
  STOPPED,
  stopStarting,
  toLeaving,
  toLive,
  toStarting,
  toVacant,
  unparkHottest,
  VACANT,
  wasLoading,
} from '#pool';
import { slot } from '../ring/battery.ts';
import { worldOf } from './world.ts';

const worker = slot(33);

describe('a thread', () => {
  it('counts as running from before it is started until it leaves', () => {
    const { m } = worldOf(40);
    const life = (): unknown[] => [m[slotAt(worker) + SLOT_LIFE], hasBit(m, LIVE_BITS, worker), runningWorkers(m)];
    expect(life()).toEqual([VACANT, false, 0]);
    toStarting(m, worker);
    expect(life()).toEqual([STARTING, true, 1]);
    toLive(m, worker);
    expect(life()).toEqual([LIVE, true, 1]);
    toLeaving(m, worker);
    expect(life()).toEqual([LEAVING, false, 0]);
    expect(toVacant(m, worker)).toBe(LEAVING);
    expect(life()).toEqual([VACANT, false, 0]);
  });

  it('that leaves or is ended is woken by nobody, parked before or after', () => {
    const { m } = worldOf(40);
    for (const end of [toLeaving, discount]) {
      toStarting(m, worker);
      toLive(m, worker);
      publishIdle(m, worker);
      end(m, worker);
      expect(unparkHottest(m)).toBe(false);
      publishIdle(m, worker); // it is being ended, and does not know
      expect(unparkHottest(m)).toBe(false);
      toVacant(m, worker);
    }
  });

  it('that ends without a word leaves a vacant slot, and the host learns how far it had come', () => {
    const { m } = worldOf(40);
    toStarting(m, worker);
    expect(toVacant(m, worker)).toBe(STARTING);
    toStarting(m, worker);
    toLive(m, worker);
    expect([toVacant(m, worker), runningWorkers(m)]).toEqual([LIVE, 0]);
  });
});

describe('an exit', () => {
  it('is by the thread’s own will only if it said so, and the slot’s next thread has not', () => {
    const { m } = worldOf(40);
    toStarting(m, worker);
    expect(exitedByItself(m, worker)).toBe(false);
    toLive(m, worker);
    noteExit(m, worker);
    toVacant(m, worker);
    expect([exitedByItself(m, worker), exitedByItself(m, slot(32))]).toEqual([true, false]); // asked after the exit
    toStarting(m, worker);
    expect(exitedByItself(m, worker)).toBe(false);
  });

  it('in the midst of an import names the handler, and the slot’s next thread imports nothing', () => {
    const { m } = worldOf(40);
    toStarting(m, worker);
    expect(wasLoading(m, worker)).toBe(0);
    m[slotAt(worker) + SLOT_LOADING] = 77; // as `Handlers` does
    toVacant(m, worker);
    expect([wasLoading(m, worker), wasLoading(m, slot(34))]).toEqual([77, 0]);
    toStarting(m, worker);
    expect(wasLoading(m, worker)).toBe(0);
  });
});

describe('jobs', () => {
  it('may start while the queue runs and while it comes to an end, and never once starting is stopped', () => {
    const { m } = worldOf(2);
    const now = (): unknown[] => [m[REGION_PHASE], mayStart(m)];
    expect(now()).toEqual([RUNNING, true]);
    announceEnd(m);
    expect(now()).toEqual([ENDING, true]);
    stopStarting(m);
    stopStarting(m);
    expect(now()).toEqual([STOPPED, false]);
  });
});
