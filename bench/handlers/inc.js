/** The smallest task: number -> number. Loaded by every contender. */
export default (x) => x + 1;
