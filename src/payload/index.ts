/** Values on their way between threads: the codec, the arena, and their place in a record. */
export * from './arena.ts';
export * from './decode.ts';
export * from './encode.ts';
export * from './form.ts';
export * from './custom.ts';
export * from './in-record.ts';
export * from './moved.ts';
export { causeOf, NotHeld, whyNotSent } from './not-plain.ts';
export * from './pack.ts';
export * from './port.ts';
export * from './unread.ts';
