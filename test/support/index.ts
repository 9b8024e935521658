/** What tests share. */
export * from './seeded.ts';
export * from './signals.ts';
