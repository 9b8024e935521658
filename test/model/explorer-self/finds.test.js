/** What the explorer must find, what it must let pass, and what it says about either. */
import { describe, expect, it } from 'vitest';
import { decode, encode } from '../explorer/choice.js';
import { replay } from '../explorer/check.js';
import { checked, fixture, pick } from './support.js';

const failing = async (title) => (await checked('broken', title)).failure;

describe('finds', () => {
  it('a wake-up that is lost, as a deadlock', async () => {
    expect(await failing('lost wake-up')).toMatchObject({ kind: 'outcome', text: "undeclared outcome 'deadlock'; blocked: worker" });
  });
  it('a deadlock of all threads', async () => expect((await failing('deadlock'))?.text).toContain('deadlock'));
  it('a publish before the write', async () => {
    expect(await failing('published before it is written')).toMatchObject({ kind: 'outcome', text: "undeclared outcome '0'" });
  });
  it('an update that is lost, with no more preemptions than it needs', async () => {
    expect(await failing('lost update')).toMatchObject({ text: "undeclared outcome '1'", bound: 1 });
  });
  it('an outcome that is declared and never seen', async () => {
    expect(await failing('declared, never seen')).toMatchObject({ kind: 'unseen', text: "declared, but never seen: 'y'" });
  });
  it('a loop without end', async () => expect((await failing('livelock'))?.text).toContain('livelock'));
  it('an invariant that does not hold', async () => expect(await failing('invariant')).toMatchObject({ kind: 'invariant', schedule: 'a' }));
  it('an error, and where it was thrown', async () => {
    expect((await failing('throws'))?.text).toMatch(/^a threw Error: assertion of the product\n.*fixtures\/broken\.model\.js:\d+/);
  });
});

describe('the race check', () => {
  it('names both places', async () => {
    const failure = await failing('race on a plain word');
    expect(failure?.kind).toBe('race');
    expect(failure?.text).toMatch(
      /writer: poke \[3\] = 1 .*broken\.model\.js:\d+ writer\n.*reader: peek \[3\] = 1 .*broken\.model\.js:\d+ reader/,
    );
  });
  it('judges a glance when its exchange is won', async () => {
    expect((await failing('glance that counts and raced'))?.text).toMatch(/taker: glance .*\n.*writer: poke/);
  });
  it('knows which operations make an edge, and which do not', async () => {
    const { litmuses } = await fixture('edges');
    for (const { name } of litmuses) {
      const { failure } = await checked('edges', name);
      expect(failure?.kind, name).toBe(name.startsWith('race') ? 'race' : undefined);
    }
  });
});

describe('threads and their ends', () => {
  it('every declared outcome is seen, and no other', async () => {
    const { litmuses } = await fixture('ends');
    for (const { name } of litmuses) expect(await checked('ends', name), name).toMatchObject({ failure: null, exhausted: true });
  });
  it('a parker that is right passes, with spurious wakes', async () => {
    expect(await checked('park', 'a permit is never lost')).toMatchObject({ failure: null, exhausted: true });
    expect(await checked('park', 'an async sleeper is woken')).toMatchObject({ failure: null, exhausted: true });
  });
});

describe('replay', () => {
  it('reads what it writes', () => {
    const text = 'a3baXcW2ZdP';
    expect(encode(decode(text), decode(text).length)).toBe(text);
    expect(() => decode('a3?')).toThrow('Not a schedule: a3?');
  });

  it('reproduces every failure that has a schedule', async () => {
    const { litmuses } = await fixture('broken');
    let reproduced = 0;
    for (const { name } of litmuses) {
      const failure = await failing(name);
      if (failure?.schedule == null) continue;
      const steps = [];
      const { machine, right } = replay(await pick('broken', name), undefined, {}, decode(failure.schedule), (step) => steps.push(step));
      expect({ name, right, kind: machine.failure?.kind }).toEqual({ name, right: false, kind: failure.kind });
      expect(steps.length).toBeGreaterThan(0);
      reproduced++;
    }
    expect(reproduced).toBe(litmuses.length - 1); // all but the outcome never seen
  });
});
