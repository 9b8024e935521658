/**
 * The channel between the host and one worker, for what shared memory cannot carry: both ends' message table, and the worker's
 * end. A channel of our own: `parentPort` belongs to the handlers.
 *
 * Messages are few and never needed to go on with plain work. Each has a type, and each end a function for every type.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Entry } from '#base';

/** What the host tells a worker. */
export type ToWorker =
  /** The value of a job that the worker has started lies in `port`; without one it is gone. */
  { readonly type: 'argument'; readonly entry: Entry; readonly port: MessagePort | undefined };

/** What a worker tells the host. */
export type ToHost =
  /** It has started a job whose value lies in a port of the host's. */
  | { readonly type: 'ask'; readonly entry: Entry }
  /** The result of a job that it settles next. */
  | { readonly type: 'result'; readonly entry: Entry; readonly port: MessagePort };

/** One function for each type of message. */
export type Receivers<M extends { readonly type: string }> = { readonly [T in M['type']]: (message: Extract<M, { readonly type: T }>) => void };

/** Calls the function for the message's type. */
export function receive<M extends { readonly type: string }>(receivers: Receivers<M>, message: M): void {
  receivers[message.type as M['type']](message as never);
}

/** @thread worker. Sends to the host; what comes from it is received in turns of the event loop. */
export class WorkerChannel {
  readonly #port: MessagePort;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  /** From here messages are received. */
  open(receivers: Receivers<ToWorker>): void {
    this.#port.on('message', (message: ToWorker) => receive(receivers, message));
    this.#port.unref(); // the worker's loop keeps the thread alive as long as it is wanted
  }

  send(message: ToHost, transfer: readonly MessagePort[] = []): void {
    this.#port.postMessage(message, transfer);
  }
}
