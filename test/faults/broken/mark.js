/** Notes that a module that is about to fail was really loaded; the number of its task is the query of its URL. Runs in worker threads. */
import { workerData } from 'node:worker_threads';
import { at, STRUCK } from '../ledger.js';

export const mark = (url) => Atomics.add(workerData.ledger, at(Number(new URL(url).search.slice(1)), STRUCK), 1);
