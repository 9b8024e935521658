/** The monitor: what it sees of threads, processors and memory. */
export * from './probe/index.ts';
