/** Workers: parking, claiming, running; and the repair after one has died. */
export { HostChannel, LATE_MS, receive, type Receivers, type ToHost, type ToWorker, WorkerChannel } from './channel.ts';
export * from './claim.ts';
export * from './definition.ts';
export * from './guard.ts';
export * from './handlers.ts';
export { loadHooks } from './hooks.ts';
export * from './idle.ts';
export * from './life.ts';
export * from './recover.ts';
export type { WorkerSettings } from './settings.ts';
export * from './sources.ts';
export { TaskHandle } from './task-handle.ts';
export * from './terminate.ts';
export { WorkerLoop } from './worker.ts';
