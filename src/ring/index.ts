/** Records, lanes and the completion stack. */
export * from './lane.ts';
export * from './record.ts';
export * from './records.ts';
export * from './stack.ts';
export * from './sweep.ts';
