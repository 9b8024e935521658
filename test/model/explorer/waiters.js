/** Who waits on which word, first in, first out. A waiter is also what `waitAsync` gives to be awaited. */
export class Waiters {
  #queues = new Map();

  begin() {
    if (this.#queues.size > 0) this.#queues.clear();
  }

  /** `thread` waits on word `w`; `timed` if its wait has a time-out of its own. */
  add(w, thread, timed) {
    const waiter = { isWaiter: true, w, thread, timed, value: null };
    const queue = this.#queues.get(w);
    if (queue) queue.push(waiter);
    else this.#queues.set(w, [waiter]);
    return waiter;
  }

  /** Takes up to `count` off the queue of `w`, and wakes them. */
  wake(w, count) {
    const queue = this.#queues.get(w);
    if (queue === undefined) return [];
    const woken = queue.splice(0, count);
    for (const waiter of woken) waiter.value = 'ok';
    return woken;
  }

  /** How many wait on `w`. */
  count(w) {
    return this.#queues.get(w)?.length ?? 0;
  }

  /** The waiter leaves its queue for another reason. */
  leave(waiter, value) {
    this.#remove((other) => other === waiter);
    waiter.value = value;
  }

  /** The thread died: its waiters go with it. */
  forget(thread) {
    this.#remove((waiter) => waiter.thread === thread);
  }

  #remove(matches) {
    for (const [w, queue] of this.#queues) {
      const left = queue.filter((waiter) => !matches(waiter));
      if (left.length < queue.length) this.#queues.set(w, left);
    }
  }
}
