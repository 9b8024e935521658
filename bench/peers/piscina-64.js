/** Piscina with up to 64 tasks posted to a worker ahead: its own remedy for tiny tasks. */
import { create as piscina } from './piscina.js';

export const create = (setup) => piscina(setup, { concurrentTasksPerWorker: 64 });
