/** Queues, as the host thread uses them. */
export { BaseQueue, INTERNALS } from './base-queue.ts';
export type { QueueEvents } from './reports.ts';
export type { Internals } from './core.ts';
export type { Stats } from './gauges.ts';
export { type AbsolutePath, type Handler, type HandlerFunction, handler, ModuleHandler } from './handler.ts';
export type { StopReport } from './stopping.ts';
export { Task } from './task.ts';
export { TaskQueue } from './task-queue.ts';
