/**
 * The life of a job, in one word of its record: the single arbiter. Any thread.
 *
 *   FREE -> QUEUED -> STARTED -> SETTLED -> FREE (next generation)
 *              |          └─> ABANDONED ──┘
 *              ├─> FREE (next generation): cancelled, or taken back before it was published
 *              └─> QUEUED (next generation): its claimer died before the start
 *   STARTED, ABANDONED -> FREE: its thread died, or the queue was cut
 *   STARTED -> QUEUED (next generation): its thread died, and it runs again
 *
 * ABANDONED: the submitter has given up on a running job. Its promise is settled, but record, payload and key stay taken until
 * the worker's own late settle, or the worker's `exit`: until then its thread may still write there.
 *
 * Whoever wins the compare-exchange owns the job. An entry in a ring is only a hint: it is void unless its record is QUEUED in
 * the entry's generation, so a job that was published twice still starts at most once (I1).
 */
import { cas, load, store } from '#atomics';
import type { Entry, RecordNumber } from '#base';
import { entryFor, inState, isCurrent, nextGeneration, RECORD_STATE, stateOf } from '#memory';

export const FREE = 0;
export const QUEUED = 1;
export const STARTED = 2;
export const SETTLED = 3;
export const ABANDONED = 4;

/** @thread submitter, which owns the free record. Returns the entry to publish. */
export function toQueued(m: Int32Array, at: number, record: RecordNumber): Entry {
  const word = inState(load(m, at + RECORD_STATE), QUEUED);
  store(m, at + RECORD_STATE, word); // edge record-1: queued -> started
  return entryFor(record, word);
}

/** @thread worker; or the submitter, which starts a job only to fail it. True: the job is the caller's. False: the entry is void, somebody else has the job or it is gone. */
export function toStarted(m: Int32Array, at: number, entry: Entry): boolean {
  const word = load(m, at + RECORD_STATE);
  if (stateOf(word) !== QUEUED || !isCurrent(entry, word)) return false;
  return cas(m, at + RECORD_STATE, word, inState(word, STARTED)) === word; // edge record-1: start side
}

/** @thread the worker that started it. True: payload and record now go to the submitter, by the completion stack. */
export function toSettled(m: Int32Array, at: number): boolean {
  for (;;) {
    const word = load(m, at + RECORD_STATE);
    if (stateOf(word) !== STARTED && stateOf(word) !== ABANDONED) return false;
    if (cas(m, at + RECORD_STATE, word, inState(word, SETTLED)) === word) return true; // lost only to an abandon, then settled late
  }
}

/** What became of a job that its submitter wanted to end. */
export const CANCELLED = 1;
export const LEFT_RUNNING = 2;
export const TOO_LATE = 0;

/**
 * @thread submitter. Ends a job wherever it is: one that has not started never will, and its record is the submitter's again;
 * one that runs is given up; one that has settled is left alone.
 */
export function toEnded(m: Int32Array, at: number): typeof CANCELLED | typeof LEFT_RUNNING | typeof TOO_LATE {
  for (;;) {
    const word = load(m, at + RECORD_STATE);
    const state = stateOf(word);
    if (state !== QUEUED && state !== STARTED) return TOO_LATE;
    const next = state === QUEUED ? nextGeneration(word, FREE) : inState(word, ABANDONED);
    if (cas(m, at + RECORD_STATE, word, next) === word) return state === QUEUED ? CANCELLED : LEFT_RUNNING;
  }
}

/** @thread host, after the `exit` of the thread on which the job ran. Returns the entry under which it may run once more. */
export function toRetried(m: Int32Array, at: number, record: RecordNumber): Entry {
  const word = nextGeneration(load(m, at + RECORD_STATE), QUEUED);
  store(m, at + RECORD_STATE, word);
  return entryFor(record, word);
}

/** @thread submitter, once the record came back. Every entry that still names this generation is void from here. */
export function toFree(m: Int32Array, at: number): void {
  store(m, at + RECORD_STATE, nextGeneration(load(m, at + RECORD_STATE), FREE));
}

/**
 * @thread host, after the `exit` of the thread that had announced the entry. If the job did not start, its generation moves on,
 * which voids every other copy of the entry, and the entry to publish instead is returned; else 0.
 */
export function toRequeued(m: Int32Array, at: number, record: RecordNumber, entry: Entry): Entry {
  const word = load(m, at + RECORD_STATE);
  if (stateOf(word) !== QUEUED || !isCurrent(entry, word)) return 0 as Entry;
  const next = nextGeneration(word, QUEUED);
  return cas(m, at + RECORD_STATE, word, next) === word ? entryFor(record, next) : (0 as Entry);
}

/** Whether the job that this entry names is in `state`. */
export function isIn(m: Int32Array, at: number, entry: Entry, state: number): boolean {
  const word = load(m, at + RECORD_STATE);
  return stateOf(word) === state && isCurrent(entry, word);
}
