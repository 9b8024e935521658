/** What counts as catching a planted fault: a violation, never a mutant that merely throws. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mutant, takeDeclared } from '../explorer/litmus.js';
import { kindOf, proofOf, SORTS, sortOf } from '../explorer/proof.js';
import { runFaults } from '../explorer/runner.js';
import { FIXTURES, fixture } from './support.js';

/** What the run says of each fault of a fixture, without what follows. */
async function said(name) {
  const lines = [];
  const counts = await runFaults({ name, file: `${FIXTURES}/${name}.model.js` }, { seconds: 20 }, (line) => lines.push(line));
  return { text: lines.join('\n'), counts };
}

describe('a planted fault', () => {
  it('counts as caught, not caught or badly planted as its failure proves, and is named', async () => {
    const { mutants } = await fixture('proofs');
    const { text, counts } = await said('proofs');
    // Each name begins with the verdict, which the run prints before the name.
    for (const { name } of mutants) expect(text).toContain(`${name.slice(0, name.indexOf(':'))}: ${name}`);
    const caught = mutants.filter(({ name }) => name.startsWith('caught')).length;
    expect(counts).toMatchObject({ passed: caught, failed: mutants.length - caught });
  });

  it('that throws is printed with its error', async () => {
    const { text } = await said('proofs');
    expect(text).toContain('ReferenceError: nowhere is not defined');
    expect(text).toContain('BrokenInvariant: a flag is set after its value');
    expect(text).toMatch(/no code at all: it cannot be loaded\n +\w*Error/);
  });

  it('may expect an outcome never seen or an error, and nothing else', () => {
    const given = { module: 'x.js', replace: ['a', 'b'] };
    expect(() => mutant('x', { ...given, expects: 'race' })).toThrow('nothing is caught as `race`');
    expect(() => mutant('x', { ...given, expect: 'threw' })).toThrow('a mutant has no `expect`');
  });
});

describe('the kind of an error', () => {
  it('is an assertion with a message, a mistake, or another', () => {
    const broken = (message) => Object.assign(new Error(message), { name: 'BrokenInvariant' });
    expect(kindOf(broken('it must hold'))).toBe('assertion');
    expect(kindOf(broken(''))).toBe('threw');
    for (const Type of [ReferenceError, SyntaxError, TypeError]) expect(kindOf(new Type('x'))).toBe('mistake');
    expect(kindOf(new RangeError('x'))).toBe('threw');
    expect(kindOf(undefined)).toBe('threw');
  });

  it('decides what it proves', () => {
    for (const kind of ['outcome', 'race', 'invariant', 'assertion']) expect(proofOf({ kind }, undefined), kind).toBe('caught');
    expect(proofOf({ kind: 'unseen' }, 'threw')).toBe('nothing');
    expect(proofOf({ kind: 'threw' }, 'unseen')).toBe('badly planted');
    expect(proofOf({ kind: 'mistake' }, 'threw')).toBe('badly planted');
  });
});

describe('docs/testing.md', () => {
  it('lists the planted faults that do not change the product, and counts all', async () => {
    const text = readFileSync(new URL('../../../docs/testing.md', import.meta.url), 'utf8');
    const folder = new URL('../', import.meta.url);
    const rows = [];
    const counts = { product: 0, mirror: 0, model: 0 };
    takeDeclared();
    for (const file of readdirSync(folder)
      .filter((name) => name.endsWith('.model.js'))
      .sort()) {
      await import(new URL(file, folder).href);
      const names = { product: [], mirror: [], model: [] };
      for (const planted of takeDeclared().mutants) names[sortOf(planted)].push(planted.name);
      for (const sort of SORTS) counts[sort] += names[sort].length;
      const told = (list) => list.join('; ') || '–';
      if (names.mirror.length + names.model.length > 0)
        rows.push(`| \`${file.replace('.model.js', '')}\` | ${names.product.length} | ${told(names.mirror)} | ${told(names.model)} |`);
    }
    expect(text).toContain(rows.join('\n'));
    expect(text).toContain(
      `**${counts.product}** change the product, **${counts.mirror}** a mirror of it, **${counts.model}** the model itself`,
    );
  });
});
