/**
 * Writes the documents that code already holds: `npm run docs`. With `--check` it writes nothing and fails if one is stale.
 * Needs a build, in a process of its own.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ERRORS } from '#base';

const root = fileURLToPath(new URL('../', import.meta.url));

/** The compiled files that name `code`, apart from the table itself. None: this version never raises it. */
function raised(code) {
  return readdirSync(join(root, 'dist'), { recursive: true })
    .filter((name) => name.endsWith('.js') && !name.endsWith('errors.js'))
    .some((name) => readFileSync(join(root, 'dist', name), 'utf8').includes(`'${code}'`));
}

function errorsPage() {
  const codes = Object.keys(ERRORS);
  const table = (list) => ['| code | meaning |', '|---|---|', ...list.map((code) => `| \`${code}\` | ${ERRORS[code]} |`)];
  const now = codes.filter(raised);
  const later = codes.filter((code) => !raised(code));
  const lines = [
    '# Errors',
    '',
    '<!-- Made by `npm run docs` from the table in src/base/errors.ts: change it there. -->',
    '',
    'A failure of the runtime is a `RailheadError`. Its `code` is the contract and stays; its message may change between versions.',
    'Wrong use by the caller (an option out of range, a handler that is not one) is a `TypeError` or `RangeError` instead, with the code that',
    "Node's own functions give it: `ERR_INVALID_ARG_TYPE` or `ERR_OUT_OF_RANGE`. What a handler throws is its own error and reaches the",
    'caller as such.',
    '',
    '```js',
    'try {',
    '  await queue.run(handler, value);',
    '} catch (error) {',
    "  if (error instanceof RailheadError && error.code === 'E_QUEUE_STOPPED') return;",
    '  throw error;',
    '}',
    '```',
    '',
    ...table(now),
  ];
  if (later.length > 0) lines.push('', '## Reserved', '', 'Named already, but not raised by this version:', '', ...table(later));
  return `${lines.join('\n')}\n`;
}

const PAGES = { 'docs/errors.md': errorsPage };

let stale = 0;
for (const [path, page] of Object.entries(PAGES)) {
  const file = join(root, path);
  const text = page();
  let old = '';
  try {
    old = readFileSync(file, 'utf8');
  } catch {
    // not there yet
  }
  if (old === text) continue;
  if (process.argv.includes('--check')) {
    stale++;
    console.log(`${path} is stale: run npm run docs and commit what it writes`);
  } else {
    writeFileSync(file, text);
    console.log(`wrote ${path}`);
  }
}
process.exitCode = stale > 0 ? 1 : 0;
