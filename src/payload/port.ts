/**
 * FORM_PORT: values that travel as the one message of a private MessagePort: what only the engine can carry, what is moved, and
 * what is too large for shared memory. The thread that sends makes the port, the one that reads closes it.
 *
 *   message = [value]                  as it is
 *           | [bytes, form, length]    encoded before, the bytes moved
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Transferable } from '#base';
import { decode } from './decode.ts';
import { FORM_BUFFER, FORM_BYTES, FORM_PORT, type Form } from './form.ts';
import type { Scratch } from './scratch.ts';

/**
 * Values above this go by port, and their memory is the collector's again once they are read: the region never shrinks.
 * Smaller: more of them pay for a port; larger: one of them takes that much for good.
 */
export const PORT_BYTES: number = 1024 * 1024;

/** Reads, copies and detaches now. @throws as structuredClone does; nothing was detached then. */
export function postTo(into: Scratch, message: unknown, transfer: readonly Transferable[], length: number): void {
  const { port1, port2 } = new MessageChannel();
  try {
    port1.postMessage(message, transfer as never);
  } catch (error) {
    port2.close();
    throw error;
  } finally {
    port1.close(); // the message stays where it is, in the other port
  }
  into.port = port2;
  into.form = FORM_PORT;
  into.length = Math.min(length, 2 ** 31 - 1);
}

/** What was encoded goes by port after all. */
export function toPort(into: Scratch): void {
  const { form, length, source } = into;
  let bytes: Uint8Array = source;
  if (source === into.bytes) into.giveAway();
  else {
    bytes = Buffer.allocUnsafeSlow(length);
    bytes.set(source.length === length ? source : source.subarray(0, length));
  }
  postTo(into, [new Uint8Array(bytes.buffer), form, length], [bytes.buffer as ArrayBuffer], length);
  into.source = into.bytes;
}

/** Takes the message and closes the port. @throws when the value cannot be made in this thread. */
export function readPort(port: MessagePort): unknown {
  try {
    const received = receiveMessageOnPort(port) as { message: [unknown] | [bytes: Uint8Array, form: Form, length: number] } | undefined;
    if (received === undefined) throw new Error('The port of the value was empty');
    const { message } = received;
    if (message.length === 1) return message[0];
    const [bytes, form, length] = message;
    if (form === FORM_BYTES) return bytes;
    if (form === FORM_BUFFER) return bytes.buffer;
    return decode(form, Buffer.from(bytes.buffer), 0, length);
  } finally {
    port.close();
  }
}
