/**
 * The life of a job, in one word of its record: the single arbiter. Any thread.
 *
 *   FREE -> QUEUED -> STARTED -> SETTLED -> FREE (next generation)
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

/** @thread submitter, which owns the free record. Returns the entry to publish. */
export function toQueued(m: Int32Array, at: number, record: RecordNumber): Entry {
  const word = inState(load(m, at + RECORD_STATE), QUEUED);
  store(m, at + RECORD_STATE, word);
  return entryFor(record, word);
}

/** @thread worker. True: the job is this worker's. False: the entry is void, somebody else has the job or it is gone. */
export function toStarted(m: Int32Array, at: number, entry: Entry): boolean {
  const word = load(m, at + RECORD_STATE);
  if (stateOf(word) !== QUEUED || !isCurrent(entry, word)) return false;
  return cas(m, at + RECORD_STATE, word, inState(word, STARTED)) === word;
}

/** @thread the worker that started it. True: payload and record now go to the submitter, by the completion stack. */
export function toSettled(m: Int32Array, at: number): boolean {
  const word = load(m, at + RECORD_STATE);
  return stateOf(word) === STARTED && cas(m, at + RECORD_STATE, word, inState(word, SETTLED)) === word;
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

/** @thread host, after the `exit` of the thread that had started the job and not begun with it. Returns the entry to publish. */
export function toQueuedAgain(m: Int32Array, at: number, record: RecordNumber): Entry {
  const word = nextGeneration(load(m, at + RECORD_STATE), QUEUED);
  store(m, at + RECORD_STATE, word);
  return entryFor(record, word);
}

/** Whether the job that this entry names is in `state`. */
export function isIn(m: Int32Array, at: number, entry: Entry, state: number): boolean {
  const word = load(m, at + RECORD_STATE);
  return stateOf(word) === state && isCurrent(entry, word);
}
