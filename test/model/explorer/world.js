/**
 * The state that `setup` makes, put back before each schedule. Plain objects and arrays are copied, typed arrays get their
 * contents back, shared buffers only the words that were touched (`Words`). A state that holds anything else is made anew each
 * time: right, and slow.
 */
import { direct } from './direct.js';
import { Words } from './words.js';

export class World {
  #make;
  #model = null;
  #kept = [];
  words;

  /** @param {() => unknown} setup @param {(id: number) => void} onFirst */
  constructor(setup, onFirst) {
    this.#make = () => direct(setup());
    this.words = new Words(onFirst);
    const state = this.#make();
    this.#kept = [];
    if (this.#canCopy(state, new Set())) this.#model = { state };
  }

  /** The state as `setup` left it. */
  fresh() {
    if (this.#model === null) {
      this.words.forget();
      return this.#make();
    }
    this.words.restore();
    for (const { array, contents } of this.#kept) array.set(contents);
    return copy(this.#model.state, new Map());
  }

  #canCopy(value, seen) {
    if (typeof value !== 'object' || value === null || seen.has(value)) return true;
    seen.add(value);
    if (ArrayBuffer.isView(value)) {
      if (value.buffer instanceof ArrayBuffer && !(value instanceof DataView)) this.#kept.push({ array: value, contents: value.slice() });
      return true;
    }
    if (value instanceof SharedArrayBuffer || value instanceof ArrayBuffer) return true;
    return isPlainObject(value) && Object.values(value).every((part) => this.#canCopy(part, seen));
  }
}

const isPlainObject = (value) => Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;

/** Objects and arrays anew, the same one wherever it was the same one; the rest is shared. */
function copy(value, made) {
  if (typeof value !== 'object' || value === null || !isPlainObject(value)) return value;
  if (made.has(value)) return made.get(value);
  const fresh = Array.isArray(value) ? [] : {};
  made.set(value, fresh);
  for (const key of Object.keys(value)) fresh[key] = copy(value[key], made);
  return fresh;
}
