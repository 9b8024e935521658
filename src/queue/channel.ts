/** The host's end of its channel to one worker: see `pool/channel.ts`. Host thread. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { pump, type Receivers, receive, type ToHost, type ToWorker } from '#pool';

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
