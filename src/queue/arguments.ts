/** Arguments: from a value to a record that holds it. Host thread. */
import { peek, poke } from '#atomics';
import { type RailheadError, type RecordNumber, railheadError, type Transferable } from '#base';
import { HOST, NO_RECORD, RECORD_HANDLER, RECORD_LENGTH, RECORD_META, type Region, recordAt, WANTS_RESULT } from '#memory';
import {
  causeOf,
  FORM_PORT,
  formAt,
  giveScratch,
  LARGE_BYTES,
  NotInValue,
  type Packing,
  pack,
  putArgument,
  type Scratch,
  TooLarge,
  takeScratch,
  toPort,
  whyNotSent,
} from '#payload';
import type { Records } from '#ring';
import type { Defined } from './definitions.ts';
import type { HostPorts } from './ports.ts';
import type { Job, Watch } from './registry.ts';

export class Arguments {
  readonly #region: Region;
  readonly #records: Records;
  readonly #ports: HostPorts;
  readonly #packing: Packing;

  constructor(region: Region, records: Records, ports: HostPorts, packing: Packing) {
    this.#region = region;
    this.#records = records;
    this.#ports = ports;
    this.#packing = packing;
  }

  /**
   * Takes a record and writes handler and value into it. Reading the value runs its getters, and they may call any verb.
   * What `transfer` names is detached here, if nothing is refused.
   * @throws TypeError for something in `transfer` that the value does not hold.
   * @throws RailheadError `E_ARGUMENT_CLONE`, `E_TOO_LARGE`, or `E_QUEUE_FULL` when 2^24 jobs are unsettled or no memory is left.
   */
  write(defined: Defined, value: unknown, job: Job | undefined, transfer: readonly Transferable[] | undefined): RecordNumber {
    const scratch = takeScratch();
    try {
      this.#pack(defined, value, scratch, transfer);
      const record = this.#records.take();
      if (record === NO_RECORD) throw noRecord();
      const at = recordAt(this.#region, record);
      if (!this.#put(at, job, scratch)) {
        this.#records.give(record);
        throw noMemory(defined, scratch.length);
      }
      if (scratch.port !== undefined) this.#ports.keep(record, scratch.takePort());
      poke(this.#region.m, at + RECORD_HANDLER, defined.id);
      if (job?.watch !== undefined) this.#note(record, at, job, job.watch);
      return record;
    } finally {
      giveScratch(scratch);
    }
  }

  #pack(defined: Defined, value: unknown, scratch: Scratch, transfer: readonly Transferable[] | undefined): void {
    try {
      pack(value, scratch, this.#packing, transfer);
    } catch (thrown) {
      throw notSent(defined, thrown, this.#packing.most);
    }
  }

  /** False: no shared memory is left, and the value is too small to be worth a port. */
  #put(at: number, job: Job | undefined, scratch: Scratch): boolean {
    const flags = job?.resolve === undefined ? 0 : WANTS_RESULT;
    const keep = (job?.watch?.retriesLeft ?? 0) > 0;
    if (putArgument(this.#region, HOST, at, scratch, flags, keep)) return true;
    if (scratch.length <= LARGE_BYTES) return false;
    toPort(scratch);
    return putArgument(this.#region, HOST, at, scratch, flags, keep);
  }

  /** A retry restores what a result may have overwritten. */
  #note(record: RecordNumber, at: number, job: Job, watch: Watch): void {
    const { m } = this.#region;
    job.record = record;
    if (formAt(this.#region, at) !== FORM_PORT) watch.argument = { meta: peek(m, at + RECORD_META), length: peek(m, at + RECORD_LENGTH) };
  }
}

function notSent(defined: Defined, thrown: unknown, most: number): RailheadError | NotInValue {
  if (thrown instanceof NotInValue) return thrown;
  if (thrown instanceof TooLarge) {
    return railheadError(
      'E_TOO_LARGE',
      `The value for handler \`${defined.name}\` has ${thrown.bytes} bytes or more, and \`maxPayloadBytes\` allows ${most}`,
    );
  }
  const message = `The value for handler \`${defined.name}\` cannot be sent: ${whyNotSent(thrown, 'value')}`;
  return railheadError('E_ARGUMENT_CLONE', message, { cause: causeOf(thrown) });
}

const noRecord = (): RailheadError =>
  railheadError('E_QUEUE_FULL', 'The queue is full: 16,777,215 tasks are unsettled, the most there can be');
const noMemory = (defined: Defined, length: number): RailheadError =>
  railheadError(
    'E_QUEUE_FULL',
    `The queue is full: no shared memory is left for the ${length} bytes of the value for handler \`${defined.name}\``,
  );
