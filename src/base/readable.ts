/** Any value in one short line, for error messages. Any thread. Never throws: it is called while something is already wrong. */
import { Array, Error, join, JSON, map, Object, push, replaceAll, slice, sliceOf, String, URL } from './realm.ts';

/** Characters shown of one string or name. Larger, and a pasted document hides the message that quotes it. */
const MAX_SHOWN = 60;
/** Entries shown of one object or array. Larger, and the line is no longer one line. */
const MAX_ENTRIES = 3;

/** One short line that describes `value`: the value itself where it is small, otherwise its class and first keys. */
export function readable(value: unknown): string {
  try {
    return describe(value, true);
  } catch {
    return 'an object that cannot be read'; // a revoked Proxy, or a trap or getter that throws
  }
}

/** The end of every message about a wrong value: ``got `0` (number)``. */
export function got(value: unknown): string {
  return `got \`${readable(value)}\` (${kindOf(value)})`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  try {
    return Array.isArray(value) ? 'array' : typeof value;
  } catch {
    return 'object'; // `Array.isArray` throws on a revoked Proxy
  }
}

function describe(value: unknown, open: boolean): string {
  switch (typeof value) {
    case 'string':
      return quote(value);
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'bigint':
      return value > -(1n << 64n) && value < 1n << 64n ? `${value}n` : 'a large bigint'; // printing takes quadratic time
    case 'symbol':
      return `Symbol(${short(value.description ?? '')})`;
    case 'function':
      return nameOf(value) === '' ? 'a function' : `function ${nameOf(value)}`;
    case 'object':
      return value === null ? 'null' : describeObject(value, open);
    default:
      return String(value);
  }
}

function describeObject(value: object, open: boolean): string {
  if (value instanceof Error) return `${short(String(value.name))}: ${short(String(value.message))}`;
  if (value instanceof URL) return short(value.href);
  if (Array.isArray(value)) {
    const shown = open ? map(sliceOf(value, 0, MAX_ENTRIES), (item) => describe(item, false)) : [];
    return `[${entries(value.length, shown)}]`;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  const className = prototype === null ? '' : nameOf((prototype as object).constructor);
  if (className !== '' && className !== 'Object') return `an instance of ${className}`;
  if (!open) return '{…}';
  const keys = Object.keys(value);
  const shown = map(sliceOf(keys, 0, MAX_ENTRIES), (key) => `${short(key)}: ${describe((value as Record<string, unknown>)[key], false)}`);
  return keys.length === 0 ? '{}' : `{ ${entries(keys.length, shown)} }`;
}

function entries(count: number, shown: string[]): string {
  if (count > shown.length) push(shown, '…');
  return join(shown, ', ');
}

function nameOf(f: unknown): string {
  const name: unknown = (f as { name?: unknown } | undefined)?.name;
  return typeof name === 'string' ? short(name) : '';
}

/** Cut, and without line breaks or other control characters. */
function short(text: string): string {
  return replaceAll(slice(quote(text), 1, -1), '\\"', '"');
}

function quote(text: string): string {
  return text.length > MAX_SHOWN ? `${slice(JSON.stringify(slice(text, 0, MAX_SHOWN)), 0, -1)}…"` : JSON.stringify(text);
}

/** The message of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : got(thrown);
  } catch {
    return got(thrown);
  }
}
