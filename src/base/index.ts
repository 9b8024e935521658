/** The folder's single entry: what every layer may use, on any thread. */
export * from './realm.ts';
export { assert, BrokenInvariant } from './assert.ts';
export * from './brand.ts';
export { cpuQuota, groupFolders, memoryLimit, type ReadText } from './cgroups.ts';
export { ticks } from './clock.ts';
export { ERRORS, RailheadError, railheadError, type DeathReason, type ErrorCode, type ErrorExtra } from './errors.ts';
export { fromWire } from './error-unwire.ts';
export { toWire, type ErrorWire, type WireValue } from './error-wire.ts';
export { outOfRange, wrongType } from './check.ts';
export { readQueueOptions, type FailedJob, type QueueOptions, type ResolvedOptions, type ThreadOptions } from './options.ts';
export { parallelism, type ProcessorSource } from './parallelism.ts';
export { got, messageOf, readable } from './readable.ts';
export {
  readRunOptions,
  readStopOptions,
  readWarmOptions,
  type ResolvedRunOptions,
  type ResolvedStopOptions,
  type ResolvedWarmOptions,
  type RunOptions,
  type StopOptions,
  type Transferable,
  type WarmOptions,
} from './run-options.ts';
