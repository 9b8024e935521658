/** Shared memory: the layout, the region, packed words and bitmaps. */
export * from './bits.ts';
export * from './layout.ts';
export * from './region.ts';
export * from './words.ts';
