/**
 * The host's ports: values that wait for their worker to ask, and results that wait to be read. Host thread.
 *
 *   argument:  kept as the job is prepared -> given to the worker that started it, or closed with the job. While it is here the
 *              job has not begun: if its worker dies, another runs it; if it is given up, it never will
 *   result:    received before its job settles -> read as it settles, or closed with the job
 *
 * Both belong to a record, and go when it is freed: whatever happens to the job or its worker, no port is left.
 */
import type { MessagePort } from 'node:worker_threads';
import { load } from '#atomics';
import { type Entry, Error, Map, type RecordNumber, type Slot, ticks } from '#base';
import { isCurrent, RECORD_STATE, type Region, recordAt, recordOf, stateOf } from '#memory';
import { readPort } from '#payload';
import { LATE_MS, type Receivers, type ToHost } from '#pool';
import { FREE, isIn, STARTED } from '#ring';
import type { Threads } from './threads.ts';

export class HostPorts {
  readonly #region: Region;
  readonly #threads: Threads;
  readonly #arguments = new Map<RecordNumber, MessagePort>();
  readonly #results = new Map<RecordNumber, MessagePort>();

  constructor(region: Region, threads: Threads) {
    this.#region = region;
    this.#threads = threads;
  }

  /** What the thread in `slot` says of values. */
  receiversFor(slot: Slot): Pick<Receivers<ToHost>, 'ask' | 'result'> {
    return {
      ask: ({ entry, since, again }) => this.#give(slot, entry, since, again),
      result: ({ entry, port }) => {
        if (this.#isUnsettled(entry)) this.#results.set(recordOf(entry), port);
        else port.close(); // cut meanwhile: nobody will read it
      },
    };
  }

  /** The value of a job that is being prepared. */
  keep(record: RecordNumber, port: MessagePort): void {
    this.#arguments.set(record, port);
  }

  /** Whether the job's value is still here: no worker has begun with it, whatever its state. */
  keeps(record: RecordNumber): boolean {
    return this.#arguments.has(record);
  }

  #give(slot: Slot, entry: Entry, since: number, again: boolean): void {
    const thread = this.#threads.at(slot);
    if (thread === undefined || thread.ended || thread.condemned) return; // its job is somebody else's
    const { channel } = thread;
    if (!again && ((ticks() - since) | 0) > LATE_MS) return channel.send({ type: 'late', entry });
    const at = recordAt(this.#region, recordOf(entry));
    const isRunning = isIn(this.#region.m, at, entry, STARTED); // and not given up
    const port = isRunning ? this.#arguments.get(recordOf(entry)) : undefined;
    if (port !== undefined) this.#arguments.delete(recordOf(entry));
    channel.send({ type: 'argument', entry, port }, port === undefined ? [] : [port]);
  }

  /** Or settled, and not seen to yet. */
  #isUnsettled(entry: Entry): boolean {
    const at = recordAt(this.#region, recordOf(entry));
    const word = load(this.#region.m, at + RECORD_STATE);
    return isCurrent(entry, word) && stateOf(word) !== FREE;
  }

  /** The result of a settled job. @throws when it cannot be made here. */
  result(record: RecordNumber, slot: Slot): unknown {
    let port = this.#results.get(record);
    if (port === undefined) {
      this.#threads.at(slot)?.channel.pump();
      port = this.#results.get(record);
      if (port === undefined) throw new Error('The worker of the result is gone');
    }
    this.#results.delete(record);
    return readPort(port);
  }

  /** The record is freed. */
  drop(record: RecordNumber): void {
    if (this.#arguments.size > 0) close(this.#arguments, record);
    if (this.#results.size > 0) close(this.#results, record);
  }
}

function close(ports: Map<RecordNumber, MessagePort>, record: RecordNumber): void {
  ports.get(record)?.close();
  ports.delete(record);
}
