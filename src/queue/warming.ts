/** `warm`: threads that are ready, with all handlers known now loaded. Host thread. */
import { Set } from '#base';
import type { Core } from './core.ts';
import { stopped } from './tally.ts';
import type { Thread } from './threads.ts';
import { holdProcess } from './timers.ts';

/** Each thread is asked once and answers once; one that has answered counts, also if it has left meanwhile (`maxIdleMs: 0`). */
export async function warm(core: Core, workers: number): Promise<void> {
  const asked = new Set<Thread>();
  let answered = 0;
  const ask = (thread: Thread): void => {
    asked.add(thread);
    thread.onWarm.add(() => {
      if (asked.delete(thread)) answered++;
    });
    thread.channel.send({ type: 'warm' });
  };
  const isWarm = (): boolean => {
    if (!core.tally.accepting) throw stopped();
    if (core.bootError !== undefined && core.threads.pausing) throw core.bootError;
    for (const thread of asked) if (core.threads.at(thread.slot) !== thread) asked.delete(thread); // it ended before it could answer
    while (answered + asked.size < workers) {
      const thread = core.threads.start();
      if (thread === undefined) break; // pausing, or at the cap while some leave: asked again as soon as one has gone
      ask(thread);
    }
    return answered >= workers;
  };
  const letGo = holdProcess(); // threads do not keep it alive
  try {
    for (const thread of core.threads) if (!thread.condemned && asked.size < workers) ask(thread);
    await core.tally.when(isWarm);
  } finally {
    letGo();
  }
}
