/**
 * A choice of the scheduler, in one small integer: what happens (kind) to which thread. A schedule is a list of them, and its
 * string is what a failure prints: `a3b1aXc` is three steps of thread a, one of b, the death of a, one step of c.
 */

/** The thread takes its next step. */
export const RUN = 0;
/** It takes its next step, a notify, and a stale waiter absorbs one wake-up. */
export const STEAL = 1;
/** A blocked thread wakes although nobody notified it. */
export const WAKE = 2;
/** A blocked thread's wait times out. */
export const EXPIRE = 3;
/** The thread stops for ever, as if never scheduled again. */
export const STOP = 4;
/** The thread dies; its `exit` is seen from here. */
export const DIE = 5;
/** Nothing more happens: the deadlock is final, although a fault could still break it. */
export const END = 6;

const MARKS = ['', 'S', 'W', 'E', 'P', 'X', 'Z'];
export const WORDS = [
  '',
  'notify with one wake-up stolen',
  'woken by nobody',
  'timed out',
  'stops for ever',
  'dies',
  'nothing more happens',
];

export const choice = (kind, thread) => (kind << 5) | thread;
export const kindOf = (c) => c >> 5;
export const threadOf = (c) => c & 31;
/** Whether it makes the thread execute something: only those can preempt another. */
export const executes = (c) => kindOf(c) <= EXPIRE;

const symbol = (c) => (kindOf(c) === END ? 'Z' : String.fromCharCode(97 + threadOf(c)) + MARKS[kindOf(c)]);

/** @param {ArrayLike<number>} choices @param {number} length */
export function encode(choices, length) {
  let text = '';
  for (let k = 0, run = 1; k < length; k += run, run = 1) {
    while (k + run < length && choices[k + run] === choices[k]) run++;
    text += symbol(choices[k]) + (run > 1 ? run : '');
  }
  return text;
}

/** @param {string} text @returns {number[]} */
export function decode(text) {
  const choices = [];
  if (!/^([a-z][SWEPX]?\d*|Z)*$/.test(text)) throw new Error(`Not a schedule: ${text}`);
  for (const [, letter, mark, run] of text.matchAll(/([a-zZ])([SWEPX]?)(\d*)/g)) {
    const c = letter === 'Z' ? choice(END, 0) : choice(MARKS.indexOf(mark), letter.charCodeAt(0) - 97);
    for (let k = 0; k < Number(run || 1); k++) choices.push(c);
  }
  return choices;
}
