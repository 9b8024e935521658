/**
 * What the library takes of the realm as it loads (src/base/realm.ts), with a way in for tests: a clock of their own, or something
 * done in the midst of a shared access. Runs before every test file, so before the library; until a test changes `realm`, all of
 * it is the real thing.
 */
import { syncBuiltinESMExports } from 'node:module';
import nodeProcess from 'node:process';
import nodeTimers from 'node:timers';

type Call = (...args: unknown[]) => unknown;
type Calls<N extends string> = Record<N, Call>;

const ATOMICS = ['load', 'store', 'compareExchange', 'exchange', 'add', 'and', 'or', 'notify'] as const;
const TIMERS = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;
type Name = (typeof ATOMICS)[number] | (typeof TIMERS)[number] | 'now' | 'hrtime';

/** What the library calls. */
export const realm = {} as Calls<Name>;

function open<N extends Name>(on: object, names: readonly N[]): void {
  const its = on as Calls<N>;
  for (const name of names) {
    realm[name] = its[name].bind(on);
    its[name] = (...args) => realm[name](...args);
  }
}
open(Atomics, ATOMICS);
open(performance, ['now']);
open(nodeProcess, ['hrtime']);
open(nodeTimers, TIMERS);
syncBuiltinESMExports();

/** From here the library has the timers that the globals are: those of `vi.useFakeTimers`. */
export function followGlobalTimers(): void {
  for (const name of TIMERS) realm[name] = (...args) => (globalThis as unknown as Calls<Name>)[name](...args);
}
