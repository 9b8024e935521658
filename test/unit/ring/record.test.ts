/** A job's states: which transitions are refused, and what voids an entry. */
import { describe, expect, it } from 'vitest';
import type { Entry, RecordNumber } from '#base';
import { createRegion, RECORD_STATE, recordAt, recordOf, type Region, stateOf, takeSlab } from '#memory';
import {
  ABANDONED,
  CANCELLED,
  FREE,
  isIn,
  LEFT_RUNNING,
  QUEUED,
  SETTLED,
  STARTED,
  TOO_LATE,
  toEnded,
  toFree,
  toQueued,
  toRequeued,
  toRetried,
  toSettled,
  toStarted,
} from '#ring';
import { interrupted } from './interrupt.ts';

const RECORD = 5 as RecordNumber;

function job(generation = 0): { region: Region; m: Int32Array; at: number; state: () => number } {
  const region = createRegion(1, 2 ** 22);
  takeSlab(region);
  const at = recordAt(region, RECORD);
  region.m[at + RECORD_STATE] = generation << 4;
  return { region, m: region.m, at, state: () => stateOf(region.m[at + RECORD_STATE] as number) };
}

describe.each([0, 255, 2 ** 28 - 1])('a record in generation %i', (generation) => {
  it('goes through its states in order and is free again in the next generation', () => {
    const { m, at, state } = job(generation);
    const states = [state()];
    const entry = toQueued(m, at, RECORD);
    states.push(state());
    expect(recordOf(entry)).toBe(RECORD);
    expect(toStarted(m, at, entry)).toBe(true);
    states.push(state());
    expect(toSettled(m, at)).toBe(true);
    states.push(state());
    toFree(m, at);
    expect([...states, state()]).toEqual([FREE, QUEUED, STARTED, SETTLED, FREE]);
    expect((m[at + RECORD_STATE] as number) >>> 4).toBe((generation + 1) % 2 ** 28);
  });

  it('starts once, however often its entry was published', () => {
    const { m, at } = job(generation);
    const entry = toQueued(m, at, RECORD);
    expect([toStarted(m, at, entry), toStarted(m, at, entry)]).toEqual([true, false]);
    toSettled(m, at);
    expect(toStarted(m, at, entry)).toBe(false);
    toFree(m, at);
    expect(toStarted(m, at, entry)).toBe(false);
  });

  it('is not started by an entry of its last generation although it is queued again', () => {
    const { m, at, state } = job(generation);
    const old = toQueued(m, at, RECORD);
    toStarted(m, at, old);
    toSettled(m, at);
    toFree(m, at);
    const entry = toQueued(m, at, RECORD);
    expect(toStarted(m, at, old)).toBe(false);
    expect(state()).toBe(QUEUED);
    expect(toStarted(m, at, entry)).toBe(true);
  });

  it('settles once, and only from STARTED', () => {
    const { m, at } = job(generation);
    expect(toSettled(m, at)).toBe(false);
    const entry = toQueued(m, at, RECORD);
    expect(toSettled(m, at)).toBe(false);
    toStarted(m, at, entry);
    expect([toSettled(m, at), toSettled(m, at)]).toEqual([true, false]);
  });

  it('requeued gets a new entry, and the old one is void', () => {
    const { m, at, state } = job(generation);
    const old = toQueued(m, at, RECORD);
    const again = toRequeued(m, at, RECORD, old);
    expect(recordOf(again)).toBe(RECORD);
    expect(again).not.toBe(old);
    expect([state(), toStarted(m, at, old), toStarted(m, at, again)]).toEqual([QUEUED, false, true]);
  });

  it('is requeued only while it is queued in the generation of the entry', () => {
    const { m, at } = job(generation);
    const tries = (entry: Entry): Entry => toRequeued(m, at, RECORD, entry);
    const first = toQueued(m, at, RECORD);
    const second = tries(first);
    expect(tries(first)).toBe(0); // twice by the same entry
    toStarted(m, at, second);
    expect(tries(second)).toBe(0);
    toSettled(m, at);
    expect(tries(second)).toBe(0);
    toFree(m, at);
    expect(tries(second)).toBe(0);
  });

  it('cancelled before it started is free in the next generation, and its entry is void for good', () => {
    const { m, at, state } = job(generation);
    const entry = toQueued(m, at, RECORD);
    expect([toEnded(m, at), state()]).toEqual([CANCELLED, FREE]);
    expect((m[at + RECORD_STATE] as number) >>> 4).toBe((generation + 1) % 2 ** 28);
    const useless = (): unknown[] => [toStarted(m, at, entry), toRequeued(m, at, RECORD, entry), isIn(m, at, entry, state())];
    expect(useless()).toEqual([false, 0, false]);
    const next = toQueued(m, at, RECORD);
    expect([...useless(), state()]).toEqual([false, 0, false, QUEUED]);
    expect(toStarted(m, at, next)).toBe(true);
  });

  it('given up while it runs keeps its entry, starts nowhere, and settles late, once', () => {
    const { m, at, state } = job(generation);
    const entry = toQueued(m, at, RECORD);
    toStarted(m, at, entry);
    expect([toEnded(m, at), state(), isIn(m, at, entry, ABANDONED)]).toEqual([LEFT_RUNNING, ABANDONED, true]);
    expect([toStarted(m, at, entry), toRequeued(m, at, RECORD, entry)]).toEqual([false, 0]);
    expect([toSettled(m, at), state(), isIn(m, at, entry, SETTLED), toSettled(m, at)]).toEqual([true, SETTLED, true, false]);
    toFree(m, at);
    expect([state(), (m[at + RECORD_STATE] as number) >>> 4]).toEqual([FREE, (generation + 1) % 2 ** 28]);
  });

  it('is too late to end when it is free, given up already or settled, and stays as it is', () => {
    const { m, at } = job(generation);
    const tries = (): void => {
      const before = m[at + RECORD_STATE];
      expect([toEnded(m, at), m[at + RECORD_STATE]]).toEqual([TOO_LATE, before]);
    };
    tries();
    toStarted(m, at, toQueued(m, at, RECORD));
    toEnded(m, at);
    tries();
    toSettled(m, at);
    tries();
    toFree(m, at);
    tries();
  });

  it('retried after its thread died is queued in the next generation: the old entry is void, the new one starts once', () => {
    const { m, at, state } = job(generation);
    const old = toQueued(m, at, RECORD);
    toStarted(m, at, old);
    const again = toRetried(m, at, RECORD);
    expect([recordOf(again), again === old, state()]).toEqual([RECORD, false, QUEUED]);
    expect((m[at + RECORD_STATE] as number) >>> 4).toBe((generation + 1) % 2 ** 28);
    expect([toStarted(m, at, old), isIn(m, at, old, QUEUED), isIn(m, at, again, QUEUED)]).toEqual([false, false, true]);
    expect([toStarted(m, at, again), toStarted(m, at, again), toSettled(m, at)]).toEqual([true, false, true]);
  });

  it('is in the state it is in for its current entry, and in none for an old one', () => {
    const { m, at } = job(generation);
    const old = toQueued(m, at, RECORD);
    expect([isIn(m, at, old, QUEUED), isIn(m, at, old, STARTED)]).toEqual([true, false]);
    const entry = toRequeued(m, at, RECORD, old);
    expect([isIn(m, at, old, QUEUED), isIn(m, at, entry, QUEUED)]).toEqual([false, true]);
  });
});

describe('of two who want the same job at once', () => {
  it('one starts it, and the one who read its state before gets nothing', () => {
    const { m, at } = job();
    const entry = toQueued(m, at, RECORD);
    const late = interrupted(
      'before',
      'compareExchange',
      at + RECORD_STATE,
      () => expect(toStarted(m, at, entry)).toBe(true),
      () => toStarted(m, at, entry),
    );
    expect(late).toBe(false);
  });

  it('the host that requeues it voids the start of a worker that read its state before', () => {
    const { m, at } = job();
    const entry = toQueued(m, at, RECORD);
    let again = 0 as Entry;
    const requeue = (): void => {
      again = toRequeued(m, at, RECORD, entry);
    };
    expect(interrupted('before', 'compareExchange', at + RECORD_STATE, requeue, () => toStarted(m, at, entry))).toBe(false);
    expect(toStarted(m, at, again)).toBe(true);
  });

  it('the worker that starts it keeps it from a host that read its state before', () => {
    const { m, at } = job();
    const entry = toQueued(m, at, RECORD);
    const start = (): void => expect(toStarted(m, at, entry)).toBe(true) as undefined;
    expect(interrupted('before', 'compareExchange', at + RECORD_STATE, start, () => toRequeued(m, at, RECORD, entry))).toBe(0);
    expect(toSettled(m, at)).toBe(true);
  });

  /** A queued job, or one that runs, and what `toEnded` says of it if `first` happens after it has read the state. */
  const endedAfter = (runs: boolean, first: (at: number, m: Int32Array, entry: Entry) => unknown): unknown[] => {
    const { m, at, state } = job(7);
    const entry = toQueued(m, at, RECORD);
    if (runs) toStarted(m, at, entry);
    const was = interrupted(
      'before',
      'compareExchange',
      at + RECORD_STATE,
      () => void first(at, m, entry),
      () => toEnded(m, at),
    );
    return [was, state(), (m[at + RECORD_STATE] as number) >>> 4];
  };

  it('the submitter that ends it just when it starts gives up a running job, which has not changed its generation', () => {
    expect(endedAfter(false, (at, m, entry) => toStarted(m, at, entry))).toEqual([LEFT_RUNNING, ABANDONED, 7]);
  });

  it('the submitter that ends it just when it settles is too late', () => {
    expect(endedAfter(true, (at, m) => toSettled(m, at))).toEqual([TOO_LATE, SETTLED, 7]);
  });

  it('the submitter that ends it just when it is requeued cancels it in its new generation', () => {
    expect(endedAfter(false, (at, m, entry) => toRequeued(m, at, RECORD, entry))).toEqual([CANCELLED, FREE, 9]);
  });

  it('the worker that read its state before it was cancelled does not start it', () => {
    const { m, at, state } = job();
    const entry = toQueued(m, at, RECORD);
    const cancel = (): void => expect(toEnded(m, at)).toBe(CANCELLED) as undefined;
    expect(interrupted('before', 'compareExchange', at + RECORD_STATE, cancel, () => toStarted(m, at, entry))).toBe(false);
    expect(state()).toBe(FREE);
  });

  it('the worker that read its state before it was given up settles it all the same', () => {
    const { m, at, state } = job();
    toStarted(m, at, toQueued(m, at, RECORD));
    const giveUp = (): void => expect(toEnded(m, at)).toBe(LEFT_RUNNING) as undefined;
    expect(interrupted('before', 'compareExchange', at + RECORD_STATE, giveUp, () => toSettled(m, at))).toBe(true);
    expect(state()).toBe(SETTLED);
  });
});
