/**
 * A worker's handlers: each definition compiled or imported once per thread. Worker thread.
 *
 * A module that throws on load leaves this thread's module cache broken for it, so the thread is to be replaced: `spoiled`.
 * The failure counts in shared memory; after `FAILURES_MAX` in a row jobs of that handler fail at once until its back-off ends.
 */
import { constants, Script } from 'node:vm';
import { type ErrorWire, fromWire, got, RailheadError, railheadError, type Slot, toWire } from '#base';
import { DEFINITION_COUNT, type Region } from '#memory';
import { Scratch } from '#payload';
import { backingOff, type Definition, FAILURES_MAX, keepFailure, noteFailure, noteSuccess, readDefinition } from './definition.ts';

export type HandlerFunction = (value: unknown, task: unknown) => unknown;

export interface Loaded {
  readonly id: number;
  readonly name: string;
  readonly run: HandlerFunction;
  /** Source of a function handler; '' for a module. */
  readonly source: string;
  /** The handler can see its second argument, so one must be made for each job. */
  readonly wantsTask: boolean;
}

/** What stands in for a handler that could not be loaded: each of its jobs fails with `error`. */
export interface NotLoaded {
  readonly id: number;
  readonly error: RailheadError;
  /**
   * `spoiled`: the module threw, and this thread must not be used again once that is reported. `backing-off`: it was not tried,
   * and the next job asks again. `wrong`: trying again would change nothing.
   */
  readonly why: 'spoiled' | 'backing-off' | 'wrong';
  /** This failure was the one that began a back-off. */
  readonly crashLoop: boolean;
}

export const isLoaded = (handler: Loaded | NotLoaded): handler is Loaded => 'run' in handler;

export class Handlers {
  readonly #region: Region;
  readonly #slot: Slot;
  readonly #rows: (Loaded | NotLoaded | undefined)[] = new Array(DEFINITION_COUNT).fill(undefined);

  constructor(region: Region, slot: Slot) {
    this.#region = region;
    this.#slot = slot;
  }

  /** Undefined: not known to this thread yet, `load` it first. */
  find(id: number): Loaded | NotLoaded | undefined {
    const row = this.#rows[id % DEFINITION_COUNT];
    return row !== undefined && row.id === id ? row : undefined;
  }

  /** Never rejects: a failure is what `find` gives from then on. */
  async load(id: number): Promise<void> {
    const definition = readDefinition(this.#region, id);
    if (definition === undefined) return; // the job that named it is gone
    this.#rows[id % DEFINITION_COUNT] = definition.kind === 'function' ? compile(id, definition) : await this.#import(id, definition);
  }

  /** After a job was refused during a back-off: the next one asks again whether it is over. */
  forget(id: number): void {
    this.#rows[id % DEFINITION_COUNT] = undefined;
  }

  async #import(id: number, definition: Definition & { kind: 'module' }): Promise<Loaded | NotLoaded> {
    const backOff = backingOff(this.#region, id);
    if (backOff !== undefined) {
      const message = `The module of handler ${definition.name} failed to load ${backOff.failures} times in a row and is not tried again yet`;
      return { id, error: railheadError('E_HANDLER_LOAD', message, { cause: fromWire(backOff.cause) }), why: 'backing-off', crashLoop: false };
    }
    let namespace: Record<string, unknown>;
    try {
      namespace = await import(definition.url);
    } catch (thrown) {
      return this.#failed(id, definition, thrown);
    }
    noteSuccess(this.#region.m, id);
    const run = pick(namespace, definition.exportName);
    if (typeof run === 'function') return { id, name: definition.name, run: run as HandlerFunction, source: '', wantsTask: canSeeTask(run) };
    return { id, error: railheadError('E_HANDLER_EXPORT', notExported(definition, run, namespace)), why: 'wrong', crashLoop: false };
  }

  #failed(id: number, definition: Definition & { kind: 'module' }, thrown: unknown): NotLoaded {
    const wire: ErrorWire = toWire(thrown);
    const failures = noteFailure(this.#region.m, id);
    if (failures === FAILURES_MAX) keepFailure(this.#region, this.#slot, id, wire, new Scratch());
    const message = `The module of handler ${definition.name} could not be loaded from ${definition.url}: ${messageOf(thrown)}`;
    return { id, error: railheadError('E_HANDLER_LOAD', message, { cause: thrown }), why: 'spoiled', crashLoop: failures === FAILURES_MAX };
  }
}

/** CommonJS shows its `module.exports` as `default`; transpiled ESM in CommonJS puts the real default one level further down. */
function pick(namespace: Record<string, unknown>, name: string): unknown {
  const own = (from: unknown): unknown =>
    (typeof from === 'object' || typeof from === 'function') && from !== null && Object.hasOwn(from, name) ? (from as Record<string, unknown>)[name] : undefined;
  const direct = own(namespace);
  if (typeof direct === 'function') return direct;
  return own(namespace.default) ?? direct;
}

function notExported(definition: Definition & { kind: 'module' }, found: unknown, namespace: Record<string, unknown>): string {
  const functions = Object.keys(namespace).filter((name) => typeof namespace[name] === 'function');
  const has = functions.length === 0 ? 'it exports no function' : `it exports ${functions.map((name) => `\`${name}\``).join(', ')}`;
  const what = found === undefined ? 'is not there' : `is not a function: ${got(found)}`;
  return `Expected the export \`${definition.exportName}\` of ${definition.url} to be a function, but it ${what}; ${has}`;
}

const messageOf = (thrown: unknown): string => {
  try {
    return thrown instanceof Error ? String(thrown.message) : got(thrown);
  } catch {
    return got(thrown);
  }
};

/** Helpers that transpilers call from inside functions they rewrite: they come with the text of every function handler. */
const PRELUDE = '(function (__name) { return (';
const EPILOGUE = '\n); })((target) => target)';

function compile(id: number, definition: Definition & { kind: 'function' }): Loaded | NotLoaded {
  const { name, source } = definition;
  try {
    const script = new Script(`${PRELUDE}${source}${EPILOGUE}`, {
      filename: `railhead:${name}`,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    const run = script.runInThisContext() as HandlerFunction;
    return { id, name, run, source, wantsTask: canSeeTask(run) };
  } catch (thrown) {
    const message = `Function handler \`${name}\` could not be compiled in a worker: ${messageOf(thrown)}`;
    return { id, error: railheadError('E_HANDLER_LOAD', message, { cause: thrown }), why: 'wrong', crashLoop: false };
  }
}

const ONE_PLAIN_PARAMETER = /^(?:async\b\s*)?(?:function\b\s*)?[\w$]*\s*(?:\(\s*[\w$]+\s*,?\s*\)|[\w$]+)\s*(?:=>|\{)/;

/** A function with one plain parameter that never says `arguments` cannot see its second one, so none is made for it. */
function canSeeTask(run: object): boolean {
  const source = Function.prototype.toString.call(run);
  return !ONE_PLAIN_PARAMETER.test(source) || /\barguments\b/.test(source);
}

/**
 * What a handler threw, as the caller should see it. A name that is defined nowhere, thrown by a function handler, is nearly
 * always a variable that the function used at home and that could not follow it.
 */
export function explain(thrown: unknown, handler: Loaded): unknown {
  if (handler.source === '' || !(thrown instanceof ReferenceError)) return thrown;
  const missing = /^([\w$]+) is not defined$/.exec(thrown.message)?.[1];
  if (missing === undefined) return thrown;
  const message = `Function handler \`${handler.name}\` uses \`${missing}\`, which is not defined in a worker: a function is sent as source and cannot capture variables. Pass it in the value, import it inside the function, or use a module handler`;
  return railheadError('E_CAPTURED', message, { cause: thrown });
}
