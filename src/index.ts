/** The package `railhead`: worker threads that pull. */
export { ERRORS, type ErrorCode, type FailedJob, type QueueOptions, RailheadError, type RunOptions, type StopOptions } from '#base';
export type { TaskHandle } from '#pool';
export { type Handler, type HandlerFunction, handler, type ModuleHandler, type Stats, type StopReport, Task, TaskQueue } from '#queue';
