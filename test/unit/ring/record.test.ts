/** A job's states: which transitions are refused, and what voids an entry. */
import { describe, expect, it } from 'vitest';
import type { Entry, RecordNumber } from '#base';
import { createRegion, RECORD_STATE, recordAt, recordOf, type Region, stateOf, takeSlab } from '#memory';
import { FREE, isIn, QUEUED, SETTLED, STARTED, toFree, toQueued, toRequeued, toSettled, toStarted } from '#ring';
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
    const late = interrupted('before', 'compareExchange', at + RECORD_STATE, () => expect(toStarted(m, at, entry)).toBe(true), () =>
      toStarted(m, at, entry),
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
});
