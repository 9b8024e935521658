/** Checks what a caller passed against a table of rules: name -> rule. Any thread; pure. A wrong value is a bug in the caller. */
import type { Elsewhere } from './elsewhere.ts';
import { Array, Math, Number, Object, RangeError, TypeError, URL } from './realm.ts';
import { got } from './readable.ts';

/** What one option may be. `expected` completes the sentence "Expected `name` …". */
export interface Rule {
  readonly expected: string;
  /** False: the value is of the wrong type. */
  readonly type: (value: unknown) => boolean;
  /** False: the right type, but out of range. */
  readonly range?: (value: never) => boolean;
}

/** A rule, and what holds where the option is not given. */
export interface Row extends Rule {
  readonly fallback: unknown;
}

export type Table<T> = { readonly [Name in keyof T]-?: Row };

/** Edits between two names that still count as a slip, and at most one in so many letters. More, and unrelated names are suggested. */
const MAX_EDITS = 2;
const LETTERS_AN_EDIT = 3;

const isNumber = (value: unknown): boolean => typeof value === 'number';
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

export const integer = (from: number, to: number = Number.MAX_SAFE_INTEGER): Rule => ({
  expected: `to be an integer from ${from}${to === Number.MAX_SAFE_INTEGER ? '' : ` to ${to}`}`,
  type: isNumber,
  range: (value: number) => Number.isSafeInteger(value) && value >= from && value <= to,
});

/** A finite amount, fractions allowed. */
export const amount = (unit: string, to: number = Number.MAX_VALUE): Rule => ({
  expected: `to be ${unit} from 0${to === Number.MAX_VALUE ? '' : ` to ${to}`}`,
  type: isNumber,
  range: (value: number) => value >= 0 && value <= to,
});

/** The rule, or one more value beside it. */
export const orElse = (rule: Rule, other: string | number): Rule => ({
  expected: `${rule.expected}, or ${typeof other === 'string' ? `"${other}"` : other}`,
  type: (value) => value === other || rule.type(value),
  range: (value) => value === other || (rule.range?.(value) ?? true),
});

export const ofType = (expected: string, type: (value: unknown) => boolean): Rule => ({ expected, type });
export const flag: Rule = ofType('to be a boolean', (value) => typeof value === 'boolean');
export const text: Rule = ofType('to be a string', (value) => typeof value === 'string');
export const callback: Rule = ofType('to be a function', (value) => typeof value === 'function');
export const list: Rule = ofType('to be an array', Array.isArray);
export const texts: Rule = ofType(
  'to be an array of strings',
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
);
export const anything: Rule = ofType('to be anything', () => true);
export const objectOr = (expected: string, other: (value: unknown) => boolean): Rule =>
  ofType(expected, (value) => isObject(value) || other(value));

export const fileUrl: Rule = {
  expected: 'to be a URL instance with the scheme `file:`',
  type: (value) => value instanceof URL,
  range: (value: URL) => value.protocol === 'file:',
};

/** As Node checks it: by what it can do, so that a polyfill or a signal of another realm passes. */
export const abortSignal: Rule = ofType(
  'to be an AbortSignal',
  (value) => isObject(value) && 'aborted' in value && 'addEventListener' in value && typeof value.addEventListener === 'function',
);

export const row = (rule: Rule, fallback?: unknown): Row => ({ ...rule, fallback });

/** Throws unless the value keeps the rule. */
export function check(name: string, value: unknown, rule: Rule): void {
  if (!rule.type(value)) throw wrongType(`Expected \`${name}\` ${rule.expected}, ${got(value)}`);
  if (rule.range !== undefined && !rule.range(value as never)) throw outOfRange(`Expected \`${name}\` ${rule.expected}, ${got(value)}`);
}

/** Every option of the table, checked or by default. Each is read once, and unknown names are refused. */
export function readTable<T>(what: string, input: object, table: Table<T>, elsewhere: Elsewhere = {}): T {
  checkNames(what, input, table, elsewhere);
  const output: Record<string, unknown> = {};
  for (const name in table) {
    const value = isGiven(input, name) ? (input as Record<string, unknown>)[name] : undefined;
    if (value !== undefined) check(name, value, table[name]);
    output[name] = value === undefined ? table[name].fallback : value;
  }
  return output as T;
}

/** Throws on the first name that `known` does not have, and says which was meant. */
export function checkNames(what: string, input: object, known: object, elsewhere: Elsewhere = {}): void {
  for (const name of Object.keys(input)) if (!Object.hasOwn(known, name)) throw unknownName(what, name, Object.keys(known), elsewhere);
}

/** Also what a class of options inherits, but nothing that somebody put on `Object.prototype`. */
function isGiven(input: object, name: string): boolean {
  return Object.hasOwn(input, name) || !(name in Object.prototype);
}

/** Throws unless it is an object that can hold options. */
export function checkHolder(what: string, input: unknown, expected: string = 'to be an object'): asserts input is object {
  check(
    what,
    input,
    ofType(expected, (value) => isObject(value) && !Array.isArray(value)),
  );
}

export const wrongType = (message: string): TypeError => Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG_TYPE' });
export const outOfRange = (message: string): RangeError => Object.assign(new RangeError(message), { code: 'ERR_OUT_OF_RANGE' });

function unknownName(what: string, name: string, known: readonly string[], elsewhere: Elsewhere): TypeError {
  return wrongType(`Expected \`${what}\` to hold known options only, ${got(name)}; ${hintFor(name, known, elsewhere)}`);
}

function hintFor(name: string, known: readonly string[], elsewhere: Elsewhere): string {
  const theirs = Object.hasOwn(elsewhere, name) ? elsewhere[name] : undefined;
  if (theirs !== undefined && !known.includes(theirs)) return theirs;
  const near = theirs ?? nearest(name, known);
  return near === undefined ? `the known ones are ${known.map((k) => `\`${k}\``).join(', ')}` : `did you mean \`${near}\`?`;
}

/** The known name that a slip of the keyboard would turn into this one. */
function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let fewest = Math.min(MAX_EDITS, Math.floor(name.length / LETTERS_AN_EDIT)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > MAX_EDITS) continue; // also bounds the work for a very long name
    const count = edits(name.toLowerCase(), candidate.toLowerCase());
    if (count < fewest) [best, fewest] = [candidate, count];
  }
  return best;
}

/** Levenshtein distance, one row of its table at a time. */
function edits(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, k) => k);
  for (let i = 1; i <= a.length; i++) {
    const line = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      line.push(Math.min(replaced, (above[j] as number) + 1, (line[j - 1] as number) + 1));
    }
    above = line;
  }
  return above[b.length] as number;
}
