/** A host clock that tests turn forward: for times too long to wait, and to see that one has not come too early. Used in vitest's fork. */
import { afterEach, vi } from 'vitest';

afterEach(() => {
  vi.restoreAllMocks();
});

/** From here `performance.now()` of this thread is ahead by what was jumped; timers and worker threads are not touched. */
export function jumpableClock(): { jump(ms: number): void } {
  const real = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead);
  return {
    jump: (ms) => {
      ahead += ms;
    },
  };
}
