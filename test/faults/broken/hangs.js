/** Never finishes to load. Runs in worker threads. */
import { mark } from './mark.js';

mark(import.meta.url);
await new Promise(() => {});
export default (value) => value;
