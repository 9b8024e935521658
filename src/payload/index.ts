/** Values on their way between threads: their forms, the arena, and their place in a record. */
export * from './arena.ts';
export * from './decode.ts';
export * from './encode.ts';
export * from './form.ts';
export * from './in-record.ts';
export { causeOf, NotInValue, whyNotSent } from './not-plain.ts';
export * from './pack.ts';
export * from './port.ts';
export * from './unread.ts';
export * from './user-codec.ts';
