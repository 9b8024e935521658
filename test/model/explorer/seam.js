/** What rewritten code calls besides the seam itself: for values that are known to be a model thread's affair only when met. */
import { AWAIT, pending } from './ops.js';

const GENERATOR = Object.getPrototypeOf(function* () {}).prototype;

/** Whether a rewritten function was called and has yet to run. */
export const isRunning = (value) => typeof value === 'object' && value !== null && Object.prototype.isPrototypeOf.call(GENERATOR, value);

/** The value of a call of which only running it tells whether it reaches the seam. */
export function* run(value) {
  return isRunning(value) ? yield* value : value;
}

/** `await value`: of what `waitAsync` returned, the thread may block here; anything else must be there already. */
export function* awaiting(value, site) {
  if (typeof value?.then === 'function') throw new Error('A real promise is awaited: the model knows only what waitAsync returned');
  if (value?.isWaiter !== true) return value;
  pending.op = AWAIT;
  pending.m = value;
  return yield site;
}

/** Stands where code that reaches the seam cannot be modelled: it fails when it is run, not when it is loaded. */
export function refuse(why) {
  throw new Error(`The model cannot run this: ${why}`);
}
