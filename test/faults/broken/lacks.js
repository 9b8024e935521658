/** Has not the export that is asked for. Runs in worker threads. */
import { mark } from './mark.js';

mark(import.meta.url);
export const other = (value) => value;
