/** Worker thread of poolifier: registers the scenario's handler. */
import { workerData } from 'node:worker_threads';
import { ThreadWorker } from 'poolifier';

const { default: handler } = await import(workerData.module);
export default new ThreadWorker(handler);
