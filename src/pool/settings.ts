/** What a worker is told when it is started. Made by the host, plain data. */
import type { Sequence, Slot } from '#base';

export interface WorkerSettings {
  readonly slot: Slot;
  /** Counts threads, never used twice: what users see as `workerId`. */
  readonly workerId: number;
  readonly maxBatchSize: number;
  readonly maxIdleMs: number;
  readonly maxJobs: number;
  readonly maxHeapMb: number;
  readonly maxPayloadBytes: number;
  /** Of unread results, in their units: above it nothing is started. */
  readonly unreadMost: number;
  readonly graceMs: number;
  readonly tasksPerWorker: number;
  readonly parallelism: number;
  /** URLs of the user's modules. */
  readonly hooks: string | undefined;
  readonly codec: string | undefined;
  /** Undefined: adaptive. */
  readonly spinUs: number | undefined;
  /** Where sequences of new lanes begin; 0 but in tests. */
  readonly firstSequence: Sequence;
}
