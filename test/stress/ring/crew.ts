/** Starts worker threads for a test, one for each job, and gathers what each reports. Used in vitest's fork. */
import { Worker } from 'node:worker_threads';
import { once } from '../../support/index.ts';

/** Long enough for ten threads on a loaded machine of two cores. */
export const CREW_DEADLINE_MS = 50_000;

/** A thread's one report, in the order of `jobs`. All threads have ended when this returns or throws. */
export async function crew<Report>(
  file: URL,
  jobs: readonly object[],
  meanwhile: () => Promise<void> = async () => {},
): Promise<Report[]> {
  const workers = jobs.map((workerData) => new Worker(file, { workerData }));
  try {
    const reports = workers.map((worker) => once(worker, 'message', CREW_DEADLINE_MS));
    const [all] = await Promise.all([Promise.all(reports), meanwhile()]);
    return all.map(([report]) => report as Report);
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}
