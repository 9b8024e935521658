/**
 * Packs the package as npm would publish it, then looks at the archive: which files, publint, the types as others resolve them,
 * and whether a program that installs it can import it, require it and run a task. `npm run test:package`; needs no network.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'railhead-package-'));
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const MOST_BYTES = 1024 * 1024;
const ALLOWED = [
  /^dist\/.+\.js$/,
  /^dist\/.+\.d\.ts$/,
  /^native\/prebuilds\/[\w-]+\/railhead\.node$/,
  /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|SECURITY\.md)$/,
];
const NEEDED = [
  'dist/index.js',
  'dist/index.d.ts',
  'dist/queue/worker-entry.js',
  'native/prebuilds/linux-x64/railhead.node',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'CHANGELOG.md',
];

let failed = 0;
function check(name, work) {
  try {
    work();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}: ${error.message}`);
  }
}
function must(args, cwd = root) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`exit status ${status}\n${stdout}${stderr}`);
  return stdout;
}

try {
  // npm's own output is the list of files; what prepack prints goes to stderr of ours.
  const out = execFileSync(npm, ['pack', '--json', '--pack-destination', scratch], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const parsed = JSON.parse(out.slice(out.search(/^[[{]/m)));
  const [packed] = Object.values(parsed);
  const archive = join(scratch, packed.filename);
  const files = packed.files.map((file) => file.path);

  check(`the archive holds only what it should (${files.length} files, ${packed.unpackedSize} bytes)`, () => {
    const extra = files.filter((path) => !ALLOWED.some((rule) => rule.test(path)));
    const missing = NEEDED.filter((path) => !files.includes(path));
    if (extra.length > 0) throw new Error(`not meant to be published: ${extra.join(', ')}; narrow "files" in package.json`);
    if (missing.length > 0) throw new Error(`missing: ${missing.join(', ')}`);
    if (packed.unpackedSize > MOST_BYTES) throw new Error(`larger than ${MOST_BYTES} bytes: look for what came in by mistake`);
  });
  check('publint', () => must(['node_modules/publint/src/cli.js', 'run', archive, '--strict']));
  check('types resolve (attw)', () =>
    must(['node_modules/@arethetypeswrong/cli/dist/index.js', archive, '--profile', 'esm-only', '--no-color', '--no-emoji']),
  );

  const app = join(scratch, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "private": true }');
  check('it installs with nothing else', () => {
    execFileSync(npm, ['install', '--offline', '--no-audit', '--no-fund', archive], { cwd: app, encoding: 'utf8', stdio: 'pipe' });
  });
  const use =
    'const queue = new TaskQueue(2);\nqueue.run((n) => n + 1, 41).then(async (n) => { await queue.stop(); if (n !== 42) process.exit(1); });\n';
  writeFileSync(join(app, 'import.mjs'), `import { TaskQueue } from 'railhead';\n${use}`);
  writeFileSync(join(app, 'require.cjs'), `const { TaskQueue } = require('railhead');\n${use}`);
  check('an ES module runs a task', () => must(['import.mjs'], app));
  check('a CommonJS module runs a task', () => must(['--no-warnings', 'require.cjs'], app));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = failed > 0 ? 1 : 0;
