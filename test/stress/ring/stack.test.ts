/** What other threads hand back to one: completed records and freed blocks. Nothing is lost, nothing comes twice. */
import { describe, expect, it } from 'vitest';
import type { RecordNumber, Slot } from '#base';
import { createRegion, HOST, NO_RECORD, recordAt, SLOT_WAKE, slotAt } from '#memory';
import { allocateBlock } from '#payload';
import { ARMED, arm, disarm, hasCompleted, nextCompleted, Records, takeCompleted } from '#ring';
import { until, within } from '../../support/index.ts';
import { range } from '../../unit/ring/battery.ts';
import { crew } from './crew.ts';
import { CONTROL_WORDS, GATE, PRODUCERS_DONE } from './words.js';

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
    const each = 50_000;
    const region = createRegion(5, 2 ** 26);
    const owner = HOST as Slot;
    const [small, large] = [50, 100]; // bytes, of two size classes
    const blocks = range(0, 4 * each).map((k) => allocateBlock(region, owner, k % 2 === 0 ? small : large));
    const freed = new Set(blocks);
    const control = controlWords();
    const jobs = range(0, 4).map((k) => ({
      role: 'free',
      buffer: region.buffer,
      control,
      threads: 5,
      slot: k + 1,
      blocks: blocks.slice(k * each, (k + 1) * each),
    }));
    const held = new Set<number>();
    let ofTheFreed = 0;
    const hold = (bytes: number): boolean => {
      const block = allocateBlock(region, owner, bytes);
      if (block === 0) return false;
      if (held.has(block)) throw new Error(`block ${block} was given twice`);
      held.add(block);
      if (freed.has(block)) ofTheFreed++;
      return true;
    };
    const owning = async (): Promise<void> => {
      await until(() => Atomics.load(control, GATE) === 4, 'the four to be ready');
      Atomics.add(control, GATE, 1);
      let k = 0;
      while (Atomics.load(control, PRODUCERS_DONE) < 4) {
        if (!hold(small) || k++ % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await crew(THREADS, jobs, owning);
    expect(ofTheFreed).toBeGreaterThan(0); // some came back while others were being freed
    const meanwhile = ofTheFreed;
    for (let k = 0; k < 4 * each - meanwhile; k++) expect(hold(k < 2 * each - meanwhile ? small : large)).toBe(true);
    expect(ofTheFreed, 'all of them serve again').toBe(4 * each);
  });
});
