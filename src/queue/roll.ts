/** The unsettled jobs: what the host remembers of each, by record. Host thread. */
import { load, peek } from '#atomics';
import { type RecordNumber, Set } from '#base';
import { RECORD_HANDLER, RECORD_STATE, type Region, recordAt, stateOf } from '#memory';
import { FREE } from '#ring';
import type { Job } from './job.ts';

export class Roll {
  readonly #region: Region;
  readonly #jobs: (Job | undefined)[] = [];
  #highestRecord = 0;

  constructor(region: Region) {
    this.#region = region;
  }

  add(record: RecordNumber, job: Job | undefined): void {
    if (record > this.#highestRecord) this.#highestRecord = record;
    if (job === undefined) return;
    while (this.#jobs.length <= record) this.#jobs.push(undefined); // stays a dense array
    this.#jobs[record] = job;
  }

  remove(record: RecordNumber): void {
    if (this.jobOf(record) !== undefined) this.#jobs[record] = undefined;
  }

  jobOf(record: RecordNumber): Job | undefined {
    return record < this.#jobs.length ? this.#jobs[record] : undefined;
  }

  handlerOf(record: RecordNumber): number {
    const at = recordAt(this.#region, record);
    return peek(this.#region.m, at + RECORD_HANDLER);
  }

  /** Handler ids that unsettled jobs name. */
  handlersInUse(): Set<number> {
    const ids = new Set<number>();
    for (const record of this.unsettled()) ids.add(this.handlerOf(record));
    return ids;
  }

  /** All unsettled jobs, by a scan of the records' states: for rare occasions. */
  *unsettled(): Generator<RecordNumber> {
    for (let record = 1; record <= this.#highestRecord; record++) {
      const at = recordAt(this.#region, record as RecordNumber);
      if (stateOf(load(this.#region.m, at + RECORD_STATE)) !== FREE) yield record as RecordNumber;
    }
  }
}
