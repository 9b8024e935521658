/** A broken invariant is our bug, never the caller's: the worker dies and is replaced. Any thread. */
import { Error, Object } from './realm.ts';

/** Thrown by `assert` alone. Nobody may catch it but the edge of a thread. */
export class BrokenInvariant extends Error {
  static {
    // On the prototype and hidden, as the built-in classes have it.
    Object.defineProperty(BrokenInvariant.prototype, 'name', { value: 'BrokenInvariant', writable: true, configurable: true });
  }
}

/** States what must hold here. `message` says which invariant, and what follows if it does not hold. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new BrokenInvariant(message);
}
