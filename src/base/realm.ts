/**
 * What the library uses of the realm, taken once as this file loads: in a worker before any code of the user's. Any thread.
 *
 * Handlers share their thread with the library, and may replace whatever they like of it: a global, or a method of `Array.prototype`.
 * So library code says `Object.keys` and `setTimeout` as always, but the names are imported from here (`test/tidy` sees to it),
 * and where a job depends on a method of a built-in prototype it calls the function of that name below.
 *
 * On the host the same keeps a queue going in real time under a test runner's fake timers. What those replace is taken from Node's
 * own modules, so it is the real one even where the globals were faked before this file was loaded.
 */
import { performance as nodePerformance } from 'node:perf_hooks';
import nodeProcess, { hrtime } from 'node:process';
import * as nodeTimers from 'node:timers';
import { types as nodeTypes } from 'node:util';
import { MessagePort } from 'node:worker_threads';

const { freeze, defineProperties, getOwnPropertyDescriptors, setPrototypeOf } = globalThis.Object;

/** Without the signatures. */
type Statics<T> = Pick<T, keyof T>;
/** What hangs on a built-in object or class, as it is now. Not to be called or constructed. */
const taken = <T extends object>(from: T): Statics<T> => freeze(defineProperties({}, getOwnPropertyDescriptors(from))) as T;

// ---- objects that hold functions

/** For the seam alone, `memory/atomics.ts`. */
export const Atomics: typeof globalThis.Atomics = taken(globalThis.Atomics);
export const Array: Statics<ArrayConstructor> = taken(globalThis.Array);
export const JSON: typeof globalThis.JSON = taken(globalThis.JSON);
export const Math: typeof globalThis.Math = taken(globalThis.Math);
export const Number: Statics<NumberConstructor> = taken(globalThis.Number);
export const Object: Statics<ObjectConstructor> = taken(globalThis.Object);
export const Reflect: typeof globalThis.Reflect = taken(globalThis.Reflect);
export const types: typeof nodeTypes = freeze({ ...nodeTypes });

// ---- classes and functions

export const AbortController: typeof globalThis.AbortController = globalThis.AbortController;
export const AggregateError: AggregateErrorConstructor = globalThis.AggregateError;
export const ArrayBuffer: ArrayBufferConstructor = globalThis.ArrayBuffer;
export const BigInt: BigIntConstructor = globalThis.BigInt;
export const BigInt64Array: BigInt64ArrayConstructor = globalThis.BigInt64Array;
export const BigUint64Array: BigUint64ArrayConstructor = globalThis.BigUint64Array;
export const Boolean: BooleanConstructor = globalThis.Boolean;
export const DataView: DataViewConstructor = globalThis.DataView;
export const Date: DateConstructor = globalThis.Date;
export const DOMException: typeof globalThis.DOMException = globalThis.DOMException;
export const Error: ErrorConstructor = globalThis.Error;
export const EvalError: EvalErrorConstructor = globalThis.EvalError;
export const Float32Array: Float32ArrayConstructor = globalThis.Float32Array;
export const Float64Array: Float64ArrayConstructor = globalThis.Float64Array;
export const Int8Array: Int8ArrayConstructor = globalThis.Int8Array;
export const Int16Array: Int16ArrayConstructor = globalThis.Int16Array;
export const Int32Array: Int32ArrayConstructor = globalThis.Int32Array;
export const Map: MapConstructor = globalThis.Map;
export const Promise: PromiseConstructor = globalThis.Promise;
export const RangeError: RangeErrorConstructor = globalThis.RangeError;
export const ReferenceError: ReferenceErrorConstructor = globalThis.ReferenceError;
export const RegExp: RegExpConstructor = globalThis.RegExp;
export const Set: SetConstructor = globalThis.Set;
export const SharedArrayBuffer: SharedArrayBufferConstructor = globalThis.SharedArrayBuffer;
export const String: StringConstructor = globalThis.String;
export const SyntaxError: SyntaxErrorConstructor = globalThis.SyntaxError;
export const TypeError: TypeErrorConstructor = globalThis.TypeError;
export const Uint8Array: Uint8ArrayConstructor = globalThis.Uint8Array;
export const Uint8ClampedArray: Uint8ClampedArrayConstructor = globalThis.Uint8ClampedArray;
export const Uint16Array: Uint16ArrayConstructor = globalThis.Uint16Array;
export const Uint32Array: Uint32ArrayConstructor = globalThis.Uint32Array;
export const URIError: URIErrorConstructor = globalThis.URIError;
export const WeakMap: WeakMapConstructor = globalThis.WeakMap;
export const URL: typeof globalThis.URL = globalThis.URL;
/** Not in every Node. */
export const Float16Array: { readonly prototype: object } | undefined = (globalThis as { Float16Array?: { readonly prototype: object } })
  .Float16Array;
export const encodeURIComponent: typeof globalThis.encodeURIComponent = globalThis.encodeURIComponent;
/** Under another name than `eval` it runs in the global scope. */
// biome-ignore lint/security/noGlobalEval: for function handlers, whose text is the calling program's own; `allowFunctions: false` refuses it.
export const evaluate: (text: string) => unknown = globalThis.eval;
export const queueMicrotask: typeof globalThis.queueMicrotask = globalThis.queueMicrotask;
export const structuredClone: typeof globalThis.structuredClone = globalThis.structuredClone;

// ---- Node's

const { allocUnsafeSlow, alloc, from } = globalThis.Buffer;
const { Buffer: NodeBuffer } = globalThis;
export const Buffer: Pick<typeof globalThis.Buffer, 'alloc' | 'allocUnsafeSlow' | 'from' | 'poolSize'> & { readonly prototype: object } =
  freeze({
    ...{ alloc, allocUnsafeSlow, from, prototype: NodeBuffer.prototype },
    get poolSize() {
      return NodeBuffer.poolSize; // users may set it
    },
  });
export const performance: { now(): number } = freeze({ now: nodePerformance.now.bind(nodePerformance) });
export const process: Pick<NodeJS.Process, 'env' | 'execArgv' | 'exit' | 'getBuiltinModule' | 'hrtime' | 'on' | 'stdout' | 'stderr'> =
  freeze({
    get env() {
      return nodeProcess.env; // both may be set by the program
    },
    get execArgv() {
      return nodeProcess.execArgv;
    },
    exit: nodeProcess.exit.bind(nodeProcess),
    getBuiltinModule: nodeProcess.getBuiltinModule.bind(nodeProcess),
    hrtime,
    on: nodeProcess.on.bind(nodeProcess),
    get stdout() {
      return nodeProcess.stdout; // made when first asked for
    },
    get stderr() {
      return nodeProcess.stderr;
    },
  });
export const setImmediate: typeof nodeTimers.setImmediate = nodeTimers.setImmediate;
export const setInterval: typeof nodeTimers.setInterval = nodeTimers.setInterval;
export const setTimeout: typeof nodeTimers.setTimeout = nodeTimers.setTimeout;
export const clearInterval: typeof nodeTimers.clearInterval = nodeTimers.clearInterval;
export const clearTimeout: typeof nodeTimers.clearTimeout = nodeTimers.clearTimeout;

// ---- methods of prototypes, as functions whose first argument is what they are called on

/** As fast as the method in optimized code. */
export const uncurry: <T, A extends unknown[], R>(method: (this: T, ...args: A) => R) => (on: T, ...args: A) => R =
  globalThis.Function.prototype.bind.bind(globalThis.Function.prototype.call) as never;

const { prototype: ofArrays } = globalThis.Array;
export const filter: <T>(list: readonly T[], keep: (item: T) => boolean) => T[] = uncurry(ofArrays.filter) as never;
export const join: (list: readonly unknown[], between: string) => string = uncurry(ofArrays.join);
export const map: <T, R>(list: readonly T[], change: (item: T, k: number) => R) => R[] = uncurry(ofArrays.map) as never;
export const pop: <T>(list: T[]) => T | undefined = uncurry(ofArrays.pop) as never;
export const push: <T>(list: T[], item: T) => number = uncurry(ofArrays.push);
export const shift: <T>(list: T[]) => T | undefined = uncurry(ofArrays.shift) as never;
export const sliceOf: <T>(list: readonly T[], start: number, end?: number) => T[] = uncurry(ofArrays.slice) as never;
export const splice: <T>(list: T[], start: number, count: number) => T[] = uncurry(ofArrays.splice) as never;

const { prototype: ofStrings } = globalThis.String;
export const charCodeAt: (text: string, at: number) => number = uncurry(ofStrings.charCodeAt);
export const replaceFirst: (text: string, what: string, by: string) => string = uncurry(ofStrings.replace) as never;
export const replaceAll: (text: string, what: string, by: string) => string = uncurry(ofStrings.replaceAll) as never;
export const slice: (text: string, start: number, end?: number) => string = uncurry(ofStrings.slice);
export const toWellFormed: (text: string) => string = uncurry(ofStrings.toWellFormed);
export const bigintText: (value: bigint, radix: number) => string = uncurry(globalThis.BigInt.prototype.toString);
export const getTime: (date: Date) => number = uncurry(globalThis.Date.prototype.getTime);
/** `test` would look `exec` up. */
export const exec: (pattern: RegExp, text: string) => RegExpExecArray | null = uncurry(globalThis.RegExp.prototype.exec);

export const hasInstance: (of: object, value: unknown) => boolean = uncurry(globalThis.Function.prototype[Symbol.hasInstance]) as never;
export const sourceOf: (run: object) => string = uncurry(globalThis.Function.prototype.toString) as never;
export const whenDone: <T>(promise: Promise<T>, call: (value: T) => unknown) => Promise<unknown> = uncurry(
  globalThis.Promise.prototype.then,
) as never;

export const forEachOfMap: <K, V>(map: ReadonlyMap<K, V>, call: (value: V, key: K) => unknown) => void = uncurry(
  globalThis.Map.prototype.forEach,
) as never;
export const forEachOfSet: <T>(set: ReadonlySet<T>, call: (item: T) => unknown) => void = uncurry(
  globalThis.Set.prototype.forEach,
) as never;

const { prototype: ofBuffers } = globalThis.Buffer;
export const copyBytes: (from: Buffer, to: Uint8Array, at: number, start: number, end: number) => number = uncurry(ofBuffers.copy);
export const readDouble: (bytes: Buffer, at: number) => number = uncurry(ofBuffers.readDoubleLE);
export const setBytes: (to: Uint8Array, from: Uint8Array, at: number) => void = uncurry(globalThis.Uint8Array.prototype.set);
export const subarray: <T extends Uint8Array>(bytes: T, start: number, end: number) => T = uncurry(ofBuffers.subarray) as never;
export const textOf: (bytes: Buffer, encoding: BufferEncoding, start: number, end: number) => string = uncurry(ofBuffers.toString);
export const writeTo: (bytes: Buffer, text: string, at: number, encoding: BufferEncoding) => number = uncurry(ofBuffers.write) as never;

export const closePort: (port: MessagePort) => void = uncurry(MessagePort.prototype.close);
export const postMessage: (port: MessagePort, message: unknown, transfer: readonly unknown[]) => void = uncurry(
  MessagePort.prototype.postMessage,
) as never;

/** A class with the methods of `from` as they are now, which looks nothing up in prototypes that others can reach. */
function closed<C extends new (...args: never[]) => object>(from: C): C {
  const own = class extends (from as unknown as new () => object) {};
  defineProperties(own.prototype, getOwnPropertyDescriptors(from.prototype));
  freeze(setPrototypeOf(own.prototype, null));
  return freeze(own) as unknown as C;
}
/** For what the library keeps; users get the real ones. To be read by `forEach`: iterators have a prototype that others can reach. */
export const OwnMap: MapConstructor = closed(globalThis.Map);
export const OwnSet: SetConstructor = closed(globalThis.Set);
