/**
 * Reads what `error-wire.ts` wrote: the receiving thread gets an error of the same class where it is a built-in one or ours,
 * and otherwise of the nearest such class, under its own name. Any thread; pure but for a bounded table of class names.
 */
import { Array, BigInt, Date, Error, map, Map, Object, OwnMap, Reflect, Set, String, TypeError } from './realm.ts';
import type { ErrorCode } from './errors.ts';
import { REBUILT, type ErrorWire, type Maker, type WireValue } from './error-wire.ts';
import { readable } from './readable.ts';

/** Class names remembered. Larger, and handlers that make classes as they run fill the memory. */
const MAX_CLASSES = 256;

/** The value that `toWire` was given, as near as it can be. Never throws: what is no wire form gives an Error that says so. */
export function fromWire(wire: ErrorWire): unknown {
  try {
    return decode(wire);
  } catch {
    return new Error(`Expected an error in wire form, got \`${readable(wire)}\``);
  }
}

function decode(wire: WireValue): unknown {
  if (!Array.isArray(wire)) return wire;
  const tag = wire[0];
  const content = wire[1];
  switch (tag) {
    case 'error':
      return decodeError(content as { [field: string]: WireValue });
    case 'object':
      return restore({}, content);
    case 'array':
      return decodeList(content);
    case 'map':
      return new Map(pairsOf(decodeList(content)));
    case 'set':
      return new Set(decodeList(content));
    case 'date':
      return new Date(content as number);
    case 'bigint':
      return wire[2] === true ? -BigInt(content as string) : BigInt(content as string);
    case 'other':
      return new Error(`A value was thrown that is neither an Error nor can be copied to another thread: \`${String(content)}\``);
    default:
      throw new TypeError(`Expected a known tag, got \`${readable(tag)}\``);
  }
}

const decodeList = (list: WireValue): unknown[] => map(list as WireValue[], decode);

function* pairsOf(flat: unknown[]): Generator<[unknown, unknown]> {
  for (let k = 0; k < flat.length; k += 2) yield [flat[k], flat[k + 1]];
}

function decodeError(wire: { [field: string]: WireValue }): Error {
  const error = construct(String(wire.base), String(wire.className), wire);
  if (error.name !== wire.name) define(error, 'name', wire.name, false);
  define(error, 'stack', wire.stack ?? `${String(wire.name)}: ${String(wire.message)}`, false); // else it would show this thread's frames
  if ('code' in wire) define(error, 'code', wire.code, true);
  if ('cause' in wire) define(error, 'cause', decode(wire.cause), false);
  return restore(error, wire.props);
}

function construct(base: string, className: string, wire: { [field: string]: WireValue }): Error {
  const message = String(wire.message);
  const args: Record<string, unknown[]> = {
    AggregateError: [decodeList(wire.errors ?? []), message],
    DOMException: [message, wire.name],
    RailheadError: [wire.code as ErrorCode, message],
  };
  const maker = (Object.hasOwn(REBUILT, base) && REBUILT[base]) || Error;
  const named = className === base ? maker : stand(className, maker);
  // The stack comes from the wire. Taking one here first is nine tenths of the time, on the thread that is most in demand.
  const limit = Error.stackTraceLimit;
  Reflect.set(Error, 'stackTraceLimit', 0); // `Reflect`: no throw where the built-in objects are frozen
  try {
    return Reflect.construct(maker, args[base] ?? [message], named);
  } finally {
    Reflect.set(Error, 'stackTraceLimit', limit);
  }
}

const stands = new OwnMap<string, Maker>();

/** A class of that name, so that `error.constructor.name` and the printed form stay as they were. Not the handler's own class. */
function stand(className: string, maker: Maker): Maker {
  const id = `${maker.name} ${className}`;
  let made = stands.get(id);
  if (made === undefined) {
    if (stands.size >= MAX_CLASSES) stands.clear();
    made = { [className]: class extends (maker as typeof Error) {} }[className] as Maker;
    stands.set(id, made);
  }
  return made;
}

/** Always as own data: a key `__proto__` is a key, and a setter on a prototype is never run. */
function restore<T extends object>(target: T, pairs: WireValue): T {
  if (!Array.isArray(pairs)) throw new TypeError(`Expected keys and values, got \`${readable(pairs)}\``);
  for (let k = 0; k < pairs.length; k += 2) define(target, String(pairs[k]), decode(pairs[k + 1]), true);
  return target;
}

function define(target: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, key, { __proto__: null, value, enumerable, writable: true, configurable: true } as PropertyDescriptor); // a field of Object.prototype is none of it
}
