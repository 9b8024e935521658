/** Definitions: what a worker finds under an id, and when a module that fails to load is tried again. Time is a number here. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fromWire, type Slot, toWire } from '#base';
import { allocate, DEFINITION_COUNT, DEFINITION_OPEN_UNTIL, DEFINITION_WORDS, DEFINITIONS, NONE, REGION_TOP, type Region } from '#memory';
import { backingOff, FAILURES_MAX, knownDefinitions, noteFailure, noteSuccess, readDefinition, writeDefinition } from '#pool';
import { realm } from '../../support/open-realm.ts';
import { range } from '../ring/battery.ts';
import { interrupted } from '../ring/interrupt.ts';
import { diesAfter, interruptedAfter, worldOf } from './world.ts';

const ID = 7;
const SELF = 1 as Slot;
const OTHER = 2 as Slot;
let region: Region;
let nowMs: number;

beforeEach(() => {
  region = worldOf(3);
  nowMs = 1_000_000;
  vi.spyOn(realm, 'hrtime').mockImplementation(() => [Math.floor(nowMs / 1000), (nowMs % 1000) * 1e6]);
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
const fail = (times: number, ...thrown: [cause?: unknown]): number[] => {
  const cause = toWire(thrown.length === 0 ? new Error('broken') : thrown[0]); // undefined can be thrown, too
  return range(0, times).map(() => noteFailure(region, SELF, ID, cause));
};
/** What the jobs refused now are told. */
const told = (): Error => fromWire(backingOff(region, ID)?.cause) as Error;
/** Whether a worker may try the module now. */
const mayTry = (): boolean => backingOff(region, ID) === undefined;

describe('a definition', () => {
  it('is found under its id, of either kind, with any text', () => {
    const made = [module('zähler'), { kind: 'function', name: 'f', source: '(x) => `日本` + x' }];
    for (const [k, definition] of made.entries()) write(k + 1, definition);
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
    for (const begin of [wrap - 50, wrap - 99, wrap - 100, wrap - 1]) {
      nowMs = begin;
      write(ID, module('broken'));
      fail(5);
      for (const later of [1, 10, 49, 50, 98, 99]) {
        nowMs = begin + later;
        expect(mayTry(), `${later} ms after ${begin}`).toBe(false);
      }
      nowMs = begin + 100;
      expect([mayTry(), mayTry()]).toEqual([true, false]);
    }
    nowMs = wrap - 150;
    write(ID, module('broken'));
    fail(5);
    nowMs = wrap + 10; // the back-off ended before the clock wrapped
    expect(mayTry()).toBe(true);
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
    fail(4);
    expect(fail(1, error)).toEqual([5]);
    expect(backingOff(region, ID)?.failures).toBe(5);
    const cause = told() as Error & { code: string };
    expect(cause).toBeInstanceOf(RangeError);
    expect([cause.message, cause.code, (cause.cause as Error).message]).toEqual(['no such table', 'E_MINE', 'because']);
    expect(cause.cause).toBeInstanceOf(TypeError);
  });

  it.each([['a text'], [7.5], [null], [undefined], [true], [{ code: 1 }]])(
    'is told whatever it was that the module threw: %j',
    (thrown) => {
      fail(5, thrown);
      expect(told()).toEqual(thrown);
    },
  );

  it('is told by threads that did not see the region grow for it', () => {
    const other: Region = { ...region };
    while (allocate(region, 10_000) !== NONE && region.m.length === other.m.length);
    fail(5, new Error('x'.repeat(5_000)));
    expect((fromWire(backingOff(other, ID)?.cause) as Error).message).toHaveLength(5_000);
  });

  it('is left out where there was no room to keep it, and the jobs are refused all the same', () => {
    while (allocate(region, 16) !== NONE);
    expect(fail(5)).toEqual([1, 2, 3, 4, 5]);
    expect(backingOff(region, ID)).toEqual({ failures: 5, cause: undefined });
  });

  it('is not replaced by those that come after it, nor does keeping it take memory again and again', () => {
    fail(5, new Error('the first'));
    const top = region.m[REGION_TOP];
    for (const k of range(0, 2_000)) fail(1, new Error(`${k}: ${'x'.repeat(1_000)}`));
    expect([told().message, region.m[REGION_TOP]]).toEqual(['the first', top]);
  });

  it('is forgotten by a success and by a new definition: what is told is never older than its row of failures', () => {
    fail(5, new Error('the first, with a long text'));
    noteSuccess(region.m, ID);
    fail(4, new Error('before'));
    fail(1, new Error('second'));
    expect(told().message).toBe('second');
    write(ID, module('another'));
    fail(5, new Error('third'));
    expect(told().message).toBe('third');
  });

  it('is not told without need: not before the back-off begins', () => {
    fail(4);
    expect(backingOff(region, ID)).toBeUndefined();
  });

  it('is there as soon as the count says so, wherever the thread that counts it is stopped', () => {
    for (let steps = 0; ; steps++) {
      write(ID, module('broken'));
      fail(4);
      const died = diesAfter(steps, () => fail(1, new Error('the fifth')));
      const refused = backingOff(region, ID);
      if (refused !== undefined)
        expect((fromWire(refused.cause) as Error | undefined)?.message, `after ${steps} accesses`).toBe('the fifth');
      if (!died) break;
    }
    expect(told().message).toBe('the fifth');
  });

  const LONG = 'long '.repeat(300);
  it.each([
    ['the fourth and the fifth', 3, new RangeError('short'), new TypeError(LONG)],
    ['the fifth and the sixth', 4, new RangeError('short'), new TypeError(LONG)],
    ['the fifth and the sixth, of another form', 4, 'short', new TypeError(LONG)],
    ['the fifth and the sixth, a shorter text', 4, LONG, 'short'],
  ])('of two at once, %s, is one of them and whole', (_which, before, first, second) => {
    const wrong: string[] = [];
    const other = (): void => void noteFailure(region, OTHER, ID, toWire(second));
    const textOf = (thrown: unknown): unknown => (thrown instanceof Error ? thrown.message : thrown);
    const toldNow = (): unknown => {
      try {
        const refused = backingOff(region, ID);
        return refused === undefined ? 'may try' : textOf(fromWire(refused.cause));
      } catch (thrown) {
        return `it cannot be read: ${thrown}`;
      }
    };
    for (let steps = 0, between = true; between; steps++) {
      write(ID, module('broken'));
      fail(before);
      const look = (): void => {
        const text = toldNow();
        if (!['may try', textOf(first), textOf(second)].includes(text)) wrong.push(`the other after ${steps} accesses: ${text}`);
      };
      between = interruptedAfter(steps, other, look, () => fail(1, first));
    }
    expect(wrong.map((text) => JSON.stringify(text).slice(0, 80))).toEqual([]);
  });
});
