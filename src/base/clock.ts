/** Time that all threads of the process share: milliseconds as int32 ticks, compared by difference. Any thread. */
import { Math, process } from './realm.ts';

/**
 * From `process.hrtime`: `performance.now()` has an origin of its own in each worker.
 * Wraps after 49 days, so only differences below 24 days mean anything.
 */
export function ticks(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return (seconds * 1000 + Math.floor(nanoseconds / 1e6)) | 0;
}
