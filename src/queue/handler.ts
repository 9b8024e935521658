/** What may be given as a handler, checked and normalized. Host thread. */
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';
import { got, Object, sourceOf, URL, wrongType } from '#base';
import type { Definition, TaskHandle } from '#pool';

/** A self-contained function that runs in a worker: one value, and the handle on this run. */
export type HandlerFunction<In, Out> = (value: In, task: TaskHandle) => Out | PromiseLike<Out>;

// biome-ignore lint/suspicious/noExplicitAny: any function will do.
type AnyFunction = (...args: any[]) => unknown;
interface WithDefault {
  readonly default: AnyFunction;
}
/** The names under which a module exports functions. */
type FunctionNames<M> = { [N in keyof M]: M[N] extends AnyFunction ? N : never }[keyof M] & string;
/** A type that names a handler: of a function, or of a module with a default export. */
type Source = AnyFunction | WithDefault;
type FunctionOf<S> =
  IsAny<S> extends true ? never : S extends AnyFunction ? S : S extends { readonly default: infer F extends AnyFunction } ? F : never;
type IsAny<S> = 0 extends 1 & S ? true : false; // nothing but `any` makes an intersection with 1 that 0 fits
/** What the handler takes and gives that a type names; a type that names none stands for itself. */
export type InOf<A> = [FunctionOf<A>] extends [never] ? A : Parameters<FunctionOf<A>>[0];
export type OutOf<A, B> = [FunctionOf<A>] extends [never] ? B : Awaited<ReturnType<FunctionOf<A>>>;

/** A file by its URL or its path from the root. A text of which types know nothing more goes through `handler()`. */
export type AbsolutePath = `/${string}` | `${string}:${'/' | '\\'}${string}` | `\\\\${string}`;

/**
 * An export of a module as a handler. Make one with `handler()`.
 * The address is fixed when it is made, so a later change of the working directory changes nothing.
 */
// biome-ignore lint/suspicious/noExplicitAny: an untyped one takes anything.
export class ModuleHandler<In = any, Out = unknown> {
  readonly url: string;
  readonly exportName: string;
  /** Types only. */
  declare readonly types?: (value: In) => Out;

  /** @internal */
  constructor(url: string, exportName: string) {
    this.url = url;
    this.exportName = exportName;
    Object.freeze(this);
  }
}

/** Anything that can be given as a handler: a function, a module by URL or absolute path (its default export), or `handler()`. */
export type Handler<In, Out> = HandlerFunction<In, Out> | ModuleHandler<In, Out> | URL | AbsolutePath;

/**
 * Names one export of a module as a handler.
 *
 * The module is imported once in each worker; ESM and CommonJS both work. Nothing is loaded here: a module that does not load
 * or lacks the export fails its tasks, with `E_HANDLER_LOAD` or `E_HANDLER_EXPORT`.
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) when `url` is no file URL or absolute path, or the name no string.
 *
 * Types come from the function, `handler<typeof sha256>(url, 'sha256')`; from the module, `handler<typeof import('./hash.js')>(url)` for
 * its default export and `handler<typeof import('./hash.js'), 'sha256'>(url, 'sha256')` for another; or are said, `handler<In, Out>(url)`.
 * @example
 * await queue.run(handler(new URL('./hash.js', import.meta.url), 'sha256'), bytes);
 */
export function handler(url: URL | string, exportName?: string): ModuleHandler;
export function handler<S extends Source>(url: URL | string, exportName?: string): ModuleHandler<InOf<S>, OutOf<S, never>>;
export function handler<M extends object, N extends FunctionNames<M>>(
  url: URL | string,
  exportName: N,
): ModuleHandler<InOf<M[N]>, OutOf<M[N], never>>;
export function handler<In, Out>(url: URL | string, exportName?: string): ModuleHandler<In, Out>;
export function handler(url: URL | string, exportName: string = 'default'): ModuleHandler {
  if (typeof exportName !== 'string' || exportName === '')
    throw wrongType(`Expected \`exportName\` to be a non-empty string, ${got(exportName)}`);
  if (exportName === '__proto__') throw wrongType('Expected `exportName` to be the name of an export, got `__proto__` (string)');
  const address = moduleAddress(url);
  if (address === undefined) throw wrongType(`Expected \`url\` to be a file URL or an absolute path, ${got(url)}`);
  return new ModuleHandler(address, exportName);
}

function moduleAddress(from: unknown): string | undefined {
  if (from instanceof URL) return from.protocol === 'file:' ? from.href : undefined;
  if (typeof from !== 'string') return undefined;
  if (from.startsWith('file://') && URL.canParse(from)) return new URL(from).href;
  return isAbsolute(from) ? pathToFileURL(from).href : undefined;
}

/** The definition that a handler stands for. @throws TypeError when it is none. */
export function definitionOf(from: unknown, allowFunctions: boolean): Definition {
  if (typeof from === 'function') {
    if (!allowFunctions) throw wrongType(`Expected a module handler, since \`allowFunctions\` is false, ${got(from)}`);
    return functionDefinition(from as (...args: never[]) => unknown);
  }
  const named = from instanceof ModuleHandler ? from : undefined;
  const url = named?.url ?? moduleAddress(from);
  if (url === undefined) {
    const rule =
      'Expected a handler to be a function, a file URL or absolute path of a module, or the result of `handler(url, exportName)`';
    throw wrongType(`${rule}, ${got(from)}`);
  }
  const exportName = named?.exportName ?? 'default';
  const file = url.slice(url.lastIndexOf('/') + 1);
  return { kind: 'module', name: exportName === 'default' ? file : `${file}#${exportName}`, url, exportName };
}

/** What to write instead of a function whose text does not stand alone. */
const INSTEAD =
  'write a function of its own that takes what it needs as its value, as in `(value) => …`, or export it from a module and name that by `handler(url, exportName)`';

function functionDefinition(run: (...args: never[]) => unknown): Definition {
  const source = sourceOf(run);
  const name = typeof run.name === 'string' && run.name !== '' ? run.name : 'anonymous';
  const refused = (rule: string, got: string): TypeError => wrongType(`Expected a handler ${rule}, got ${got}; ${INSTEAD}`);
  if (/\{\s*\[native code\]\s*\}$/.test(source)) throw refused('with source of its own', `\`${name}\`, which is native or bound`);
  if (/^class\b/.test(source)) throw refused('to be a function', `the class \`${name}\``);
  if (parses(`(${source}\n)`)) return { kind: 'function', name, source };
  if (/^(?:static\s+)?[gs]et\s+[^\s(]/.test(source)) throw refused('to be a function', `the accessor \`${name}\``);
  if (/\bsuper\s*[.([]/.test(source)) throw refused('whose source can stand alone', `\`${name}\`, which uses \`super\``);
  const method = `((of) => of[Reflect.ownKeys(of)[0]])({ ${source}\n})`; // the text of a method is no expression by itself
  if (parses(method)) return { kind: 'function', name, source: method };
  if (/#[\p{ID_Start}$_]/u.test(source))
    throw refused('whose source can stand alone', `\`${name}\`, which is or uses a private member of a class`);
  throw refused('whose source can stand alone', `\`${name}\``);
}

/** Whether the text compiles. Nothing runs: a worker evaluates it. */
function parses(text: string): boolean {
  try {
    new Script(text);
    return true;
  } catch {
    return false;
  }
}
