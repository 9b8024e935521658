/** A module handler: runs in worker threads, and imports whatever it needs. */
import { createHash } from 'node:crypto';

export function sha256(text) {
  return createHash('sha256').update(text).digest('hex');
}
