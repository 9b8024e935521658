/** The queues that storms go over: each profile once in every run, in a process of its own. Pure. */

const common = { concurrency: 8, parallelism: 8, graceMs: 20, resourceLimits: { maxOldGenerationSizeMb: 32 } };

/** `weight`: its part of the faults. `internals`: small rings and records, and sequences near a wrap. */
export const PROFILES = {
  plain: { weight: 3, queue: { ...common } },
  'small rings': { weight: 3, queue: { ...common, graceMs: 1 }, internals: { ringCapacity: 2, rotation: 64, firstSequence: 2 ** 31 - 8 } },
  overlapping: { weight: 3, queue: { ...common, tasksPerWorker: 4 }, internals: { ringCapacity: 2, rotation: 64, firstSequence: -8 } },
  retiring: {
    weight: 2,
    queue: { ...common, maxJobs: 20, maxIdleMs: 5, maxBatchSize: 255 },
    internals: { ringCapacity: 2, rotation: 64, firstSequence: 2 ** 31 - 40 },
  },
  'bounded, limited': {
    weight: 2,
    queue: { ...common, maxPending: 64, backlogMax: 32, timeoutMs: 4_000, maxBatchSize: 1, maxIdleMs: 0 },
    internals: { ringCapacity: 2, rotation: 64, firstSequence: 2 ** 31 - 3 },
  },
  'single file': { weight: 1, queue: { ...common, concurrency: 1, parallelism: 1, graceMs: 0 } },
  /** Many short lives: each queue is stopped in the midst of its faults. */
  stopping: {
    weight: 2,
    rounds: 30,
    queue: { ...common, concurrency: 4, parallelism: 4 },
    internals: { ringCapacity: 2, rotation: 64, firstSequence: 2 ** 31 - 8 },
  },
};
