/**
 * FORM_V8: the engine's own serialization, for what the fast codec does not carry. Any thread.
 *
 * The plain Serializer, not node:v8's `serialize`: that one treats typed arrays and Buffers in a way of its own. It is given
 * clones only (`pack.ts`), which have no getters, so no user code runs here.
 */
import { Deserializer, Serializer } from 'node:v8';
import { subarray } from '#base';

export function serialize(value: unknown): Buffer {
  const serializer = new Serializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  return serializer.releaseBuffer();
}

/** Reads in place: nothing of the result aliases the bytes. */
export function deserialize(from: Buffer, offset: number, length: number): unknown {
  const deserializer = new Deserializer(subarray(from, offset, offset + length));
  deserializer.readHeader();
  return deserializer.readValue();
}
