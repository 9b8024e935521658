/**
 * After a thread has ended: what becomes of the jobs it had. Host thread.
 *
 * Claimed and not started, or started and still without their value: published again, ahead of newer ones. Running: they fail,
 * or run again if they asked for that. A thread that ended while it imported a handler's module counts as a failure to load it.
 */
import {
  type DeathReason,
  Error,
  messageOf,
  Number,
  type RailheadError,
  railheadError,
  type RecordNumber,
  type ResolvedOptions,
  toWire,
} from '#base';
import { HOST, type Region } from '#memory';
import { forgetRaised, takeBackRaised } from '#payload';
import { exitedByItself, FAILURES_MAX, noteFailure, recoverSlot, wasLoading } from '#pool';
import type { Definitions } from './definitions.ts';
import { type Counters, cutShort } from './counters.ts';
import type { Registry, Watch } from './registry.ts';
import type { Reports } from './reports.ts';
import type { Submitter } from './submitter.ts';
import type { Thread } from './threads.ts';

export class Deaths {
  readonly #region: Region;
  readonly #registry: Registry;
  readonly #submitter: Submitter;
  readonly #definitions: Definitions;
  readonly #counters: Counters;
  readonly #reports: Reports;
  readonly #limits: ResolvedOptions['resourceLimits'];

  constructor(
    region: Region,
    { resourceLimits }: Pick<ResolvedOptions, 'resourceLimits'>,
    registry: Registry,
    submitter: Submitter,
    definitions: Definitions,
    counters: Counters,
    reports: Reports,
  ) {
    this.#region = region;
    this.#limits = resourceLimits;
    this.#registry = registry;
    this.#submitter = submitter;
    this.#definitions = definitions;
    this.#counters = counters;
    this.#reports = reports;
  }

  onExit(thread: Thread, exitCode: number): void {
    this.#submitter.settleCompleted(Number.POSITIVE_INFINITY); // first: what it handed over is settled and no concern of recovery
    const remains = recoverSlot(this.#region, thread.slot);
    if (remains.settled.length === 0) takeBackRaised(this.#region.m, HOST, thread.slot);
    else forgetRaised(this.#region.m, thread.slot); // settled and not handed over: the settle below lowers it
    for (const record of remains.settled) this.#submitter.settle(record);
    for (const record of remains.abandoned) this.#submitter.fail(record, undefined);
    const notBegun = this.#counters.cutting ? [] : remains.died.filter((record) => !this.#submitter.hasBegun(record));
    const died = remains.died.filter((record) => !notBegun.includes(record));
    this.#submitter.publishAhead([...notBegun.map((record) => this.#submitter.restart(record)), ...remains.requeued]);
    const wasTerminated = thread.condemned || (thread.error === undefined && !exitedByItself(this.#region.m, thread.slot));
    const loading = wasTerminated ? 0 : wasLoading(this.#region.m, thread.slot); // then its module is not to blame
    const loadError = loading === 0 ? undefined : this.#endedOverLoading(thread, exitCode, loading);
    for (const record of died) {
      if (loadError !== undefined && this.#registry.handlerOf(record) === loading) this.#submitter.fail(record, loadError);
      else this.#die(thread, exitCode, record);
    }
  }

  #endedOverLoading({ error, workerId }: Thread, exitCode: number, handlerId: number): RailheadError {
    const cause = error ?? new Error(`Worker ${workerId} ended with exit code ${exitCode}`);
    const message = `The module of handler ${this.#definitions.nameOf(handlerId)} ended its thread while it was loaded`;
    const loadError = railheadError('E_HANDLER_LOAD', message, { cause });
    if (noteFailure(this.#region, HOST, handlerId, toWire(cause)) === FAILURES_MAX) this.crashLoop(handlerId, loadError);
    return loadError;
  }

  /** A module failed to load once too often: what waits for it fails now, with the cause, instead of costing more threads. */
  crashLoop(handlerId: number, error: unknown): void {
    this.#submitter.failQueued(error, handlerId);
    this.#reports.event('crashLoop', { handler: this.#definitions.nameOf(handlerId), error });
  }

  #die(thread: Thread, exitCode: number, record: RecordNumber): void {
    const { cutting } = this.#counters;
    const watch = this.#registry.jobOf(record)?.watch;
    const error = cutting ? cutShort() : this.#deathOf(thread, exitCode, record, watch);
    if (watch !== undefined && !cutting) {
      watch.attempts++;
      watch.firstDeath ??= error;
      if (watch.argument !== undefined && watch.retriesLeft-- > 0) return this.#submitter.retry(record, watch.argument, watch.attempts);
    }
    if (this.#submitter.fail(record, error) && cutting) this.#counters.cut++;
  }

  #deathOf(
    { workerId, slot, error, condemnedFor }: Thread,
    exitCode: number,
    record: RecordNumber,
    watch: Watch | undefined,
  ): RailheadError {
    const handler = this.#definitions.nameOf(this.#registry.handlerOf(record));
    if (condemnedFor !== 0) {
      const message = `Worker ${workerId} had to be ended because of another task, while it also ran this one of handler \`${handler}\``;
      return railheadError('E_WORKER_TERMINATED', message, { retryable: true });
    }
    const oom = (error as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY';
    const reason: DeathReason = oom ? 'oom' : error !== undefined ? 'crash' : exitedByItself(this.#region.m, slot) ? 'exit' : 'terminated';
    const what = `while it ran a task of handler \`${handler}\`${attemptsOf(watch)}`;
    const message = `Worker ${workerId} ${inWords(reason, exitCode, error, this.#limits)} ${what}${adviceFor(reason, watch)}`;
    const cause = watch?.firstDeath ?? error;
    return railheadError('E_WORKER_DIED', message, { exitCode, reason, ...(cause === undefined ? {} : { cause }) });
  }
}

function inWords(reason: DeathReason, exitCode: number, error: unknown, limits: ResolvedOptions['resourceLimits']): string {
  switch (reason) {
    case 'oom': {
      const most = limits?.maxOldGenerationSizeMb;
      return `ran out of memory (its limit: ${most === undefined ? 'the default of Node' : `\`resourceLimits.maxOldGenerationSizeMb\` of ${most}`})`;
    }
    case 'crash':
      return `was ended by an error that nothing caught (${messageOf(error)})`;
    case 'exit':
      return `ended itself (\`process.exit\`) with exit code ${exitCode}`;
    case 'terminated':
      return `was terminated, not by the queue, with exit code ${exitCode}`;
  }
}

const attemptsOf = (watch: Watch | undefined): string =>
  watch !== undefined && watch.attempts > 0 ? `, the last of ${watch.attempts + 1} attempts` : '';

/** What the caller can do, or what it may miss. */
function adviceFor(reason: DeathReason, watch: Watch | undefined): string {
  let advice = '';
  if (reason === 'oom') advice += '. Give each task less at once, or set `resourceLimits: { maxOldGenerationSizeMb }` higher';
  if (watch !== undefined && watch.retriesLeft > 0 && watch.argument === undefined)
    advice +=
      '. It did not run again: its argument was transferred to that worker and is gone (what is moved or shared, or larger than 1 MiB, is given only once)';
  return advice;
}
