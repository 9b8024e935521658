/** What other threads hand back to one: completed records and freed blocks. Nothing is lost, nothing comes twice. */
import { describe, expect, it } from 'vitest';
import type { RecordNumber, Slot } from '#base';
import { createRegion, HOST, NO_RECORD, REGION_TOP, recordAt, SLOT_WAKE, slotAt } from '#memory';
import { allocateBlock } from '#payload';
import { ARMED, arm, disarm, hasCompleted, nextCompleted, Records, takeCompleted } from '#ring';
import { within } from '../../support/index.ts';
import { range } from '../../unit/ring/battery.ts';
import { crew } from './crew.ts';
import { CONTROL_WORDS } from './words.js';

const THREADS = new URL('./threads.js', import.meta.url);
const controlWords = (): Int32Array => new Int32Array(new SharedArrayBuffer(CONTROL_WORDS * 4));

describe('eight threads that push 50,000 records each', () => {
  it('hand over every record once, each thread’s in its order, and wake the submitter whenever it sleeps', async () => {
    const each = 50_000;
    const region = createRegion(9, 2 ** 26);
    const source = new Records(region);
    const records = range(0, 8 * each).map(() => source.take());
    const jobs = range(0, 8).map((k) => ({
      role: 'push',
      buffer: region.buffer,
      control: controlWords(),
      threads: 8,
      submitter: HOST,
      records: { first: records[k * each], count: each },
    }));
    const control = controlWords();
    for (const job of jobs) job.control = control;
    const self = slotAt(HOST);
    const times = new Uint8Array(8 * each + 1);
    const last = new Int32Array(8);
    let seen = 0;
    let outOfOrder = 0;
    let sleeps = 0;
    const drain = (): void => {
      for (let record = takeCompleted(region, self); record !== NO_RECORD; record = nextCompleted(region.m, recordAt(region, record))) {
        times[record] = (times[record] as number) + 1;
        const thread = Math.floor((record - (records[0] as number)) / each);
        if (record <= (last[thread] as number)) outOfOrder++;
        last[thread] = record;
        seen++;
      }
    };
    const submitter = async (): Promise<void> => {
      for (;;) {
        drain();
        if (seen >= 8 * each) return;
        arm(region.m, self);
        if (hasCompleted(region.m, self)) {
          disarm(region.m, self);
          continue;
        }
        const wait = Atomics.waitAsync(region.m, self + SLOT_WAKE, ARMED);
        if (!wait.async) continue;
        sleeps++;
        await within(wait.value, `a wake-up after ${seen} records`);
      }
    };
    await crew(THREADS, jobs, submitter);
    expect(seen).toBe(8 * each);
    expect(records.filter((record) => times[record as RecordNumber] !== 1)).toEqual([]);
    expect(outOfOrder).toBe(0);
    expect(sleeps).toBeGreaterThan(0);
    expect(hasCompleted(region.m, self)).toBe(false);
  });
});

describe('four threads that free the blocks of a fifth', () => {
  it('give every block back to its owner, which meanwhile is never given one that is still in use', async () => {
    const each = 10_000;
    const region = createRegion(5, 2 ** 26);
    const owner = HOST as Slot;
    const blocks = range(0, 4 * each).map((k) => allocateBlock(region, owner, k % 2 === 0 ? 50 : 100));
    const control = controlWords();
    const jobs = range(0, 4).map((k) => ({
      role: 'free',
      buffer: region.buffer,
      control,
      threads: 5,
      slot: k + 1,
      blocks: blocks.slice(k * each, (k + 1) * each),
    }));
    const before = region.m[REGION_TOP] as number;
    const again = new Set<number>();
    let takenTwice = 0;
    const allocateAll = async (): Promise<void> => {
      Atomics.add(control, 0, 1); // the fifth at the gate
      while (again.size < 2 * each && takenTwice === 0) {
        const block = allocateBlock(region, owner, 50);
        if (again.has(block)) takenTwice++;
        again.add(block);
        if (again.size % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await crew(THREADS, jobs, allocateAll);
    expect(takenTwice).toBe(0);
    // All are back now: what the owner has taken meanwhile from the rest of its memory comes on top.
    const fresh = [...again].filter((block) => !blocks.includes(block)).length;
    const rest = range(0, 2 * each - (2 * each - fresh)).map(() => allocateBlock(region, owner, 50));
    const large = range(0, 2 * each).map(() => allocateBlock(region, owner, 100));
    expect(new Set([...again, ...rest, ...large]).size).toBe(again.size + rest.length + large.length);
    expect([...rest, ...large].filter((block) => !blocks.includes(block))).toEqual([]);
    expect(region.m[REGION_TOP] as number).toBeGreaterThanOrEqual(before);
  });
});
