/**
 * The scenarios by name. Each exports:
 *   title     one line for the table
 *   handler   file in bench/handlers that every contender loads
 *   figures   name -> { unit, better: 'higher' | 'lower' }
 *   blocks    parts of a round; contenders alternate after each part (default 1)
 *   fresh     true: a new process for every round, because what is measured happens only once in a process
 *   warm      async (pool) => note: brings the pool to a steady state; the note is handed to every part
 *   part      async (pool, note) => anything: one timed part; throws if a result is wrong
 *   sum       (parts) => figures of the round
 */
export const PAGES = {
  'first-page': ['tiny-64', 'object-64', 'burst-100k', 'round-trip', 'cpu-per-task', 'push-memory'],
};
export const CONTENDERS = ['railhead', 'piscina', 'piscina-64', 'tinypool', 'workerpool', 'poolifier'];
export const load = async (name) => ({ name, ...(await import(`./${name}.js`)) });
