/** Ends its thread on load. Runs in worker threads. */
import { mark } from './mark.js';

mark(import.meta.url);
process.exit(9);
