/**
 * A worker's handlers: each definition compiled or imported once per thread. Worker thread.
 *
 * Called while the guard is OPEN; what it changes in shared memory it changes in LIBRARY.
 *
 * A module that throws on load leaves this thread's module cache broken for it, so the thread is to be replaced (`threw`).
 * The failure counts in shared memory; after `FAILURES_MAX` in a row jobs of that handler fail at once until its back-off ends.
 */
import { store } from '#atomics';
import {
  Array,
  encodeURIComponent,
  evaluate,
  exec,
  filter,
  fromWire,
  got,
  join,
  map,
  messageOf,
  Object,
  OwnMap,
  railheadError,
  type RailheadError,
  ReferenceError,
  type Slot,
  sourceOf,
  toWellFormed,
  toWire,
} from '#base';
import { DEFINITION_COUNT, type Region, SLOT_GUARD, SLOT_LOADING, slotAt } from '#memory';
import { backingOff, type Definition, FAILURES_MAX, knownDefinitions, noteFailure, noteSuccess, readDefinition } from './definition.ts';
import { enterLibrary, leaveLibrary } from './guard.ts';

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
   * `threw`: the module threw, and this thread must not be used again once that is reported. `backing-off`: it was not tried,
   * and the next job asks again. `wrong`: trying again would change nothing.
   */
  readonly why: 'threw' | 'backing-off' | 'wrong';
  /** This failure was the one that began a back-off. */
  readonly crashLoop: boolean;
}

export const isLoaded = (handler: Loaded | NotLoaded): handler is Loaded => 'run' in handler;

export class Handlers {
  readonly #region: Region;
  readonly #slot: Slot;
  /** Imports under way: two jobs of one handler wait for the same. */
  readonly #loading = new OwnMap<number, Promise<Loaded | NotLoaded>>();
  readonly #rows: (Loaded | NotLoaded | undefined)[] = Array.from({ length: DEFINITION_COUNT }, () => undefined);

  constructor(region: Region, slot: Slot) {
    this.#region = region;
    this.#slot = slot;
  }

  /** Undefined: not known to this thread yet, `load` it first. */
  find(id: number): Loaded | NotLoaded | undefined {
    const row = this.#rows[id % DEFINITION_COUNT];
    return row !== undefined && row.id === id ? row : undefined;
  }

  /** A function handler is there at once. Undefined: a module, which must be imported by `load`. */
  findOrCompile(id: number): Loaded | NotLoaded | undefined {
    const known = this.find(id);
    if (known !== undefined) return known;
    const definition = readDefinition(this.#region, id);
    if (definition?.kind !== 'function') return undefined;
    const compiled = compile(id, definition);
    this.#rows[id % DEFINITION_COUNT] = compiled;
    return compiled;
  }

  /** Never rejects. A refusal during a back-off is not kept: the next job asks again whether it is over. */
  async load(id: number): Promise<Loaded | NotLoaded> {
    const known = this.findOrCompile(id);
    if (known !== undefined) return known;
    let loading = this.#loading.get(id);
    if (loading === undefined) {
      loading = this.#import(id);
      this.#loading.set(id, loading);
      const loaded = await loading;
      this.#loading.delete(id);
      if (isLoaded(loaded) || loaded.why !== 'backing-off') this.#rows[id % DEFINITION_COUNT] = loaded;
    }
    return loading;
  }

  /** Loads all that is known now, one by one, for `warm`. */
  async loadAll(): Promise<void> {
    const ids = knownDefinitions(this.#region.m);
    for (let k = 0; k < ids.length; k++) await this.load(ids[k] as number);
  }

  async #import(id: number): Promise<Loaded | NotLoaded> {
    const { m } = this.#region;
    const definition = readDefinition(this.#region, id);
    if (definition?.kind !== 'module') return dropped(id); // no job names it: `warm` came upon a row that was just dropped
    const guard = slotAt(this.#slot) + SLOT_GUARD;
    enterLibrary(m, guard);
    const backOff = backingOff(this.#region, id);
    leaveLibrary(m, guard);
    if (backOff !== undefined) {
      const message = `The module of handler ${definition.name} failed to load ${backOff.failures} times in a row and is not tried again yet`;
      return {
        id,
        error: railheadError('E_HANDLER_LOAD', message, { cause: fromWire(backOff.cause) }),
        why: 'backing-off',
        crashLoop: false,
      };
    }
    let namespace: Record<string, unknown>;
    store(m, slotAt(this.#slot) + SLOT_LOADING, id); // if the thread ends here, the host counts it as a failure to load
    try {
      namespace = await import(definition.url);
    } catch (thrown) {
      return this.#failed(id, definition, thrown);
    } finally {
      store(m, slotAt(this.#slot) + SLOT_LOADING, 0);
    }
    enterLibrary(m, guard);
    noteSuccess(m, id);
    leaveLibrary(m, guard);
    return exported(id, definition, namespace);
  }

  #failed(id: number, definition: Definition & { kind: 'module' }, thrown: unknown): NotLoaded {
    const wire = toWire(thrown);
    const guard = slotAt(this.#slot) + SLOT_GUARD;
    enterLibrary(this.#region.m, guard);
    const failures = noteFailure(this.#region, this.#slot, id, wire);
    leaveLibrary(this.#region.m, guard);
    const message = `The module of handler ${definition.name} could not be loaded from ${definition.url}: ${messageOf(thrown)}`;
    return { id, error: railheadError('E_HANDLER_LOAD', message, { cause: thrown }), why: 'threw', crashLoop: failures === FAILURES_MAX };
  }
}

const dropped = (id: number): NotLoaded => ({
  id,
  error: railheadError('E_HANDLER_LOAD', 'The handler is not defined'),
  why: 'backing-off',
  crashLoop: false,
});

/** The function that a loaded module exports. Exports may be getters, and may throw. */
function exported(id: number, definition: Definition & { kind: 'module' }, namespace: Record<string, unknown>): Loaded | NotLoaded {
  let error: RailheadError;
  try {
    const run = pick(namespace, definition.exportName);
    if (typeof run === 'function')
      return { id, name: definition.name, run: run as HandlerFunction, source: '', wantsTask: canSeeTask(run) };
    error = railheadError('E_HANDLER_EXPORT', notExported(definition, run, namespace));
  } catch (cause) {
    const message = `The export \`${definition.exportName}\` of ${definition.url} could not be read: ${messageOf(cause)}`;
    error = railheadError('E_HANDLER_EXPORT', message, { cause });
  }
  return { id, error, why: 'wrong', crashLoop: false };
}

/** CommonJS shows its `module.exports` as `default`; transpiled ESM in CommonJS puts the real default one level further down. */
function pick(namespace: Record<string, unknown>, name: string): unknown {
  const own = (from: unknown): unknown =>
    (typeof from === 'object' || typeof from === 'function') && from !== null && Object.hasOwn(from, name)
      ? (from as Record<string, unknown>)[name]
      : undefined;
  const direct = own(namespace);
  if (typeof direct === 'function') return direct;
  return own(namespace.default) ?? direct;
}

function notExported(definition: Definition & { kind: 'module' }, found: unknown, namespace: Record<string, unknown>): string {
  const functions = filter(Object.keys(namespace), (name) => typeof namespace[name] === 'function');
  const has =
    functions.length === 0
      ? 'it exports no function'
      : `it exports ${join(
          map(functions, (name) => `\`${name}\``),
          ', ',
        )}`;
  const what = found === undefined ? 'is not there' : `is not a function: ${got(found)}`;
  return `Expected the export \`${definition.exportName}\` of ${definition.url} to be a function, but it ${what}; ${has}`;
}

/**
 * Strict, as the function was in its module: an undeclared name is an error and no global. `__name` is a helper that transpilers
 * call from inside functions they rewrite: it comes with the text of every function handler.
 */
const PRELUDE = '(function (__name) { "use strict"; return (';
const EPILOGUE = '\n); })((target) => target)\n//# sourceURL=railhead:';

/** An indirect eval, in the global scope; unlike `node:vm` it lets the function `import()` on every Node. */
function compile(id: number, definition: Definition & { kind: 'function' }): Loaded | NotLoaded {
  const { name, source } = definition;
  try {
    const run = evaluate(`${PRELUDE}${source}${EPILOGUE}${encodeURIComponent(toWellFormed(name))}`) as HandlerFunction;
    return { id, name, run, source, wantsTask: canSeeTask(run) };
  } catch (thrown) {
    const message = `Function handler \`${name}\` could not be compiled in a worker: ${messageOf(thrown)}`;
    return { id, error: railheadError('E_HANDLER_LOAD', message, { cause: thrown }), why: 'wrong', crashLoop: false };
  }
}

const ONE_PLAIN_PARAMETER = /^(?:async\b\s*)?(?:function\b\s*)?[\w$]*\s*(?:\(\s*[\w$]+\s*,?\s*\)|[\w$]+)\s*(?:=>|\{)/;

/** A function with one plain parameter that never says `arguments` cannot see its second one, so none is made for it. */
function canSeeTask(run: object): boolean {
  const source = sourceOf(run);
  return exec(ONE_PLAIN_PARAMETER, source) === null || exec(/\barguments\b/, source) !== null;
}

/**
 * What a handler threw, as the caller should see it. A name that is defined nowhere, thrown by a function handler, is nearly
 * always a variable that the function used at home and that could not follow it.
 */
export function explain(thrown: unknown, handler: Loaded): unknown {
  const missing = handler.source === '' ? undefined : undefinedName(thrown);
  if (missing === undefined) return thrown;
  const message = `Function handler \`${handler.name}\` uses \`${missing}\`, which is not defined in a worker: a function is sent as source and cannot capture variables. Pass it in the value, import it inside the function, or use a module handler`;
  return railheadError('E_CAPTURED', message, { cause: thrown });
}

/** `x` of a ReferenceError "x is not defined". Whatever was thrown, looking at it must not throw: what it does is its own affair. */
function undefinedName(thrown: unknown): string | undefined {
  try {
    return thrown instanceof ReferenceError ? exec(/^([\w$]+) is not defined$/, thrown.message)?.[1] : undefined;
  } catch {
    return undefined;
  }
}
