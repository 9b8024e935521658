/**
 * Any value to the form in which it travels. Any thread, while its guard is OPEN: the value's own code runs here.
 *
 *   plain -----------------------------------> tagged tree (`encode.ts`)
 *   with other kinds of the language in it --> v8.Serializer
 *   with others still --structuredClone------> tagged tree, else v8.Serializer, else a port
 *   moved ------------------------------------> as the line above, or straight into a port
 *   where the queue has a `codec` ------------> the bytes of the user's codec
 *
 * It is the engine's own algorithm that reads whatever may be more than data: so exactly what structuredClone refuses is
 * refused, also among Node's own objects, which no serializer tells from plain ones. Its clone has no getters, so it can be
 * walked and encoded at leisure.
 *
 * A getter runs once. `encode` runs those that it meets before it comes to a part that it cannot carry (a foreign one). If it has run
 * any, the value is not cloned, which would run them again, but what `encode` has read so far, with the foreign parts put back in; the
 * getters within foreign parts run during that clone. One case is left: an object with getters that is reachable both directly and
 * from within a Map, a Set or an instance of a class. It is read once on each way, and arrives as two objects.
 */
import { Serializer } from 'node:v8';
import * as workerThreads from 'node:worker_threads';
import { Buffer, filter, Math, Number, OwnSet, push, structuredClone, type Transferable, types, Uint8Array } from '#base';
import { type Codec, serializeWith } from './user-codec.ts';
import { decodeWith } from './decode.ts';
import { encode } from './encode.ts';
import { FORM_BUFFER, FORM_CODEC, FORM_PORT, FORM_V8, type Form } from './form.ts';
import { isRefusal, NotInValue, NotPlain, TooLarge, whatIs } from './not-plain.ts';
import { isTransferable, movedOf, PORT_BYTES, postTo, toPort } from './port.ts';
import type { Scratch } from './scratch.ts';
import { survey } from './survey.ts';

export interface Packing {
  /** `maxPayloadBytes`. */
  readonly most: number;
  readonly codec: Codec | undefined;
}

/** No value may be larger, whatever the option says: lengths are int32, and v8.Deserializer fails beyond. */
export const LARGEST_BYTES: number = 2 ** 31 - 1;

/**
 * Moved buffers of together at most so many bytes are copied through shared memory instead, and detached. Larger: copying costs
 * more than a port (measured, in flight: 16 KiB 57 against 93 µs, 64 KiB 136 against 67); smaller: ports cost more.
 */
const COPY_BYTES = 32 * 1024;

/**
 * Fills `into`. With a list, or of a value marked by `move`, what is named is detached here.
 * @throws TooLarge, NotPlain, CodecFailed, what structuredClone throws, or a getter. Nothing was detached then.
 */
export function pack(value: unknown, into: Scratch, packing: Packing, transfer?: readonly Transferable[]): void {
  into.most = packing.most;
  if (transfer !== undefined) packMoved(value, transfer, into);
  else if (packing.codec !== undefined) packWith(packing.codec, value, into);
  else if (!encode(value, into)) packForeign(value, into);
  if (into.form === FORM_PORT) return;
  if (into.length > into.most) throw new TooLarge(into.length);
  if (into.length > PORT_BYTES) toPort(into);
}

/** An error in wire form, which the tagged tree carries, whatever `maxPayloadBytes` is: its size is bounded. */
export function packWire(wire: unknown, into: Scratch): void {
  into.most = Number.POSITIVE_INFINITY;
  encode(wire, into);
}

function packForeign(value: unknown, into: Scratch): void {
  const moved = movedOf(value);
  if (moved !== undefined) return packMoved(moved.value, moved.transfer, into);
  const { foreign } = into;
  if (filter(foreign, (part) => movedOf(part) !== undefined).length > 0)
    throw new NotPlain('value', 'marked by `move` in one of its parts only');
  const { bytes, ordinary } = survey(foreign);
  limit(into.at + bytes, into);
  // Larger ones need a copy of their buffers anyway, which is then moved on.
  if (ordinary && !into.ranGetters && (isPlainBuffer(value) || into.at + bytes <= PORT_BYTES) && packOrdinary(value, into)) return;
  packClone(cloneOf(value, into), into);
}

/** Without a clone: nothing of it is code, and no object of Node's own can hide in it. False: it is refused, and structuredClone says why. */
function packOrdinary(value: unknown, into: Scratch): boolean {
  try {
    if (isPlainBuffer(value)) finish(into, FORM_BUFFER, new Uint8Array(value));
    else finish(into, FORM_V8, serialize(value));
    return true;
  } catch {
    return false;
  }
}

/**
 * FORM_V8: the engine's own serialization. By the plain Serializer, not `serialize` of node:v8, which treats typed arrays and
 * Buffers in a way of its own. It is given what has no getters, so no code of the user's runs here.
 */
function serialize(value: unknown): Buffer {
  const serializer = new Serializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  return serializer.releaseBuffer();
}

const isPlainBuffer = (value: unknown): value is ArrayBuffer =>
  types.isArrayBuffer(value) && (value as { readonly resizable?: boolean }).resizable !== true;

function finish(into: Scratch, form: Form, source: Uint8Array): void {
  into.source = source;
  into.form = form;
  into.length = source.byteLength;
}

function cloneOf(value: unknown, into: Scratch): unknown {
  const { foreign } = into;
  const subject = into.ranGetters ? decodeWith(foreign, into.bytes) : value;
  try {
    return structuredClone(subject);
  } catch (thrown) {
    if (foreign.length > 1 || !isRefusal(thrown)) throw thrown;
    throw new NotPlain(into.foreignPath, whatIs(foreign[0]), thrown);
  }
}

/** Of a clone, which is ours alone: no code of its own, and nothing of it is needed afterwards. */
function packClone(clone: unknown, into: Scratch): void {
  if (isPlainBuffer(clone)) return finish(into, FORM_BUFFER, new Uint8Array(clone));
  if (encode(clone, into)) return;
  const { bytes, ordinary, buffers } = survey([clone]);
  limit(bytes, into);
  if (ordinary && bytes <= PORT_BYTES) finish(into, FORM_V8, serialize(clone));
  else postTo(into, [clone], buffers, bytes);
}

function packMoved(value: unknown, transfer: readonly Transferable[], into: Scratch): void {
  const marked = movedOf(value);
  if (marked !== undefined) return packMoved(marked.value, together(transfer, marked.transfer), into);
  const list = filter(transfer, (moved) => !isPool(moved));
  let moved = 0;
  let copied = true;
  for (let k = 0; k < list.length; k++) {
    const part = list[k];
    if (types.isArrayBuffer(part)) moved += part.byteLength;
    else copied = false;
  }
  const found = survey([value]);
  if (found.whole) checkHeld(transfer, found.met);
  const bytes = Math.max(moved, found.bytes);
  limit(bytes, into);
  if (bytes <= COPY_BYTES && copied) packClone(structuredClone(value, { transfer: list as ArrayBuffer[] }), into);
  else postTo(into, [value], list, bytes);
}

/** The engine would move it all the same, and only the caller would lose it. What cannot be moved at all, the engine refuses. */
function checkHeld(transfer: readonly Transferable[], held: ReadonlySet<object>): void {
  for (let at = 0; at < transfer.length; at++) {
    const moved = transfer[at] as Transferable;
    if (typeof moved === 'object' && moved !== null && !held.has(moved) && isTransferable(moved) && !isPool(moved))
      throw new NotInValue(moved, at);
  }
}

/** Each once. */
function together(some: readonly Transferable[], others: readonly Transferable[]): Transferable[] {
  const all = new OwnSet<Transferable>();
  for (let k = 0; k < some.length; k++) all.add(some[k] as Transferable);
  for (let k = 0; k < others.length; k++) all.add(others[k] as Transferable);
  const list: Transferable[] = [];
  all.forEach((part) => void push(list, part));
  return list;
}

const { isMarkedAsUntransferable } = workerThreads as { isMarkedAsUntransferable?: (object: unknown) => boolean };

/** The pool that small Buffers are cut from: moving it would take away others. Node 20 copies it by itself, later ones refuse. */
const isPool = (moved: unknown): boolean =>
  types.isArrayBuffer(moved) && moved.byteLength === Buffer.poolSize && isMarkedAsUntransferable?.(moved) === true;

function packWith(codec: Codec, value: unknown, into: Scratch): void {
  const moved = movedOf(value);
  if (moved !== undefined) return packMoved(moved.value, moved.transfer, into); // to be moved is the opposite of to be serialized
  finish(into, FORM_CODEC, serializeWith(codec, value));
}

function limit(bytes: number, { most }: Scratch): void {
  if (bytes > most) throw new TooLarge(bytes);
}
