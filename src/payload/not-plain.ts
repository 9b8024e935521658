/** The refusal of a value that the codec does not carry, in words a user can act on. Any thread; runs no user code. */
import { types } from 'node:util';

/** Thrown by `encode`. `path` says where: `value.a[3].b`. */
export class NotPlain extends Error {
  readonly path: string;

  constructor(path: string, what: string) {
    super(`\`${path}\` is ${what}, which cannot be sent`);
    this.path = path;
  }

  static {
    NotPlain.prototype.name = 'NotPlain';
  }
}

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
/** Longer names, and deeper paths, are cut: a message is for reading. */
const NAME_MAX = 60;
const PATH_MAX = 20;

/** `value.a[3]["two words"]`. Keys are strings, places in an array numbers. */
export function pathOf(keys: readonly (string | number)[]): string {
  let path = 'value';
  for (const key of keys.slice(0, PATH_MAX)) {
    if (typeof key === 'number') path += `[${key}]`;
    else if (IDENTIFIER.test(key) && key.length <= NAME_MAX) path += `.${key}`;
    else path += `[${JSON.stringify(cut(key))}]`;
  }
  return keys.length > PATH_MAX ? `${path}…` : path;
}

/** What a value is, with article. Reads through descriptors only: no getter, no proxy trap, so it never throws. */
export function whatIs(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`;
  if (types.isProxy(value)) return 'a Proxy';
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || types.isProxy(prototype)) return 'an object of an unknown class';
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  if (typeof maker !== 'function' || types.isProxy(maker)) return 'an object with a prototype of its own';
  const name: unknown = Object.getOwnPropertyDescriptor(maker, 'name')?.value;
  return typeof name === 'string' && name !== '' ? `an instance of ${cut(name)}` : 'an instance of a class without name';
}

const cut = (text: string): string => (text.length > NAME_MAX ? `${text.slice(0, NAME_MAX)}…` : text);
