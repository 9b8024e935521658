/**
 * FORM_PORT: values that travel as the one message of a private MessagePort: what only the engine can carry, what is moved, and
 * what is too large for shared memory. The thread that sends makes the port, the one that reads closes it.
 *
 *   message = [value]                  as it is
 *           | [bytes, form, length]    encoded before, the bytes moved
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { Buffer, closePort, Error, Math, postMessage, setBytes, subarray, type Transferable, Uint8Array } from '#base';
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
    postMessage(port1, message, transfer);
  } catch (error) {
    closePort(port2);
    throw error;
  } finally {
    closePort(port1); // the message stays where it is, in the other port
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
    setBytes(bytes, source.length === length ? source : subarray(source, 0, length), 0);
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
    const bytes = message[0];
    const form = message[1];
    const length = message[2];
    if (form === FORM_BYTES) return bytes;
    if (form === FORM_BUFFER) return bytes.buffer;
    return decode(form, Buffer.from(bytes.buffer), 0, length);
  } finally {
    closePort(port);
  }
}
