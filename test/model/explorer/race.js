/**
 * The race check: vector clocks over one schedule. Two accesses to a word that no edge orders, at least one of them plain and
 * at least one a write, are a race, whether or not the schedule put them next to each other.
 *
 * An edge is made by an atomic operation that reads what another one wrote. A wake-up makes none: who is woken must look again.
 * A `glance` is held back until its thread's next `cas`: won, it counts as a plain read at the moment of the glance; lost, it
 * never was.
 */
export class Race {
  #n;
  #size;
  #clock;
  #words;
  #glances = [];
  /** What was found: `{ word, thread, clock, other, otherClock }`, or null. */
  found = null;

  /** @param {number} threads */
  constructor(threads) {
    this.#n = threads;
    // Per word and thread: released clock, last atomic write, last atomic read, last plain read; then writer and clock of the last plain write.
    this.#size = 4 * threads + 2;
    this.#clock = new Int32Array(threads * threads);
    this.#words = new Int32Array(256 * this.#size);
  }

  begin() {
    this.#clock.fill(0);
    this.#glances.length = 0;
    this.found = null;
  }

  /** The schedule touches word `w` for the first time. */
  clear(w) {
    const from = w * this.#size;
    while (from + this.#size > this.#words.length) {
      const larger = new Int32Array(this.#words.length * 2);
      larger.set(this.#words);
      this.#words = larger;
    }
    for (let k = from; k < from + this.#size; k++) this.#words[k] = 0;
  }

  /** How many operations thread `t` has done: its own component. */
  now(t) {
    return this.#clock[t * this.#n + t];
  }

  /** Operation of `t` that touches no word. */
  tick(t) {
    this.#clock[t * this.#n + t]++;
  }

  /** Everything `from` did comes before what `t` does next: its exit was seen. */
  join(t, from) {
    const n = this.#n;
    for (let u = 0; u < n; u++) this.#clock[t * n + u] = Math.max(this.#clock[t * n + u], this.#clock[from * n + u]);
  }

  /** Atomic operation of `t` on `w`; one that both reads and writes is a read-modify-write. */
  atomic(t, w, reads, writes) {
    const n = this.#n;
    const clock = this.#clock;
    const words = this.#words;
    const mine = t * n;
    const at = w * this.#size;
    const c = ++clock[mine + t];
    if (reads) for (let u = 0; u < n; u++) if (words[at + u] > clock[mine + u]) clock[mine + u] = words[at + u];
    const plainWrite = words[at + 4 * n + 1];
    if (plainWrite > clock[mine + words[at + 4 * n]]) this.#race(w, t, c, words[at + 4 * n], plainWrite);
    if (!writes) {
      words[at + 2 * n + t] = c;
      return;
    }
    this.#unordered(t, c, w, 3);
    // A store releases this thread's past only: whoever reads it does not meet what an older store released.
    for (let u = 0; u < n; u++) words[at + u] = clock[mine + u];
    words[at + n + t] = c;
    if (this.#glances.length > 0) this.#overtakes(t, c, w);
  }

  plainRead(t, w) {
    const c = ++this.#clock[t * this.#n + t];
    this.#words[w * this.#size + 3 * this.#n + t] = c;
    const [other, otherClock] = this.#writer(t, w);
    if (other >= 0) this.#race(w, t, c, other, otherClock);
  }

  plainWrite(t, w) {
    const n = this.#n;
    const c = ++this.#clock[t * n + t];
    const [other, otherClock] = this.#writer(t, w);
    if (other >= 0) this.#race(w, t, c, other, otherClock);
    this.#unordered(t, c, w, 2);
    this.#unordered(t, c, w, 3);
    this.#words[w * this.#size + 4 * n] = t;
    this.#words[w * this.#size + 4 * n + 1] = c;
    if (this.#glances.length > 0) this.#overtakes(t, c, w);
  }

  glance(t, w) {
    const c = ++this.#clock[t * this.#n + t];
    const [other, otherClock] = this.#writer(t, w);
    this.#glances.push({ t, w, c, other, otherClock });
  }

  /** The next `cas` of `t` after its glances: they count if it was won. */
  judge(t, won) {
    if (this.#glances.length === 0) return;
    for (const g of this.#glances) {
      if (g.t !== t || !won) continue;
      this.#words[g.w * this.#size + 3 * this.#n + t] = g.c;
      if (g.other >= 0) this.#race(g.w, t, g.c, g.other, g.otherClock);
    }
    this.#glances = this.#glances.filter((g) => g.t !== t);
  }

  /** A write by `t` that does not come after a glance held back: the glance raced, should it count. */
  #overtakes(t, c, w) {
    for (const g of this.#glances) {
      if (g.w !== w || g.t === t || g.other >= 0 || this.#clock[t * this.#n + g.t] >= g.c) continue;
      g.other = t;
      g.otherClock = c;
    }
  }

  /** Last write to `w`, plain or atomic, that `t` has not seen: `[thread, clock]`, or `[-1, 0]`. */
  #writer(t, w) {
    const n = this.#n;
    const at = w * this.#size;
    const words = this.#words;
    const plain = words[at + 4 * n];
    if (words[at + 4 * n + 1] > this.#clock[t * n + plain]) return [plain, words[at + 4 * n + 1]];
    for (let u = 0; u < n; u++) if (u !== t && words[at + n + u] > this.#clock[t * n + u]) return [u, words[at + n + u]];
    return NOBODY;
  }

  /** Accesses of one kind (`row` of the word's record) by others that `t` has not seen. */
  #unordered(t, c, w, row) {
    const n = this.#n;
    const at = w * this.#size + row * n;
    for (let u = 0; u < n; u++) {
      if (u !== t && this.#words[at + u] > this.#clock[t * n + u]) this.#race(w, t, c, u, this.#words[at + u]);
    }
  }

  #race(word, thread, clock, other, otherClock) {
    this.found ??= { word, thread, clock, other, otherClock };
  }
}

const NOBODY = [-1, 0];
