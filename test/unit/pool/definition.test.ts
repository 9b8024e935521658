/** Definitions: what a worker finds under an id, and when a module that fails to load is tried again. Time is a number here. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fromWire, type Slot, toWire } from '#base';
import { allocate, DEFINITION_COUNT, DEFINITION_OPEN_UNTIL, DEFINITION_WORDS, DEFINITIONS, NONE, type Region } from '#memory';
import { backingOff, FAILURES_MAX, keepFailure, knownDefinitions, noteFailure, noteSuccess, readDefinition, writeDefinition } from '#pool';
import { Scratch } from '#payload';
import { range } from '../ring/battery.ts';
import { interrupted } from '../ring/interrupt.ts';
import { worldOf } from './world.ts';

const ID = 7;
const SELF = 1 as Slot;
let region: Region;
let nowMs: number;

beforeEach(() => {
  region = worldOf(2);
  nowMs = 1_000_000;
  vi.spyOn(process, 'hrtime').mockImplementation((() => [Math.floor(nowMs / 1000), (nowMs % 1000) * 1e6]) as never);
});
afterEach(() => {
  vi.restoreAllMocks();
});

function write(id: number, definition: object): void {
  const text = JSON.stringify(definition);
  const at = allocate(region, 64) * 4;
  writeDefinition(region.m, id, at, region.bytes.write(text, at));
}
const module = (name: string): { kind: string; name: string; url: string; exportName: string } => ({
  kind: 'module',
  name,
  url: `file:///${name}.js`,
  exportName: 'default',
});
const fail = (times: number): number[] => range(0, times).map(() => noteFailure(region.m, ID));
/** Whether a worker may try the module now. */
const mayTry = (): boolean => backingOff(region, ID) === undefined;

describe('a definition', () => {
  it('is found under its id, of either kind, with any text', () => {
    const made = [module('zähler'), { kind: 'function', name: 'f', source: '(x) => `${x}日本`' }];
    made.forEach((definition, k) => write(k + 1, definition));
    expect([1, 2].map((id) => readDefinition(region, id))).toEqual(made);
    expect(knownDefinitions(region.m)).toEqual([1, 2]);
  });

  it('is not found under an id that shares its row, before or after the row is used again', () => {
    const later = ID + DEFINITION_COUNT;
    expect(readDefinition(region, ID)).toBeUndefined();
    write(ID, module('old'));
    expect(readDefinition(region, later)).toBeUndefined();
    write(later, module('new'));
    expect(readDefinition(region, ID)).toBeUndefined();
    expect(readDefinition(region, later)).toEqual(module('new'));
    expect(knownDefinitions(region.m)).toEqual([later]);
  });

  it('is not seen by its id while its text is not there yet', () => {
    const row = DEFINITIONS + ID * DEFINITION_WORDS;
    write(ID, module('old'));
    const seen: unknown[] = [];
    const look = (): void => void seen.push(readDefinition(region, ID), readDefinition(region, ID + DEFINITION_COUNT));
    for (const word of range(1, DEFINITION_WORDS - 1)) {
      try {
        interrupted('after', 'store', row + word, look, () => write(ID + DEFINITION_COUNT, module('new')));
      } catch {} // not every word of the row is written
    }
    expect(seen.length).toBeGreaterThan(4);
    expect(new Set(seen)).toEqual(new Set([undefined]));
  });

  it('written anew forgets the failures of the one before', () => {
    write(ID, module('old'));
    fail(FAILURES_MAX);
    expect(mayTry()).toBe(false);
    write(ID + DEFINITION_COUNT, module('new'));
    expect(backingOff(region, ID + DEFINITION_COUNT)).toBeUndefined();
  });
});

describe('a module that fails to load', () => {
  beforeEach(() => write(ID, module('broken')));

  it('may be tried until it has failed five times in a row', () => {
    expect(mayTry()).toBe(true);
    for (const failures of range(1, FAILURES_MAX - 1)) {
      expect(fail(1)).toEqual([failures]);
      expect(mayTry()).toBe(true);
    }
    expect(fail(1)).toEqual([5]);
    expect(mayTry()).toBe(false);
  });

  it('is tried by one worker when its back-off of 100 ms has ended; the others wait on', () => {
    fail(5);
    nowMs += 99;
    expect([mayTry(), mayTry()]).toEqual([false, false]);
    nowMs += 1;
    expect([mayTry(), mayTry(), mayTry()]).toEqual([true, false, false]);
  });

  it('is tried by one of two workers that both see the back-off end', () => {
    fail(5);
    nowMs += 100;
    let other = false;
    const meanwhile = (): void => {
      other = mayTry();
    };
    const until = DEFINITIONS + ID * DEFINITION_WORDS + DEFINITION_OPEN_UNTIL;
    expect(interrupted('before', 'compareExchange', until, meanwhile, mayTry)).toBe(false);
    expect(other).toBe(true);
  });

  it('is tried by another worker after as long again if the one that tried it never came back', () => {
    fail(5);
    nowMs += 100;
    expect(mayTry()).toBe(true); // and its thread dies
    nowMs += 99;
    expect(mayTry()).toBe(false);
    nowMs += 1;
    expect([mayTry(), mayTry()]).toEqual([true, false]);
  });

  it('backs off twice as long after each further failure, up to 30 s', () => {
    fail(5);
    for (const backoff of [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000, 30_000]) {
      nowMs += backoff - 1;
      expect(mayTry(), `before ${backoff} ms`).toBe(false);
      nowMs += 1;
      expect(mayTry(), `after ${backoff} ms`).toBe(true);
      fail(1);
    }
  });

  it('still backs off 30 s after so many failures that doubling would overflow', () => {
    fail(5_000);
    nowMs += 29_999;
    expect(mayTry()).toBe(false);
    nowMs += 1;
    expect(mayTry()).toBe(true);
  });

  it('has all its failures forgotten by one success, and the next back-off begins at 100 ms again', () => {
    fail(8);
    noteSuccess(region.m, ID);
    expect(mayTry()).toBe(true);
    expect(fail(4)).toEqual([1, 2, 3, 4]);
    expect(mayTry()).toBe(true);
    fail(1);
    nowMs += 99;
    expect(mayTry()).toBe(false);
    nowMs += 1;
    expect(mayTry()).toBe(true);
  });

  it.each([2 ** 31, 2 ** 32])('backs off as long while the shared clock passes %i', (wrap) => {
    nowMs = wrap - 50;
    fail(5);
    nowMs += 99;
    expect(mayTry()).toBe(false);
    nowMs += 1;
    expect([mayTry(), mayTry()]).toEqual([true, false]);
  });

  it('does not keep another module from being tried', () => {
    fail(5);
    expect(backingOff(region, ID + 1)).toBeUndefined();
  });
});

describe('the failure that opened the back-off', () => {
  beforeEach(() => write(ID, module('broken')));

  it('is what the refused jobs are told, with class, message, code and cause', () => {
    const error = Object.assign(new RangeError('no such table', { cause: new TypeError('because') }), { code: 'E_MINE' });
    fail(5);
    keepFailure(region, SELF, ID, toWire(error), new Scratch());
    const told = backingOff(region, ID);
    expect(told?.failures).toBe(5);
    const cause = fromWire(told?.cause) as Error & { code: string };
    expect(cause).toBeInstanceOf(RangeError);
    expect([cause.message, cause.code, (cause.cause as Error).message]).toEqual(['no such table', 'E_MINE', 'because']);
    expect(cause.cause).toBeInstanceOf(TypeError);
  });

  it('is told by threads that did not see the region grow for it', () => {
    const other: Region = { ...region };
    while (allocate(region, 10_000) !== NONE && region.m.length === other.m.length);
    fail(5);
    keepFailure(region, SELF, ID, toWire(new Error('x'.repeat(5_000))), new Scratch());
    expect((fromWire(backingOff(other, ID)?.cause) as Error).message).toHaveLength(5_000);
  });

  it('is left out where there was no room to keep it, and the jobs are refused all the same', () => {
    while (allocate(region, 16) !== NONE);
    fail(5);
    keepFailure(region, SELF, ID, toWire(new Error('x')), new Scratch());
    expect(backingOff(region, ID)).toEqual({ failures: 5, cause: undefined });
  });

  it('is the latest one', () => {
    fail(5);
    keepFailure(region, SELF, ID, toWire(new Error('the first, with a long text')), new Scratch());
    noteSuccess(region.m, ID);
    fail(5);
    keepFailure(region, SELF, ID, toWire(new Error('second')), new Scratch());
    expect((fromWire(backingOff(region, ID)?.cause) as Error).message).toBe('second');
  });
});
