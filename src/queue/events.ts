/** The events of a queue: their names, and what listeners are given. Types only. */
import type { EventEmitter } from 'node:events';
import type { FailedJob } from '#base';

/** What each event passes to its listeners. Each is told in a microtask of its own, never inside a verb. */
export interface QueueEvents {
  /** A pushed or submitted task failed, or an error was thrown outside any task: what was thrown, and where. */
  error: [error: unknown, job: FailedJob];
  /** There is room again: the backlog has fallen to half of `backlogMax`, or `maxPending` is no longer reached. */
  drain: [];
  /** More than `backlogMax` tasks wait. */
  needsDrain: [];
  /** A worker is ready. Numbers count from 1 in each queue. */
  workerStart: [{ readonly workerId: number }];
  /** A worker's thread has ended. */
  workerExit: [{ readonly workerId: number; readonly exitCode: number }];
  /** Nothing is started for a while, since it failed five times in a row: the module of this handler, or (undefined) every worker. */
  crashLoop: [{ readonly handler: string | undefined; readonly error: unknown }];
}

/** With the two that every EventEmitter has. */
interface AllEvents extends QueueEvents {
  newListener: [name: string | symbol, listener: (...args: unknown[]) => void];
  removeListener: [name: string | symbol, listener: (...args: unknown[]) => void];
}

type Name = keyof AllEvents;
type Listener<N extends Name> = (...args: AllEvents[N]) => void;

/** An EventEmitter of these events and no others: a misspelt name does not compile. */
export interface QueueEmitter extends EventEmitter {
  on<N extends Name>(name: N, listener: Listener<N>): this;
  once<N extends Name>(name: N, listener: Listener<N>): this;
  off<N extends Name>(name: N, listener: Listener<N>): this;
  addListener<N extends Name>(name: N, listener: Listener<N>): this;
  removeListener<N extends Name>(name: N, listener: Listener<N>): this;
  prependListener<N extends Name>(name: N, listener: Listener<N>): this;
  prependOnceListener<N extends Name>(name: N, listener: Listener<N>): this;
  emit<N extends Name>(name: N, ...args: AllEvents[N]): boolean;
}
