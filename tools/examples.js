/**
 * Runs each example, compares what it prints with the `Output:` in its header, and closes with `N passed, N failed`.
 * In the header `…` stands for any run of characters, and a line of its own for any lines. Names on the command line choose examples.
 * Needs a build, in a process of its own; each example runs in another.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../examples/', import.meta.url));
const LIMIT_MS = 60_000;
// Node warns on stderr when it finds both of these.
const { FORCE_COLOR: _force, NO_COLOR: _no, ...env } = process.env;

/** The lines of the header after `Output:`, without the comment's own marks. */
function expectedOutput(source) {
  const header = /^\/\*\*[\s\S]*?\*\//.exec(source)?.[0];
  const lines = header?.split('\n').map((line) => line.replace(/^ \* {0,3}/, ''));
  const from = lines?.findIndex((line) => line.trim() === 'Output:') ?? -1;
  return from < 0
    ? null
    : lines
        .slice(from + 1, -1)
        .join('\n')
        .trim();
}

function pattern(expected) {
  const quoted = expected.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${quoted.replace(/^…$/gm, '[\\s\\S]*').replaceAll('…', '.*')}$`);
}

const chosen = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const name of readdirSync(folder).sort()) {
  const file = join(folder, name, 'main.js');
  if (!existsSync(file) || (chosen.length > 0 && !chosen.includes(name))) continue;
  const expected = expectedOutput(readFileSync(file, 'utf8'));
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [file], {
    env,
    encoding: 'utf8',
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let fault = '';
  if (expected === null) fault = "its header has no 'Output:' part: add what it prints";
  else if (status !== 0) fault = `it ended with ${signal ?? `exit status ${status}`}`;
  else if (stderr !== '') fault = 'it wrote to stderr';
  else if (!pattern(expected).test(stdout.trim())) fault = `its output is not the one in its header:\n${expected}`;
  if (fault === '') passed++;
  else failed++;
  console.log(fault === '' ? `ok      ${name}` : `FAILED  ${name}: ${fault}\nIt printed:\n${stdout}${stderr}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
