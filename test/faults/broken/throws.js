/** Throws on load. Runs in worker threads. */
import { mark } from './mark.js';

mark(import.meta.url);
throw new SyntaxError('this module never loads');
