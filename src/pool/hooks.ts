/** The user's `hooks` module: `setup` before a worker's first claim, `teardown` before it leaves. Worker thread. */
import { got, wrongType } from '#base';

export interface Hooks {
  readonly setup: () => unknown;
  readonly teardown: () => unknown;
}

const NOTHING = (): void => {};

/** Imports the module. What it throws, and what `setup` throws, ends the thread before it is ready. */
export async function loadHooks(url: string | undefined): Promise<Hooks> {
  if (url === undefined) return { setup: NOTHING, teardown: NOTHING };
  const module = (await import(url)) as Record<string, unknown>;
  return { setup: hook(url, module, 'setup'), teardown: hook(url, module, 'teardown') };
}

function hook(url: string, module: Record<string, unknown>, name: 'setup' | 'teardown'): () => unknown {
  const inDefault = (module.default as Record<string, unknown> | undefined)?.[name]; // CommonJS
  const found = module[name] ?? inDefault ?? NOTHING;
  if (typeof found !== 'function') throw wrongType(`Expected \`${name}\` of the hooks module ${url} to be a function, ${got(found)}`);
  return found as () => unknown;
}
