/** What may be given as a handler, checked and normalized. Host thread. */
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';
import { got, Object, sourceOf, URL, wrongType } from '#base';
import type { Definition, TaskHandle } from '#pool';

/** A self-contained function that runs in a worker: one value, and the handle on this run. */
export type HandlerFunction<In, Out> = (value: In, task: TaskHandle) => Out | PromiseLike<Out>;

/**
 * An export of a module as a handler. Make one with `handler()`.
 * The address is fixed when it is made, so a later change of the working directory changes nothing.
 */
export class ModuleHandler<In = any, Out = any> {
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
export type Handler<In, Out> = HandlerFunction<In, Out> | ModuleHandler<In, Out> | URL | string;

/**
 * Names one export of a module as a handler.
 *
 * The module is imported once in each worker; ESM and CommonJS both work. Nothing is loaded here: a module that does not load
 * or lacks the export fails its tasks, with `E_HANDLER_LOAD` or `E_HANDLER_EXPORT`.
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) when `url` is no file URL or absolute path, or the name no string.
 * @example
 * await queue.run(handler(new URL('./hash.js', import.meta.url), 'sha256'), bytes);
 */
export function handler<In = any, Out = any>(url: URL | string, exportName: string = 'default'): ModuleHandler<In, Out> {
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

function functionDefinition(run: (...args: never[]) => unknown): Definition {
  const source = sourceOf(run);
  const name = typeof run.name === 'string' && run.name !== '' ? run.name : 'anonymous';
  if (/\{\s*\[native code\]\s*\}$/.test(source))
    throw wrongType(`Expected a handler with source of its own, got \`${name}\`, which is native or bound`);
  if (/^class\b/.test(source)) throw wrongType(`Expected a handler to be a function, got the class \`${name}\``);
  if (parses(`(${source}\n)`)) return { kind: 'function', name, source };
  if (/^(?:static\s+)?[gs]et\s+[^\s(]/.test(source)) throw wrongType(`Expected a handler to be a function, got the accessor \`${name}\``);
  if (/\bsuper\s*[.([]/.test(source))
    throw wrongType(`Expected a handler whose source can stand alone, got \`${name}\`, which uses \`super\``);
  const method = `((of) => of[Reflect.ownKeys(of)[0]])({ ${source}\n})`; // the text of a method is no expression by itself
  if (parses(method)) return { kind: 'function', name, source: method };
  throw wrongType(`Expected a handler whose source can stand alone, got \`${name}\``);
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
