/**
 * What a job has come to, on its way to the submitter: packed, settled, handed over. Worker thread.
 *
 * The guard is OPEN while a result is packed, since reading it may run the user's code, and LIBRARY for all the rest.
 */
import { peek } from '#atomics';
import { type Entry, Math, railheadError, toWire } from '#base';
import { FAILED, RECORD_META, type Region, recordOf, SLOT_GUARD, slotAt, submitterOf, WANTS_RESULT } from '#memory';
import {
  type Codec,
  causeOf,
  forgetRaised,
  giveScratch,
  LARGEST_BYTES,
  type Packing,
  pack,
  packWire,
  putResult,
  type Scratch,
  TooLarge,
  takeScratch,
  toPort,
  whyNotSent,
} from '#payload';
import { complete, toSettled } from '#ring';
import type { WorkerChannel } from './channel.ts';
import { enterLibrary, leaveLibrary } from './guard.ts';
import type { Loaded } from './handlers.ts';
import type { RunList } from './run-list.ts';
import type { WorkerSettings } from './settings.ts';

export class Outcomes {
  readonly #region: Region;
  readonly #settings: WorkerSettings;
  readonly #runs: RunList;
  readonly #channel: WorkerChannel;
  readonly #packing: Packing;
  readonly #guard: number;

  constructor(region: Region, settings: WorkerSettings, runs: RunList, channel: WorkerChannel, codec: Codec | undefined) {
    this.#region = region;
    this.#settings = settings;
    this.#runs = runs;
    this.#channel = channel;
    this.#packing = { most: Math.min(settings.maxPayloadBytes, LARGEST_BYTES), codec };
    this.#guard = slotAt(settings.slot) + SLOT_GUARD;
  }

  /** Comes OPEN, goes LIBRARY. */
  settle(handler: Loaded, ok: boolean, result: unknown, entry: Entry, at: number, place: number): void {
    const scratch = takeScratch();
    let failed = !ok;
    try {
      if (failed) packWire(toWire(result), scratch);
      else if ((peek(this.#region.m, at + RECORD_META) & WANTS_RESULT) === 0) packWire(undefined, scratch);
      else pack(result, scratch, this.#packing);
    } catch (thrown) {
      failed = true;
      packWire(toWire(notSent(handler, thrown, this.#packing.most)), scratch);
    }
    this.#sendPort(entry, scratch);
    enterLibrary(this.#region.m, this.#guard);
    this.#handOver(failed ? FAILED : 0, entry, at, place, scratch);
  }

  /** LIBRARY throughout: what is thrown here is ours. */
  fail(error: unknown, flags: number, entry: Entry, at: number, place: number): void {
    const scratch = takeScratch();
    packWire(toWire(error), scratch);
    this.#handOver(FAILED | flags, entry, at, place, scratch);
  }

  /** LIBRARY throughout. The job was given up before its handler was called: only its record goes back. */
  skip(entry: Entry, at: number, place: number): void {
    const scratch = takeScratch();
    packWire(undefined, scratch);
    this.#handOver(0, entry, at, place, scratch);
  }

  /** OPEN. A result in a port is sent before the job settles, so that the host has it by then. */
  #sendPort(entry: Entry, scratch: Scratch): void {
    if (scratch.port === undefined) return;
    const port = scratch.takePort();
    this.#channel.send({ type: 'result', entry, port }, [port]);
  }

  /** What is thrown before ends the thread, and the scratch with it. */
  #handOver(flags: number, entry: Entry, at: number, place: number, scratch: Scratch): void {
    const region = this.#region;
    if (!putResult(region, this.#settings.slot, at, scratch, flags)) {
      leaveLibrary(region.m, this.#guard); // no room in shared memory: by port
      toPort(scratch);
      this.#sendPort(entry, scratch);
      enterLibrary(region.m, this.#guard);
      putResult(region, this.#settings.slot, at, scratch, flags);
    }
    giveScratch(scratch);
    const submitter = submitterOf(peek(region.m, at + RECORD_META));
    if (toSettled(region.m, at)) {
      forgetRaised(region.m, this.#settings.slot);
      complete(region, slotAt(submitter), recordOf(entry), at); // from here the record is the submitter's
    }
    this.#runs.remove(place);
  }
}

function notSent(handler: Loaded, thrown: unknown, most: number): unknown {
  if (thrown instanceof TooLarge) {
    return railheadError(
      'E_TOO_LARGE',
      `The result of handler \`${handler.name}\` has ${thrown.bytes} bytes or more, and \`maxPayloadBytes\` allows ${most}`,
    );
  }
  const message = `The result of handler \`${handler.name}\` cannot be sent: ${whyNotSent(thrown, 'result')}`;
  return railheadError('E_RESULT_CLONE', message, { cause: causeOf(thrown) });
}
