/** The completion stack and its wake word, step by step. The same with real threads: `test/stress/ring/stack.test.ts`. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { RecordNumber } from '#base';
import { createRegion, NO_RECORD, recordAt, type Region, SLOT_STACK, SLOT_WAKE, slotAt } from '#memory';
import { ARMED, AWAKE, arm, complete, disarm, hasCompleted, nextCompleted, Records, takeCompleted, wake } from '#ring';
import { within } from '../../support/index.ts';
import { realm } from '../../support/open-realm.ts';
import { range, slot } from './battery.ts';
import { interrupted } from './interrupt.ts';

let region: Region;
let records: RecordNumber[];
const self = slotAt(slot(0));
const push = (record: RecordNumber): void => complete(region, self, record, recordAt(region, record));
const takeAll = (): RecordNumber[] => {
  const all: RecordNumber[] = [];
  for (let record = takeCompleted(region, self); record !== NO_RECORD; record = nextCompleted(region.m, recordAt(region, record)))
    all.push(record);
  return all;
};
const wakeWord = (): number => region.m[self + SLOT_WAKE] as number;
/** How many waiters on the wake word are there to be notified. */
const sleeper = (): Promise<string> => {
  const wait = Atomics.waitAsync(region.m, self + SLOT_WAKE, ARMED);
  if (!wait.async) throw new Error('it was not armed');
  return wait.value;
};

beforeEach(() => {
  region = createRegion(2, 2 ** 22);
  const source = new Records(region);
  records = range(0, 20).map(() => source.take());
});

describe('the completion stack', () => {
  it('is taken as a whole, the oldest first, and is empty then', () => {
    expect([hasCompleted(region.m, self), takeAll()]).toEqual([false, []]);
    records.forEach(push);
    expect(hasCompleted(region.m, self)).toBe(true);
    expect(takeAll()).toEqual(records);
    expect([hasCompleted(region.m, self), takeAll()]).toEqual([false, []]);
  });

  it('takes the same records again in another order', () => {
    records.forEach(push);
    takeAll();
    const turned = [...records].reverse();
    turned.forEach(push);
    expect(takeAll()).toEqual(turned);
  });

  it('of one slot holds nothing of another', () => {
    const other = slotAt(slot(1));
    complete(region, other, records[0] as RecordNumber, recordAt(region, records[0] as RecordNumber));
    push(records[1] as RecordNumber);
    expect(takeAll()).toEqual([records[1]]);
    expect(takeCompleted(region, other)).toBe(records[0]);
  });

  it('loses nothing when two push at once', () => {
    const [a, b, c] = records as [RecordNumber, RecordNumber, RecordNumber];
    push(a);
    interrupted(
      'before',
      'compareExchange',
      self + SLOT_STACK,
      () => push(b),
      () => push(c),
    );
    expect(takeAll()).toEqual([a, b, c]);
  });

  it('loses nothing when all are taken in the midst of a push, even if the same record is on top again', () => {
    const [a, b, c] = records as [RecordNumber, RecordNumber, RecordNumber];
    push(a);
    const taken: RecordNumber[][] = [];
    const meanwhile = (): void => {
      taken.push(takeAll());
      push(b);
      push(a); // the top is what the pusher of `c` saw, but not what lies below
    };
    interrupted('before', 'compareExchange', self + SLOT_STACK, meanwhile, () => push(c));
    expect([...taken, takeAll()]).toEqual([[a], [b, a, c]]);
  });

  it('keeps for the next time what is pushed just after all were taken', () => {
    const [a, b] = records as [RecordNumber, RecordNumber];
    push(a);
    expect(interrupted('after', 'exchange', self + SLOT_STACK, () => push(b), takeAll)).toEqual([a]);
    expect(takeAll()).toEqual([b]);
  });
});

describe('the wake word', () => {
  it('armed is moved back by the first push, which wakes the sleeper; the second finds nobody to wake', async () => {
    arm(region.m, self);
    const slept = sleeper();
    push(records[0] as RecordNumber);
    expect(wakeWord()).toBe(AWAKE);
    expect(await within(slept, 'the sleeper to wake')).toBe('ok');
    push(records[1] as RecordNumber);
    expect(wakeWord()).toBe(AWAKE);
  });

  it('not armed is left alone by a push', () => {
    push(records[0] as RecordNumber);
    expect([wakeWord(), disarm(region.m, self)]).toEqual([AWAKE, false]);
  });

  it('has one winner: either the submitter disarms it or a waker takes it', () => {
    arm(region.m, self);
    expect([disarm(region.m, self), disarm(region.m, self)]).toEqual([true, false]);
    arm(region.m, self);
    wake(region.m, self);
    expect(disarm(region.m, self)).toBe(false);
  });

  it('is notified once by two wakers that both saw it armed', () => {
    arm(region.m, self);
    const notify = vi.spyOn(realm, 'notify');
    interrupted(
      'before',
      'compareExchange',
      self + SLOT_WAKE,
      () => wake(region.m, self),
      () => wake(region.m, self),
    );
    const times = notify.mock.calls.length;
    notify.mockRestore();
    expect(times).toBe(1);
  });

  it('is looked at after the push: a submitter that arms and then looks sees the record, or is woken', async () => {
    let slept: Promise<string> | undefined;
    // The submitter arms and looks just before the record is on the stack: it sees nothing, and sleeps.
    const submitter = (): void => {
      arm(region.m, self);
      expect(hasCompleted(region.m, self)).toBe(false);
      slept = sleeper();
    };
    interrupted('before', 'compareExchange', self + SLOT_STACK, submitter, () => push(records[0] as RecordNumber));
    expect(await within(slept as Promise<string>, 'the sleeper to wake')).toBe('ok');
  });
});
