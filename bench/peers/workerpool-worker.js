/** Worker thread of workerpool: registers the scenario's handler. */
import { workerData } from 'node:worker_threads';
import workerpool from 'workerpool';

const { default: handler } = await import(workerData.module);
workerpool.worker({ run: handler });
