/**
 * The channel between the host and one worker, for what shared memory cannot carry: both ends, and
 * what they say to each other. A channel of our own: `parentPort` belongs to the handlers.
 *
 * Messages are few and never needed to go on with plain work. Each has a type, and each end a function for every type.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { type Entry, type ErrorWire, postMessage, push } from '#base';

/** What the host tells a worker. */
export type ToWorker =
  /** The value of a job that the worker has started lies in `port`; without one it is gone. */
  | { readonly type: 'argument'; readonly entry: Entry; readonly port: MessagePort | undefined }
  /** The answer to `ask` comes late: the worker may be at something else by now, and asks again when it has room. */
  | { readonly type: 'late'; readonly entry: Entry }
  /** The submitter has given up on a running job, or the queue ends: fire its `task.signal`. */
  | { readonly type: 'abort'; readonly entry: Entry; readonly reason: ErrorWire }
  /** Load all handlers known now, and answer `warm`. */
  | { readonly type: 'warm' };

/** What a worker tells the host. */
export type ToHost =
  /** It has started a job whose value lies in a port of the host's. `since`: when, in ticks. `again`: it was told `late` before, and waits. */
  | { readonly type: 'ask'; readonly entry: Entry; readonly since: number; readonly again: boolean }
  /** It leaves: it claims no more, and its thread ends soon. */
  | { readonly type: 'leaving' }
  /** The result of a job that it settles next. */
  | { readonly type: 'result'; readonly entry: Entry; readonly port: MessagePort }
  /** It claims from now on. */
  | { readonly type: 'ready' }
  | { readonly type: 'warm' }
  /** An error was thrown outside any handler's own promise; the worker takes nothing new. */
  | { readonly type: 'uncaught'; readonly error: ErrorWire }
  /** The library's own code threw: the thread ends now. */
  | { readonly type: 'broken'; readonly error: ErrorWire };

/** One function for each type of message. */
export type Receivers<M extends { readonly type: string }> = {
  readonly [T in M['type']]: (message: Extract<M, { readonly type: T }>) => void;
};

/** How long a worker waits for the answer to `ask` before it goes on to other jobs, in ms: see `waits.ts`. */
export const PATIENCE_MS = 20;
/** An answer after so long counts as late. Well before the patience ends: else values are on the way to workers that went on. */
export const LATE_MS: number = PATIENCE_MS / 2;

/** Calls the function for the message's type. */
export function receive<M extends { readonly type: string }>(receivers: Receivers<M>, message: M): void {
  receivers[message.type as M['type']](message as never);
}

/** The next message that has been sent and not been received, taken at once instead of in a turn of the event loop. */
const take = <M>(port: MessagePort): M | undefined => (receiveMessageOnPort(port) as { readonly message: M } | undefined)?.message;

/** Receives all that has been sent. */
export function pump<M extends { readonly type: string }>(port: MessagePort, receivers: Receivers<M>): void {
  for (let message = take<M>(port); message !== undefined; message = take<M>(port)) receive(receivers, message);
}

/** @thread worker. Sends to the host; what comes from it is received in turns of the event loop. */
export class WorkerChannel {
  readonly #port: MessagePort;
  #receivers: Receivers<ToWorker> | undefined;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  /** Takes what the host has said before this thread listens. */
  early(): ToWorker[] {
    const all: ToWorker[] = [];
    for (let message = take<ToWorker>(this.#port); message !== undefined; message = take<ToWorker>(this.#port)) push(all, message);
    return all;
  }

  /** From here messages are received. */
  open(receivers: Receivers<ToWorker>): void {
    this.#receivers = receivers;
    this.#port.on('message', (message: ToWorker) => receive(receivers, message));
    this.#port.unref(); // the worker's loop keeps the thread alive as long as it is wanted
  }

  /** Receives what is there already. */
  pump(): void {
    if (this.#receivers !== undefined) pump(this.#port, this.#receivers);
  }

  send(message: ToHost, transfer: readonly MessagePort[] = []): void {
    postMessage(this.#port, message, transfer);
  }
}

/** @thread host. Its end of the channel to one worker. */
export class HostChannel {
  /** The worker's end, until the thread has been started with it. */
  readonly remote: MessagePort;
  readonly #port: MessagePort;
  readonly #receivers: Receivers<ToHost>;

  constructor(receivers: Receivers<ToHost>) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.remote = port2;
    this.#receivers = receivers;
    port1.on('message', (message: ToHost) => receive(receivers, message));
    port1.unref(); // work keeps the process alive, not workers
  }

  /** To a worker that has ended it goes nowhere, and what it carries is closed. */
  send(message: ToWorker, transfer: readonly MessagePort[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  /** Receives all that has been sent, at once. A worker sends before it settles: so what a settled job needs is here. */
  pump(): void {
    pump(this.#port, this.#receivers);
  }

  close(): void {
    this.#port.close();
  }
}
