/** The words that the threads of a test share beside the region, and what their values mean. Pure. */

export const GATE = 0;
/** Values published, and producers that have published all of theirs. */
export const PRODUCED = 1;
export const PRODUCERS_DONE = 2;
/** Told to producers: publish no more. */
export const STOP = 3;
/** Values of which it has been said that they are there. */
export const CREDITS = 4;
/** Values taken, by slot of the consumer. */
export const TAKEN = 8;
export const CONTROL_WORDS = 64;

/** A value is its producer's slot times this, and its number from 1. */
export const PER_PRODUCER = 1_000_000;
export const producerOf = (value) => Math.floor((value - 1) / PER_PRODUCER);
