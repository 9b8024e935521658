/**
 * A submitter's records: slabs taken from the region, and a free list that only its thread touches. First in, first out, and
 * with at least `ROTATION` records on the way round, so that the 8 bits of generation in an entry cannot come round while an
 * old copy of that entry still lies in a ring.
 */
import { peek, poke } from '#atomics';
import type { RecordNumber } from '#base';
import { NO_RECORD, RECORD_NEXT, type Region, recordAt, NO_SLAB, SLAB_RECORDS, takeSlab } from '#memory';

/** Free records kept on their way round before one is used again. Fewer: a stale entry might match; more: colder memory. */
export const ROTATION = 16_384;

export class Records {
  readonly #region: Region;
  readonly #rotation: number;
  /** Of the current slab: next record never used, and how many are left. */
  #fresh = 0;
  #freshLeft = 0;
  #oldest: RecordNumber = NO_RECORD;
  #newest: RecordNumber = NO_RECORD;
  #free = 0;

  constructor(region: Region, rotation: number = ROTATION) {
    this.#region = region;
    this.#rotation = rotation;
  }

  /** A record that the caller owns until it publishes or gives it back; `NO_RECORD` when none can be had: 2^24 jobs are unsettled, or the region is at its limit. */
  take(): RecordNumber {
    if (this.#free > this.#rotation) return this.#reuse();
    if (this.#freshLeft === 0) {
      const first = takeSlab(this.#region);
      if (first === NO_SLAB) return this.#free > 0 ? this.#reuse() : NO_RECORD;
      this.#fresh = first;
      this.#freshLeft = SLAB_RECORDS;
    }
    this.#freshLeft--;
    const record = this.#fresh++ as RecordNumber;
    return record === NO_RECORD ? this.take() : record;
  }

  /** Back on the free list; its state is FREE already, in a new generation (or it was never published). */
  give(record: RecordNumber): void {
    if (this.#free === 0) this.#oldest = record;
    else {
      const at = recordAt(this.#region, this.#newest);
      poke(this.#region.m, at + RECORD_NEXT, record);
    }
    this.#newest = record;
    this.#free++;
  }

  #reuse(): RecordNumber {
    const record = this.#oldest;
    this.#free--;
    const at = recordAt(this.#region, record);
    this.#oldest = peek(this.#region.m, at + RECORD_NEXT) as RecordNumber;
    return record;
  }
}
