/**
 * What a model thread is doing.
 *
 *   asleep -another thread's exit-> ready -wait-> blocked -notify, fault-> ready        ready, blocked -> done, stopped, dead
 */
export const ASLEEP = 0;
export const READY = 1;
export const BLOCKED = 2;
export const DONE = 3;
export const STOPPED = 4;
export const DEAD = 5;

/** What an outcome is told of a thread that did not return. */
export const FATE = ['never started', 'unfinished', 'blocked', '', 'stopped', 'died'];
