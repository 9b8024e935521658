/**
 * Shared words: a small number for each word that a schedule touches, and the way back to the values before it. Words are told
 * apart by buffer and position, so two views of one region meet. Numbers stay the same over all schedules.
 */
export class Words {
  #buffers = new Map();
  #ids = new Int32Array(0);
  #offset = 0;
  /** @type {Int32Array | null} */
  #view = null;
  #stamp = new Int32Array(256);
  #schedule = 1;
  #before = new Int32Array(256);
  #touched = [];
  #views = [null];
  #indexes = [0];
  #onFirst;

  /** @param {(id: number) => void} onFirst called when a schedule touches a word for the first time */
  constructor(onFirst) {
    this.#onFirst = onFirst;
  }

  /** Number of the word: call it before the access. @param {Int32Array} m @param {number} i */
  of(m, i) {
    if (m !== this.#view) this.#use(m);
    const at = this.#offset + i;
    const id = this.#ids[at] || this.#assign(m, i, at);
    if (this.#stamp[id] !== this.#schedule) {
      this.#stamp[id] = this.#schedule;
      this.#before[id] = m[i];
      this.#touched.push(id);
      this.#onFirst(id);
    }
    return id;
  }

  /** Puts back every word that was touched since the last time. */
  restore() {
    for (const id of this.#touched) this.#views[id][this.#indexes[id]] = this.#before[id];
    this.#touched.length = 0;
    this.#schedule++;
  }

  /** Forgets all words: the state was made anew. */
  forget() {
    this.#buffers.clear();
    this.#view = null;
    this.#views.length = 1;
    this.#indexes.length = 1;
    this.#touched.length = 0;
    this.#schedule++;
  }

  /** View and index of a word, for messages. */
  where(id) {
    return { m: this.#views[id], i: this.#indexes[id] };
  }

  #use(m) {
    const known = this.#buffers.get(m.buffer);
    const words = m.buffer.byteLength >> 2;
    this.#ids = known !== undefined && known.length >= words ? known : new Int32Array(words);
    if (known !== undefined && known !== this.#ids) this.#ids.set(known); // the buffer has grown
    this.#buffers.set(m.buffer, this.#ids);
    this.#offset = m.byteOffset >> 2;
    this.#view = m;
  }

  #assign(m, i, at) {
    const id = this.#views.push(m) - 1;
    this.#indexes.push(i);
    if (id >= this.#stamp.length) {
      this.#stamp = twice(this.#stamp);
      this.#before = twice(this.#before);
    }
    this.#ids[at] = id;
    return id;
  }
}

/** @param {Int32Array} array */
export function twice(array) {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
