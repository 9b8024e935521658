/**
 * What a value is made of: how large it is at least, and whether the engine's serialization carries all of it. Any thread; reads
 * through descriptors and internal slots only, so no user code runs, whatever the value is.
 */
import {
  Array,
  ArrayBuffer,
  BigInt,
  BigInt64Array,
  BigUint64Array,
  Boolean,
  DataView,
  Date,
  Error,
  EvalError,
  Float16Array,
  Float32Array,
  Float64Array,
  forEachOfMap,
  forEachOfSet,
  Int16Array,
  Int32Array,
  Int8Array,
  Map,
  Number,
  Object,
  OwnSet,
  pop,
  push,
  RangeError,
  ReferenceError,
  RegExp,
  Set,
  SharedArrayBuffer,
  String,
  SyntaxError,
  TypeError,
  types,
  Uint16Array,
  Uint32Array,
  Uint8Array,
  Uint8ClampedArray,
  uncurry,
  URIError,
} from '#base';

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
const getter = (prototype: object, name: string): ((of: unknown) => unknown) =>
  uncurry(Object.getOwnPropertyDescriptor(prototype, name)?.get as (this: unknown) => unknown);
const byteLength = getter(ArrayBuffer.prototype, 'byteLength');
const sharedByteLength = getter(SharedArrayBuffer.prototype, 'byteLength');
const arrayBuffer = getter(TypedArray.prototype, 'buffer');
const viewBuffer = getter(DataView.prototype, 'buffer');

/** Prototypes of the classes that structuredClone makes and every engine serializes. A clone with any other is of Node's making. */
const KNOWN: ReadonlySet<unknown> = new OwnSet(
  [Object, Array, Map, Set, Date, RegExp, Boolean, Number, String, BigInt, ArrayBuffer, DataView]
    .concat([Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError] as never)
    .concat([Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array] as never)
    .concat([Float32Array, Float64Array, BigInt64Array, BigUint64Array] as never)
    .concat((Float16Array as never) ?? [])
    .map((made) => made.prototype as unknown),
);

/** Looks at everything that can be reached from `roots`. */
export function survey(roots: readonly unknown[]): Survey {
  let bytes = 0;
  let ordinary = true;
  let whole = true;
  const buffers: ArrayBuffer[] = [];
  const seen = new OwnSet<object>();
  const left: object[] = [];
  const meet = (value: unknown): void => {
    if (typeof value === 'string') bytes += value.length;
    else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value);
      push(left, value);
    }
  };
  for (let k = 0; k < roots.length; k++) meet(roots[k]);
  for (let value = pop(left); value !== undefined; value = pop(left)) {
    if (types.isProxy(value)) continue; // refused by the engine
    if (!KNOWN.has(Object.getPrototypeOf(value))) ordinary = false;
    if (types.isArrayBufferView(value)) meet(types.isTypedArray(value) ? arrayBuffer(value) : viewBuffer(value));
    else if (types.isArrayBuffer(value)) {
      bytes += byteLength(value) as number;
      push(buffers, value);
    } else if (types.isSharedArrayBuffer(value)) {
      bytes += sharedByteLength(value) as number;
      ordinary = false;
    } else if (types.isMap(value)) {
      forEachOfMap(value, (item: unknown, key: unknown) => {
        meet(key);
        meet(item);
      });
    } else if (types.isSet(value)) forEachOfSet(value, meet);
    else {
      const names = ownNames(value);
      for (let k = 0; k < names.length; k++) {
        const key = names[k] as string;
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
