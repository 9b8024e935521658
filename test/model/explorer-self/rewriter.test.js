/** The rewriter: code means the same afterwards; and planted faults go where they should. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as model from '../../../dist/memory/atomics.model.js';
import * as real from '../../../dist/memory/atomics.js';
import { check } from '../explorer/check.js';
import { checked, FIXTURES, fixture } from './support.js';

describe('rewritten code', () => {
  it('means what it meant', async () => {
    const { litmuses } = await fixture('shapes');
    for (const { name } of litmuses) expect((await checked('shapes', name)).failure, name).toBeNull();
  });
});

describe('the model seam', () => {
  it('has the functions of the real one', () => {
    const functions = (module) =>
      Object.keys(module)
        .filter((name) => typeof module[name] === 'function')
        .sort();
    expect(functions(model)).toEqual(functions(real));
  });
  it('refuses a call that nobody carries out', () => {
    model.load(new Int32Array(1), 0);
    expect(() => model.load(new Int32Array(1), 0)).toThrow('did not rewrite');
  });
});

describe('planted faults', () => {
  it('are in the code that runs, and are caught', async () => {
    const { mutants } = await fixture('park');
    for (const mutant of mutants) {
      const { litmuses } = await fixture('park', mutant);
      expect(check(litmuses[0], undefined).failure?.text, mutant.name).toContain('deadlock');
    }
  });
  it('must match exactly once', async () => {
    const text = readFileSync(`${FIXTURES}/parker.js`, 'utf8');
    const times = text.split('PERMIT').length - 1;
    await expect(fixture('park', { name: 'x', module: 'parker.js', replace: ['PERMIT', ''], by: undefined })).rejects.toThrow(
      `it matches ${times} times`,
    );
    await expect(fixture('park', { name: 'y', module: 'parker.js', replace: [/nowhere/, ''], by: undefined })).rejects.toThrow(
      'it matches 0 times',
    );
    await expect(fixture('park', { name: 'z', module: 'ring/lane.js', replace: ['x', 'y'], by: undefined })).rejects.toThrow('never loads');
  });
});
