/** `warm`: threads that are ready, with all handlers known now loaded. Host thread. */
import { Map, type RailheadError, type ResolvedWarmOptions, railheadError } from '#base';
import type { Core } from './core.ts';
import { stopped } from './counters.ts';
import type { Thread } from './threads.ts';
import { holdProcess, waitLong } from './timers.ts';

/**
 * Each thread is asked once and answers once; one that has answered counts, also if it has left meanwhile (`maxIdleMs: 0`).
 *
 * Given up, nothing of the call is left: threads that it asked and that are not ready are ended, since each loads what it was asked for
 * before it claims, and one that hangs in an import would hold its place for ever. Those that were ready before run their tasks on.
 */
export async function warm(core: Core, workers: number, { timeoutMs, signal }: ResolvedWarmOptions): Promise<void> {
  if (signal?.aborted) throw aborted(signal);
  const asked = new Map<Thread, () => void>();
  let answered = 0;
  let givenUp: RailheadError | undefined;
  const ask = (thread: Thread): void => {
    const onAnswer = (): void => {
      if (asked.delete(thread)) answered++;
    };
    asked.set(thread, onAnswer);
    thread.onWarm.add(onAnswer);
    thread.channel.send({ type: 'warm' });
  };
  const check = (): void => {
    if (givenUp !== undefined) throw givenUp;
    if (!core.counters.accepting) throw stopped();
    if (core.bootError !== undefined && core.threads.pausing) throw core.bootError;
  };
  const startMissing = (): void => {
    for (const thread of asked.keys()) if (core.threads.at(thread.slot) !== thread) asked.delete(thread); // it ended before it could answer
    while (answered + asked.size < workers) {
      const thread = core.threads.start();
      if (thread === undefined) break; // pausing, or at the cap while some leave: asked again as soon as one has gone
      ask(thread);
    }
  };
  const step = (): boolean => {
    check();
    startMissing();
    return answered >= workers;
  };
  const giveUp = (error: RailheadError): void => {
    givenUp = error;
    core.counters.changed(); // takes `step`, which throws it
  };
  const onAbort = (): void => giveUp(aborted(signal as AbortSignal));
  const onLate = (): void => giveUp(late(timeoutMs, answered, workers));
  const forget = timeoutMs > 0 ? waitLong(timeoutMs, onLate) : undefined;
  signal?.addEventListener('abort', onAbort, { once: true });
  const letGo = holdProcess(); // threads do not keep it alive
  try {
    for (const thread of core.threads) if (!thread.condemned && asked.size < workers) ask(thread);
    await core.counters.until(step);
  } finally {
    letGo();
    forget?.();
    signal?.removeEventListener('abort', onAbort);
    for (const [thread, onAnswer] of asked) {
      thread.onWarm.delete(onAnswer);
      if (givenUp !== undefined && !thread.ready && !thread.ended) core.threads.condemn(thread);
    }
  }
}

const aborted = ({ reason }: AbortSignal): RailheadError => railheadError('ABORT_ERR', '`warm` was aborted', { cause: reason });

const late = (timeoutMs: number, answered: number, workers: number): RailheadError =>
  railheadError(
    'E_TASK_TIMEOUT',
    `Only ${answered} of ${workers} workers were warm after the ${timeoutMs} ms of \`timeoutMs\`: look for a handler's module that does not finish loading`,
  );
