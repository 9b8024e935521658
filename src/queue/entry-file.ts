/**
 * Where the first file of a worker thread is. Host thread.
 *
 *   beside this file                  as installed; and where a bundler was told to put it there
 *   else `railhead/worker-entry`      as this file's place resolves it: an application's bundle with `node_modules` not far above
 *   else the option `workerEntry`     names it
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Error, URL } from '#base';

/** Looked for once, when the first thread is started. */
let found: URL | undefined;

/** @throws Error where there is none: the start of the thread has failed. */
export function workerEntry(named: URL | undefined): URL {
  if (named !== undefined) return named;
  found ??= search();
  return found;
}

function search(): URL {
  const here = import.meta.url ?? pathToFileURL(__filename).href; // a bundler that makes CommonJS leaves `import.meta` empty
  const beside = new URL('./worker-entry.js', here);
  if (existsSync(beside)) return beside;
  let resolved: string;
  try {
    resolved = createRequire(here).resolve('railhead/worker-entry');
  } catch (cause) {
    const rule = 'bundle `railhead/worker-entry` as a file of its own and name it by the option `workerEntry`, or keep `railhead` external';
    throw new Error(`There is no worker-entry.js beside ${here}, where a bundler has put railhead: ${rule}`, { cause });
  }
  return pathToFileURL(resolved);
}
