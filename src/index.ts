/** The package `railhead`: worker threads that pull. */
export {
  ERRORS,
  type ErrorCode,
  type FailedJob,
  type QueueOptions,
  RailheadError,
  type RunOptions,
  type StopOptions,
  type Transferable,
  type WarmOptions,
} from '#base';
export { type Codec, move } from '#payload';
export type { TaskHandle } from '#pool';
export {
  type AbsolutePath,
  type Handler,
  type HandlerFunction,
  handler,
  type ModuleHandler,
  type QueueEvents,
  type Stats,
  type StopReport,
  Task,
  TaskQueue,
} from '#queue';
