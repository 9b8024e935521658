/** A host clock that tests turn forward: for times too long to wait, and to see that one has not come too early. Used in vitest's fork. */
import { afterEach, vi } from 'vitest';
import { realm } from '../support/open-realm.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** From here the library's `performance.now()` in this thread is ahead by what was jumped; timers and worker threads are not touched. */
export function jumpableClock(): { jump(ms: number): void } {
  const real = realm.now as () => number;
  let ahead = 0;
  vi.spyOn(realm, 'now').mockImplementation(() => real() + ahead);
  return {
    jump: (ms) => {
      ahead += ms;
    },
  };
}
