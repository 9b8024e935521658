/**
 * What a value is made of: how large it is at least, and whether the engine's serialization carries all of it. Any thread; reads
 * through descriptors and internal slots only, so no user code runs, whatever the value is.
 */
import { types } from 'node:util';

export interface Survey {
  /** Of its text and its buffers. */
  readonly bytes: number;
  /** It holds nothing but kinds of the language, as data. Otherwise instances of classes, getters, objects of Node's own, or shared memory. */
  readonly ordinary: boolean;
  /** Its buffers, each once. */
  readonly buffers: ArrayBuffer[];
  /** Every object that was met. */
  readonly met: ReadonlySet<object>;
  /** No getter was met: whatever is not in `met` is no part of the value. */
  readonly whole: boolean;
}

const TypedArray = Object.getPrototypeOf(Uint8Array) as { readonly prototype: object };
const getter = (prototype: object, name: string): ((this: unknown) => unknown) =>
  Object.getOwnPropertyDescriptor(prototype, name)?.get as (this: unknown) => unknown;
const byteLength = getter(ArrayBuffer.prototype, 'byteLength');
const sharedByteLength = getter(SharedArrayBuffer.prototype, 'byteLength');
const arrayBuffer = getter(TypedArray.prototype, 'buffer');
const viewBuffer = getter(DataView.prototype, 'buffer');
const { forEach: forEachOfMap } = Map.prototype;
const { forEach: forEachOfSet } = Set.prototype;

/** Prototypes of the classes that structuredClone makes and every engine serializes. A clone with any other is of Node's making. */
const KNOWN: ReadonlySet<unknown> = new Set(
  [Object, Array, Map, Set, Date, RegExp, Boolean, Number, String, BigInt, ArrayBuffer, DataView]
    .concat([Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError] as never)
    .concat([Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array] as never)
    .concat([Float32Array, Float64Array, BigInt64Array, BigUint64Array] as never)
    .concat((globalThis as { Float16Array?: never }).Float16Array ?? [])
    .map((made) => made.prototype as unknown),
);

/** Looks at everything that can be reached from `roots`. */
export function survey(roots: readonly unknown[]): Survey {
  let bytes = 0;
  let ordinary = true;
  let whole = true;
  const buffers: ArrayBuffer[] = [];
  const seen = new Set<object>();
  const left: object[] = [];
  const meet = (value: unknown): void => {
    if (typeof value === 'string') bytes += value.length;
    else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value);
      left.push(value);
    }
  };
  for (const root of roots) meet(root);
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (types.isProxy(value)) continue; // refused by the engine
    if (!KNOWN.has(Object.getPrototypeOf(value))) ordinary = false;
    if (types.isArrayBufferView(value)) meet((types.isTypedArray(value) ? arrayBuffer : viewBuffer).call(value));
    else if (types.isArrayBuffer(value)) {
      bytes += byteLength.call(value) as number;
      buffers.push(value);
    } else if (types.isSharedArrayBuffer(value)) {
      bytes += sharedByteLength.call(value) as number;
      ordinary = false;
    } else if (types.isMap(value)) {
      forEachOfMap.call(value, (item: unknown, key: unknown) => {
        meet(key);
        meet(item);
      });
    } else if (types.isSet(value)) forEachOfSet.call(value, meet);
    else {
      for (const key of ownNames(value)) {
        const descriptor = Object.getOwnPropertyDescriptor(value, key);
        if (descriptor?.get === undefined) meet(descriptor?.value);
        else if (key !== 'stack' || !types.isNativeError(value)) ordinary = whole = false; // an accessor of the engine's own in some versions
      }
    }
  }
  return { bytes, ordinary, buffers, met: seen, whole };
}

/** `message` and `cause` of an error are not enumerable. */
const ownNames = (value: object): string[] => (types.isNativeError(value) ? Object.getOwnPropertyNames(value) : Object.keys(value));
