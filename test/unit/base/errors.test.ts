/** The code table, the one error class, and the assertion. */
import { describe, expect, it } from 'vitest';
import { assert, BrokenInvariant, ERRORS, RailheadError, railheadError } from '#base';

const errorsUrl = new URL('../../../dist/base/errors.js', import.meta.url).href;

describe('RailheadError', () => {
  it('has a one-sentence meaning for every code', () => {
    expect(Object.keys(ERRORS)).toHaveLength(15);
    for (const meaning of Object.values(ERRORS)) expect(meaning).toMatch(/^[A-Z`].*\.$/);
  });

  it('carries its code, message and only the fields that were given', () => {
    const error = railheadError('E_QUEUE_FULL', 'Expected room for one more task');
    expect(error).toBeInstanceOf(RailheadError);
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe('RailheadError');
    expect(error.message).toBe('Expected room for one more task');
    expect(Object.keys(error)).toEqual(['code']);
    expect(Object.hasOwn(error, 'cause')).toBe(false);
    expect(error.stack).toMatch(/^RailheadError: Expected room/);
  });

  it('carries how a worker died, and keeps the cause out of the enumerable properties', () => {
    const cause = new TypeError('first');
    const error = railheadError('E_WORKER_DIED', 'x', { exitCode: 1, reason: 'oom', cause });
    expect({ ...error }).toEqual({ code: 'E_WORKER_DIED', exitCode: 1, reason: 'oom' });
    expect(error.cause).toBe(cause);
    expect(railheadError('E_WORKER_TERMINATED', 'x', { retryable: true }).retryable).toBe(true);
  });

  it('is an AbortError by name where the code is ABORT_ERR, in the stack too', () => {
    const error = railheadError('ABORT_ERR', 'The task was aborted', { cause: undefined });
    expect(error.name).toBe('AbortError');
    expect(error.stack).toMatch(/^AbortError: The task was aborted/);
    expect(Object.keys(error)).toEqual(['code']);
    expect(Object.hasOwn(error, 'cause')).toBe(true);
  });

  it('is recognized by another copy of the package', async () => {
    const other = (await import(`${errorsUrl}?copy`)) as typeof import('../../../src/base/errors.ts');
    expect(other.RailheadError).not.toBe(RailheadError);
    expect(other.railheadError('E_CAPTURED', 'x') instanceof RailheadError).toBe(true);
    expect(railheadError('E_CAPTURED', 'x') instanceof other.RailheadError).toBe(true);
  });

  it('claims nothing else: not another error, a primitive, or a Proxy that has every property', () => {
    const all = new Proxy({}, { has: () => true, get: () => 1 });
    for (const value of [new Error('x'), { code: 'E_CAPTURED' }, all, null, undefined, 0, 'x'])
      expect((value as object) instanceof RailheadError).toBe(false);
  });

  it('lets a subclass be asked about itself', () => {
    class Mine extends RailheadError {}
    expect(new Mine('E_CAPTURED', 'x') instanceof Mine).toBe(true);
    expect(new Mine('E_CAPTURED', 'x') instanceof RailheadError).toBe(true);
    expect(railheadError('E_CAPTURED', 'x') instanceof Mine).toBe(false);
  });
});

describe('assert', () => {
  it('passes on what is true and throws BrokenInvariant otherwise', () => {
    expect(() => assert(1, 'x')).not.toThrow();
    expect(() => assert(0, 'I2: the head is ours')).toThrow(BrokenInvariant);
    const error = new BrokenInvariant('x');
    expect(error.name).toBe('BrokenInvariant');
    expect(Object.keys(error)).toEqual([]);
    expect(error.stack).toMatch(/^BrokenInvariant: x/);
  });
});
