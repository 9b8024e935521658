/**
 * The test command: builds, then runs the parts named on the command line (all of them by default) one after another, and
 * closes with `N passed, N failed` on a line of its own. Runs in a process of its own, each part in another.
 *
 *   node test/support/run.js                 everything (npm test)
 *   node test/support/run.js tidy unit       some parts
 *
 * A part that counts tests and ran none has failed: a suite that quietly finds nothing is worse than a red one.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const bin = (path) => join(root, 'node_modules', path);
const scratch = mkdtempSync(join(tmpdir(), 'railhead-test-'));
const reportFile = join(scratch, 'report.json');

/** Longer than any part takes on a loaded machine; shorter than the patience of a CI. A part over it is ended, and has failed. */
const PART_LIMIT_MS = 20 * 60_000;
const CLOSING = /^(\d+) passed, (\d+) failed$/;

const vitest = (...folders) => ({
  counts: 'report',
  args: [bin('vitest/vitest.mjs'), 'run', '--reporter=default', '--reporter=./test/support/report.js', ...folders.map((f) => `test/${f}/`)],
});
/** `counts`: where the part's totals come from. A part without is one check: it adds nothing when it passes and one failure when not. */
const PARTS = {
  types: { args: [bin('typescript/bin/tsc'), '-p', 'test/tsconfig.json'] },
  lint: { args: [bin('@biomejs/biome/bin/biome'), 'ci', '--colors=off'] },
  docs: { args: ['tools/docs.js', '--check'] },
  cases: { args: ['tools/cases.js', '--check'] },
  tidy: vitest('tidy'),
  unit: vitest('unit', 'types'),
  e2e: vitest('e2e', 'regress'),
  stress: vitest('stress'),
  explorer: vitest('model/explorer-self'),
  // At most so many seconds for each protocol, and for its faults: each exhausts its bound in less than 25 on a quiet machine.
  model: { counts: 'closing line', args: ['--conditions=model', 'test/model/run.js', '--seconds', '60'] },
  examples: { counts: 'closing line', args: ['tools/examples.js'] },
};

// Node warns when it finds both, and a warning on stderr looks like a fault.
const { FORCE_COLOR: _force, NO_COLOR: _no, ...inherited } = process.env;
const colours = process.stdout.isTTY ? { FORCE_COLOR: '1' } : { NO_COLOR: '1' };

let running = null;
const end = (child) => {
  try {
    process.kill(-child.pid, 'SIGKILL'); // the whole group: vitest's forks hold our pipes open
  } catch {
    child.kill('SIGKILL');
  }
};
for (const [name, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.once(name, () => {
    if (running) end(running);
    rmSync(scratch, { recursive: true, force: true });
    process.exit(status);
  });
}

/** Runs one program, passes its output on, and keeps back any closing line: there must be one only, the last. */
function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inherited, ...colours, RAILHEAD_BUILT: '1', RAILHEAD_REPORT: reportFile },
    });
    child.stderr.pipe(process.stderr, { end: false }); // through us, so that nothing of it can come after the closing line
    running = child;
    let closing = null;
    let late = false;
    const limit = setTimeout(() => {
      late = true;
      console.log(`This part ran for ${PART_LIMIT_MS / 60_000} minutes and was ended: something in it waits for ever.`);
      end(child);
    }, PART_LIMIT_MS);
    createInterface({ input: child.stdout }).on('line', (line) => {
      const match = CLOSING.exec(line);
      if (match) closing = { passed: Number(match[1]), failed: Number(match[2]) };
      else console.log(line);
    });
    child.on('error', (error) => console.log(String(error)));
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      running = null;
      resolve({ ok: code === 0 && !late, how: signal ?? `exit status ${code}`, closing });
    });
  });
}

async function runPart(name) {
  const { args, counts } = PARTS[name];
  rmSync(reportFile, { force: true });
  const { ok, how, closing } = await run(args);
  let { passed, failed } = closing ?? { passed: 0, failed: 0 };
  let skipped = [];
  const why = [];
  if (counts === 'report' && existsSync(reportFile)) {
    const report = JSON.parse(readFileSync(reportFile, 'utf8'));
    ({ passed, failed, skipped } = report);
    if (report.broken > 0) why.push(`${report.broken} error(s) outside any test`);
    const mute = skipped.filter((s) => !s.reason);
    if (mute.length > 0) why.push(`${mute.length} test(s) skipped without a reason: use context.skip('why')`);
  }
  if (counts && passed + failed === 0) why.push('it ran no test');
  if (!ok && failed === 0 && why.length === 0) why.push(`it ended with ${how}`);
  if (why.length > 0) {
    failed++;
    console.log(`${name} failed: ${why.join('; ')}`);
  }
  return { passed, failed, skipped };
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}. Parts: ${Object.keys(PARTS).join(', ')}.`);
  process.exit(2);
}

const total = { passed: 0, failed: 0, skipped: [] };
const table = [];
async function step(name, work) {
  console.log(`\n== ${name}`);
  const from = Date.now();
  const result = await work();
  const seconds = ((Date.now() - from) / 1000).toFixed(1);
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped.push(...result.skipped);
  const counted = result.passed + result.failed > 0 && PARTS[name]?.counts;
  table.push(
    `${name.padEnd(10)} ${result.failed > 0 ? 'FAILED' : 'ok'.padEnd(6)} ${seconds.padStart(7)} s  ${counted ? `${result.passed} of ${result.passed + result.failed}` : ''}`.trimEnd(),
  );
  return result.failed === 0;
}

const built = await step('build', async () => {
  const { ok } = await run(['tools/build.js']);
  return { passed: 0, failed: ok ? 0 : 1, skipped: [] };
});
// Nothing after a failed build means anything: it would run yesterday's code.
if (built) for (const name of wanted.length > 0 ? wanted : Object.keys(PARTS)) await step(name, () => runPart(name));

rmSync(scratch, { recursive: true, force: true });
console.log(`\n${table.join('\n')}\n`);
for (const { title, reason } of total.skipped) console.log(`skipped: ${title}: ${reason || '(no reason given)'}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed > 0 ? 1 : 0;
