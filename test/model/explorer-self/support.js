/** For the explorer's own tests: fixtures loaded once, litmus tests picked by name. Main thread of a test process. */
import { fileURLToPath } from 'node:url';
import { check } from '../explorer/check.js';
import { load } from '../explorer/link.js';

export const FIXTURES = fileURLToPath(new URL('./fixtures', import.meta.url));
const loaded = new Map();

/** Everything a fixture declares. @param {string} name @param {import('../explorer/litmus.js').Mutant} [mutant] */
export async function fixture(name, mutant) {
  const key = `${name} ${mutant?.name}`;
  if (!loaded.has(key)) loaded.set(key, await load(`${FIXTURES}/${name}.model.js`, mutant));
  return loaded.get(key);
}

/** @param {string} name of the fixture @param {string} title of the litmus test */
export async function pick(name, title) {
  const found = (await fixture(name)).litmuses.find((litmus) => litmus.name === title);
  if (found === undefined) throw new Error(`${name} has no litmus '${title}'`);
  return found;
}

/** Checks one litmus test of a fixture. */
export const checked = async (name, title, options = {}) => check(await pick(name, title), undefined, options);

/** The same litmus test with every outcome allowed, for tests that compare searches. */
export const allowingAll = (litmus) => ({
  ...litmus,
  outcomes: new Proxy({}, { getOwnPropertyDescriptor: () => ({ value: '', configurable: true, enumerable: true }) }),
});
