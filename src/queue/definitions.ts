/**
 * The host's side of definitions: from what the user gave to a handler id, found by identity, then by text. Host thread.
 *
 * The table has `DEFINITION_COUNT` rows. When it is full, the less recently used half of those that no unsettled job names is
 * dropped; a handler that comes again is simply defined again.
 */
import { Array, Buffer, JSON, Map, Math, railheadError, URL, WeakMap } from '#base';
import { DEFINITION_COUNT, HOST, type Region } from '#memory';
import { allocateBlock, freeBlock } from '#payload';
import { type Definition, dropDefinition, writeDefinition } from '#pool';
import { definitionOf } from './handler.ts';
import type { Registry } from './registry.ts';

/** A handler as the host knows it. */
export interface Defined {
  readonly id: number;
  readonly name: string;
  readonly text: string;
  readonly block: number;
  /** When it was last asked for, as a count. */
  used: number;
  /** Its row is somebody else's by now. */
  dropped: boolean;
}

export class Definitions {
  readonly #region: Region;
  readonly #allowFunctions: boolean;
  readonly #registry: Registry;
  readonly #byIdentity = new WeakMap<object, Defined>();
  readonly #byText = new Map<string, Defined>();
  readonly #rows: (Defined | undefined)[] = Array.from({ length: DEFINITION_COUNT }, () => undefined);
  #next = 1;
  #clock = 0;
  #lastGiven: unknown;
  #last: Defined | undefined;

  constructor(region: Region, allowFunctions: boolean, registry: Registry) {
    this.#region = region;
    this.#allowFunctions = allowFunctions;
    this.#registry = registry;
  }

  /** @throws TypeError when it is no handler. @throws RailheadError `E_QUEUE_FULL` when no more can be defined. */
  find(given: unknown): Defined {
    if (given === this.#lastGiven && this.#last !== undefined && !this.#last.dropped) return this.#last;
    const isObject = (typeof given === 'object' && given !== null) || typeof given === 'function';
    let defined = isObject && !(given instanceof URL) ? this.#byIdentity.get(given) : undefined; // a URL can be changed
    if (defined === undefined || defined.dropped) {
      defined = this.#byDefinition(definitionOf(given, this.#allowFunctions));
      if (isObject) this.#byIdentity.set(given, defined);
    }
    defined.used = ++this.#clock;
    this.#last = defined;
    this.#lastGiven = given instanceof URL ? undefined : given;
    return defined;
  }

  /** The same handler, defined once more if its row went to others while nothing named it. @throws as `find` */
  redefine(defined: Defined): Defined {
    return defined.dropped ? this.#byDefinition(JSON.parse(defined.text) as Definition) : defined;
  }

  nameOf(id: number): string {
    return this.#rows[id % DEFINITION_COUNT]?.name ?? 'unknown';
  }

  #byDefinition(definition: Definition): Defined {
    const text = JSON.stringify(definition);
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    if (this.#byText.size >= DEFINITION_COUNT - 1) this.#dropHalf();
    while (this.#rows[this.#next % DEFINITION_COUNT] !== undefined || this.#next % DEFINITION_COUNT === 0) this.#next++;
    const bytes = Buffer.from(text);
    const block = allocateBlock(this.#region, HOST, bytes.length);
    if (block === 0) throw railheadError('E_QUEUE_FULL', `No shared memory is left for handler \`${definition.name}\``);
    bytes.copy(this.#region.bytes, block);
    const defined: Defined = { id: this.#next++, name: definition.name, text, block, used: 0, dropped: false };
    writeDefinition(this.#region.m, defined.id, block, bytes.length);
    this.#byText.set(text, defined);
    this.#rows[defined.id % DEFINITION_COUNT] = defined;
    return defined;
  }

  #dropHalf(): void {
    const inUse = this.#registry.handlersInUse();
    const idle = [...this.#byText.values()].filter((defined) => !inUse.has(defined.id)).sort((a, b) => a.used - b.used);
    if (idle.length === 0)
      throw railheadError('E_QUEUE_FULL', `All ${DEFINITION_COUNT - 1} handlers have unsettled tasks, no other can be defined`);
    for (const defined of idle.slice(0, Math.ceil(idle.length / 2))) {
      defined.dropped = true;
      this.#byText.delete(defined.text);
      this.#rows[defined.id % DEFINITION_COUNT] = undefined;
      dropDefinition(this.#region.m, defined.id); // before the block: a worker that warms up reads every row that has an id
      freeBlock(this.#region, HOST, defined.block);
    }
  }
}
