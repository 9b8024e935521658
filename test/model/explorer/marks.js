/**
 * Fingerprints: two numbers that are equal for two prefixes of schedules exactly when they order all dependent operations the
 * same way (up to a collision of 64 bits). Then words, threads and clocks are equal too, whatever else was swapped.
 *
 * An operation's mark is made from its thread's mark before it, the last write of its word, and for a write the reads since.
 * Each thread runs the same code on the same values, so its mark names what it did.
 */
import { twice } from './words.js';

const A = 0x9e3779b1;
const B = 0x85ebca77;

/** `h` is scrambled before `x` joins it: a thread's mark and that of the word it wrote last are often equal, and must not cancel. */
function mix(h, x) {
  let v = Math.imul(h ^ (h >>> 16), A);
  v ^= (v >>> 15) ^ x;
  v = Math.imul(v ^ (v >>> 16), B);
  return v ^ (v >>> 13);
}

export class Marks {
  #threads;
  #n;
  /** Per word: mark of the last write (two halves), sum of the reads since (two halves). */
  #words = new Int32Array(1024);
  high = 0;
  low = 0;

  /** @param {number} threads */
  constructor(threads) {
    this.#n = threads;
    this.#threads = new Int32Array(threads * 2);
  }

  begin() {
    for (let k = 0; k < this.#threads.length; k++) this.#threads[k] = Math.imul(k + 1, B);
  }

  clear(w) {
    while (w * 4 + 4 > this.#words.length) this.#words = twice(this.#words);
    for (let k = w * 4; k < w * 4 + 4; k++) this.#words[k] = 0;
  }

  read(t, w) {
    const words = this.#words;
    const at = w * 4;
    words[at + 2] += this.#threads[2 * t] = mix(this.#threads[2 * t], words[at] + 1);
    words[at + 3] += this.#threads[2 * t + 1] = mix(this.#threads[2 * t + 1], words[at + 1] + 2);
  }

  write(t, w) {
    const words = this.#words;
    const at = w * 4;
    words[at] = this.#threads[2 * t] = mix(mix(this.#threads[2 * t], words[at] + 3), words[at + 2]);
    words[at + 1] = this.#threads[2 * t + 1] = mix(mix(this.#threads[2 * t + 1], words[at + 1] + 4), words[at + 3]);
    words[at + 2] = 0;
    words[at + 3] = 0;
  }

  /** Something happened to `t` that touches no word. */
  note(t, what) {
    this.#threads[2 * t] = mix(this.#threads[2 * t], what + 5);
    this.#threads[2 * t + 1] = mix(this.#threads[2 * t + 1], what + 6);
  }

  /** What `from` did last changed `t`. */
  pass(from, t) {
    this.#threads[2 * t] = mix(this.#threads[2 * t], this.#threads[2 * from] + 7);
    this.#threads[2 * t + 1] = mix(this.#threads[2 * t + 1], this.#threads[2 * from + 1] + 8);
  }

  /** Fills `high` and `low` for the present moment, with `more` (what else the future depends on). */
  take(more) {
    let high = more;
    let low = ~more;
    for (let t = 0; t < this.#n; t++) {
      high = mix(high, this.#threads[2 * t]);
      low = mix(low, this.#threads[2 * t + 1]);
    }
    this.high = high;
    this.low = low;
  }
}
