/**
 * What a failure proves of a planted fault. A mutant that merely throws shows that its text is wrong, not that the litmus tests
 * see the fault.
 *
 *   outcome, race, invariant, assertion   caught: a wrong result, a lost wake-up, a race, or what the product or the model states
 *   unseen                                caught if the fault declares `expects: 'unseen'`; otherwise it is as if nothing failed
 *   threw                                 caught if the fault declares `expects: 'threw'`; otherwise the fault is badly planted
 *   mistake                               always badly planted
 */
export const CAUGHT = 'caught';
export const BADLY_PLANTED = 'badly planted';
export const NOTHING = 'nothing';

/** What a mutant may declare. */
export const EXPECTED = ['unseen', 'threw'];
/** Errors of the language: whoever planted the fault named what is not there, or nothing could be read any more. */
const MISTAKES = [ReferenceError, SyntaxError, TypeError];
/** The product's `assert` throws it. By name: each load of the product has a class of its own. */
const ASSERTION = 'BrokenInvariant';

/** Whose code a planted fault changes. A fault in anything but the product shows that the check bites, and nothing about what ships. */
export const SORTS = ['product', 'mirror', 'model'];
/** @param {import('./litmus.js').Mutant} mutant @returns {'product' | 'mirror' | 'model'} */
export function sortOf({ module }) {
  if (module.startsWith('parts/')) return 'mirror';
  return module.endsWith('.model.js') ? 'model' : 'product';
}

/** The kind of a failure by an error. @param {unknown} error @returns {'assertion' | 'mistake' | 'threw'} */
export function kindOf(error) {
  if (error?.name === ASSERTION && error.message !== '') return 'assertion';
  return MISTAKES.some((type) => error instanceof type) ? 'mistake' : 'threw';
}

/** @param {import('./check.js').Failure} failure @param {string | undefined} expects as the mutant declares it */
export function proofOf({ kind }, expects) {
  if (kind === 'mistake') return BADLY_PLANTED;
  if (kind === 'threw') return expects === kind ? CAUGHT : BADLY_PLANTED;
  if (kind === 'unseen') return expects === kind ? CAUGHT : NOTHING;
  return CAUGHT;
}
