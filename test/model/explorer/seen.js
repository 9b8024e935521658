/**
 * Moments of schedules already explored, with the preemptions that were left. A table of open addressing over typed arrays:
 * millions of entries, no garbage.
 */

/** Entries at most; beyond it nothing new is remembered, which costs time and no truth. 24 bytes each with the room around them. */
const MOST = 1 << 22;

export class Seen {
  #mask = (1 << 14) - 1;
  #slots = new Int32Array((1 << 14) * 3);
  #count = 0;

  /**
   * True: this moment was explored with at least as many preemptions left, so everything that can follow has been seen.
   * Otherwise it is remembered, and the caller must explore it.
   */
  visit(high, low, left) {
    let at = (low & this.#mask) * 3;
    for (; this.#slots[at + 2] !== 0; at = at + 3 === this.#slots.length ? 0 : at + 3) {
      if (this.#slots[at] !== high || this.#slots[at + 1] !== low) continue;
      if (this.#slots[at + 2] > left) return true;
      this.#slots[at + 2] = left + 1;
      return false;
    }
    if (this.#count >= MOST) return false;
    this.#put(at, high, low, left + 1);
    if (++this.#count * 2 > this.#mask) this.#grow();
    return false;
  }

  #put(at, high, low, value) {
    this.#slots[at] = high;
    this.#slots[at + 1] = low;
    this.#slots[at + 2] = value;
  }

  #grow() {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2);
    this.#mask = this.#mask * 2 + 1;
    for (let k = 0; k < old.length; k += 3) {
      if (old[k + 2] === 0) continue;
      let at = (old[k + 1] & this.#mask) * 3;
      while (this.#slots[at + 2] !== 0) at = at + 3 === this.#slots.length ? 0 : at + 3;
      this.#put(at, old[k], old[k + 1], old[k + 2]);
    }
  }
}
