/** Options of one run and of `stop`. */
import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { readRunOptions, readStopOptions, type RunOptions, type StopOptions } from '#base';

const NONE = { signal: undefined, timeoutMs: undefined, deadlineMs: 0, transfer: undefined, retry: 0, onProgress: undefined };

describe('the options of a run', () => {
  it('are one frozen object where none are given', () => {
    expect(readRunOptions(undefined)).toBe(readRunOptions(undefined));
    expect(Object.isFrozen(readRunOptions(undefined))).toBe(true);
    expect(readRunOptions(undefined)).toStrictEqual(NONE);
    expect(readRunOptions({})).toStrictEqual(NONE);
    expect(readRunOptions({ signal: undefined, onCrash: undefined, transfer: undefined })).toStrictEqual(NONE);
  });

  it('are taken as given', () => {
    const { signal } = new AbortController();
    const { port1, port2 } = new MessageChannel();
    const onProgress = (): void => {};
    const transfer = [port1, new ArrayBuffer(1)];
    const options = readRunOptions({ signal, timeoutMs: 0.5, deadlineMs: 2 ** 40, transfer, onCrash: { retry: 2 }, onProgress });
    expect(options).toStrictEqual({ signal, timeoutMs: 0.5, deadlineMs: 2 ** 40, transfer, retry: 2, onProgress });
    expect(options.signal).toBe(signal);
    expect(options.transfer).toBe(transfer);
    expect(readRunOptions({ signal: AbortSignal.abort() }).signal?.aborted).toBe(true);
    expect(readRunOptions({ onCrash: 'reject' }).retry).toBe(0);
    expect(readRunOptions({ onCrash: { retry: 0 }, timeoutMs: 0 })).toMatchObject({ retry: 0, timeoutMs: 0 });
    port2.close();
  });

  it.each<[unknown, string, string]>([
    [null, 'ERR_INVALID_ARG_TYPE', 'Expected `options` to be an object, got `null` (null)'],
    [500, 'ERR_INVALID_ARG_TYPE', 'Expected `options` to be an object, got `500` (number)'],
    [[], 'ERR_INVALID_ARG_TYPE', 'Expected `options` to be an object, got `[]` (array)'],
    [
      { timeout: 5 },
      'ERR_INVALID_ARG_TYPE',
      'Expected `options` to hold known options only, got `"timeout"` (string); did you mean `timeoutMs`?',
    ],
    [
      { transferList: [] },
      'ERR_INVALID_ARG_TYPE',
      'Expected `options` to hold known options only, got `"transferList"` (string); did you mean `transfer`?',
    ],
    [
      { abortSignal: undefined },
      'ERR_INVALID_ARG_TYPE',
      'Expected `options` to hold known options only, got `"abortSignal"` (string); did you mean `signal`?',
    ],
    [
      { name: 'sha' },
      'ERR_INVALID_ARG_TYPE',
      'Expected `options` to hold known options only, got `"name"` (string); the export is named by `handler(url, name)`',
    ],
    [{ signal: {} }, 'ERR_INVALID_ARG_TYPE', 'Expected `signal` to be an AbortSignal, got `{}` (object)'],
    [
      { signal: new AbortController() },
      'ERR_INVALID_ARG_TYPE',
      'Expected `signal` to be an AbortSignal, got `an instance of AbortController` (object)',
    ],
    [{ timeoutMs: '5' }, 'ERR_INVALID_ARG_TYPE', 'Expected `timeoutMs` to be a number of ms from 0, got `"5"` (string)'],
    [{ timeoutMs: -1 }, 'ERR_OUT_OF_RANGE', 'Expected `timeoutMs` to be a number of ms from 0, got `-1` (number)'],
    [{ deadlineMs: Number.NaN }, 'ERR_OUT_OF_RANGE', 'Expected `deadlineMs` to be a number of ms from 0, got `NaN` (number)'],
    [{ transfer: new Set() }, 'ERR_INVALID_ARG_TYPE', 'Expected `transfer` to be an array, got `an instance of Set` (object)'],
    [{ onCrash: 'retry' }, 'ERR_INVALID_ARG_TYPE', 'Expected `onCrash` to be "reject" or an object `{ retry }`, got `"retry"` (string)'],
    [{ onCrash: {} }, 'ERR_INVALID_ARG_TYPE', 'Expected `onCrash.retry` to be an integer from 0 to 255, got `undefined` (undefined)'],
    [{ onCrash: { retry: '1' } }, 'ERR_INVALID_ARG_TYPE', 'Expected `onCrash.retry` to be an integer from 0 to 255, got `"1"` (string)'],
    [{ onCrash: { retry: 256 } }, 'ERR_OUT_OF_RANGE', 'Expected `onCrash.retry` to be an integer from 0 to 255, got `256` (number)'],
    [
      { onCrash: { retries: 1 } },
      'ERR_INVALID_ARG_TYPE',
      'Expected `onCrash` to hold known options only, got `"retries"` (string); the known ones are `retry`',
    ],
    [{ onProgress: 1 }, 'ERR_INVALID_ARG_TYPE', 'Expected `onProgress` to be a function, got `1` (number)'],
  ])('are refused with what was expected and what was given: %o', (options, code, message) => {
    expect(() => readRunOptions(options as RunOptions)).toThrow(expect.objectContaining({ code, message }) as Error);
  });
});

describe('the options of stop', () => {
  it('are optional, and checked', () => {
    expect(readStopOptions(undefined)).toBe(readStopOptions(undefined));
    expect(readStopOptions({})).toStrictEqual({ timeoutMs: undefined, signal: undefined });
    const { signal } = new AbortController();
    expect(readStopOptions({ timeoutMs: 0, signal })).toStrictEqual({ timeoutMs: 0, signal });
    const refused = (options: unknown) => () => readStopOptions(options as StopOptions);
    expect(refused({ timeoutMs: Infinity })).toThrow('Expected `timeoutMs` to be a number of ms from 0, got `Infinity` (number)');
    expect(refused({ signal: null })).toThrow('Expected `signal` to be an AbortSignal, got `null` (null)');
    expect(refused({ graceMs: 1 })).toThrow(TypeError);
    expect(refused(1000)).toThrow('Expected `options` to be an object, got `1000` (number)');
  });
});
