/** The searches: they run every schedule within the bound, cut only what they have seen, and find what they must. */
import { describe, expect, it } from 'vitest';
import { check } from '../explorer/check.js';
import { allowingAll, checked, fixture, pick } from './support.js';

const ALL = { bound: Number.POSITIVE_INFINITY, reduce: false };

describe('depth-first search', () => {
  it('runs each interleaving of independent operations once: C(8,4) and 6!/(2!2!2!)', async () => {
    expect(await checked('counting', 'two threads of 4, nothing shared', ALL)).toMatchObject({ schedules: 70, exhausted: true });
    expect(await checked('counting', 'three threads of 2, nothing shared', ALL)).toMatchObject({ schedules: 90, exhausted: true });
  });

  it('counts preemptions: two threads of 4 have 2 schedules with none, 6 more with one, 18 more with two', async () => {
    // None: aaaabbbb, bbbbaaaa. One: a^k b^4 a^(4-k), k from 1 to 3, and the same from b. Two: a^k b^l a^(4-k) b^(4-l), and from b.
    const runs = [];
    for (const bound of [0, 1, 2])
      runs.push((await checked('counting', 'two threads of 4, nothing shared', { bound, reduce: false })).schedules);
    expect(runs).toEqual([2, 2 + 6, 2 + 6 + 18]);
  });

  it('switches before plain accesses only when asked to', async () => {
    const sync = await checked('counting', 'plain between atomic', ALL);
    const all = await checked('counting', 'plain between atomic', { ...ALL, points: 'all' });
    expect([sync.schedules, all.schedules]).toEqual([6, 21]); // C(4,2) and C(7,2)
  });

  it('stops at its time limit and says that it did not finish', async () => {
    const litmus = allowingAll(await pick('depth', 'overtaken between check and use'));
    expect(check(litmus, undefined, { ...ALL, limitMs: 20 })).toMatchObject({ exhausted: false, failure: null });
  });

  it('lets others go on when a thread spins', async () => {
    expect(await checked('ends', 'a spinner lets others go on')).toMatchObject({ exhausted: true, failure: null });
  });
});

describe('what a search leaves out changes no result, on random programs', () => {
  const summary = (litmus, options) => {
    const { failure, outcomes, exhausted } = check(litmus, undefined, options);
    // After a race nothing is compared: the search ends there.
    return { exhausted, failed: failure?.kind, outcomes: failure ? [] : [...outcomes.keys()].sort() };
  };
  it.each([0, 1, 2, 4])('with %i preemptions', async (bound) => {
    const { litmuses } = await fixture('random');
    for (const litmus of litmuses.slice(0, bound > 2 ? 30 : 150).map(allowingAll)) {
      const full = summary(litmus, { bound, reduce: false, points: 'all' });
      expect(summary(litmus, { bound, reduce: false }), `${litmus.name}: no switch before plain accesses`).toEqual(full);
      expect(summary(litmus, { bound }), `${litmus.name}: seen moments cut`).toEqual(full);
    }
  });
});

describe('random priorities', () => {
  it('find a fault of depth 2 in long threads', async () => {
    const found = await checked('depth', 'overtaken between check and use', { pct: 5000, depth: 2 });
    expect(found.failure?.text).toContain('used when closed');
    expect(found.schedules).toBeGreaterThan(1);
  });

  it('run the same schedules again for the same seed', async () => {
    const [one, two] = await Promise.all([1, 2].map(() => checked('depth', 'overtaken between check and use', { pct: 5000, depth: 2 })));
    expect(two.failure?.schedule).toBe(one.failure?.schedule);
  });

  it('try the faults too', async () => {
    const { outcomes } = await checked('ends', 'recovery runs after the death, and sees what was done', { pct: 500 });
    expect([...outcomes.keys()].sort()).toEqual(['died, 000', 'died, 100', 'died, 110', 'returned, never started']);
  });
});
