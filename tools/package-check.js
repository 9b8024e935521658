/**
 * Packs the package as npm would publish it, then looks at the archive: which files, publint, the types as others resolve them,
 * and whether a program that installs it can import it, require it, compile against it, bundle it, and run a task each time.
 * `npm run test:package`; needs no network.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'railhead-package-'));
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const MOST_BYTES = 1024 * 1024;
const ALLOWED = [
  /^lib\/[\w-]+\.js(\.map)?$/,
  /^lib\/types\/.+\.d\.ts$/,
  /^native\/prebuilds\/[\w-]+\/railhead\.node$/,
  /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|SECURITY\.md)$/,
];
const NEEDED = [
  'lib/index.js',
  'lib/worker.js',
  'lib/worker-entry.js',
  'lib/shared.js',
  'lib/types/index.d.ts',
  'lib/types/worker.d.ts',
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
async function checkLater(name, work) {
  let error;
  await work().catch((thrown) => {
    error = thrown;
  });
  check(name, () => {
    if (error !== undefined) throw error;
  });
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
    must([
      'node_modules/@arethetypeswrong/cli/dist/index.js',
      archive,
      '--profile',
      'esm-only',
      '--exclude-entrypoints',
      'worker-entry',
      '--no-color',
      '--no-emoji',
    ]),
  );

  const app = join(scratch, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "private": true }');
  check('it installs with nothing else', () => {
    execFileSync(npm, ['install', '--offline', '--no-audit', '--no-fund', archive], { cwd: app, encoding: 'utf8', stdio: 'pipe' });
  });
  const use = (name = 'queue', options = '2') =>
    `const ${name} = new TaskQueue(${options});\n${name}.run((n) => n + 1, 41).then(async (n) => { await ${name}.stop(); if (n !== 42) process.exit(1); });\n`;
  writeFileSync(join(app, 'import.mjs'), `import { TaskQueue } from 'railhead';\n${use()}`);
  writeFileSync(join(app, 'require.cjs'), `const { TaskQueue } = require('railhead');\n${use()}`);
  check('an ES module runs a task', () => must(['import.mjs'], app));
  check('a CommonJS module runs a task', () => must(['--no-warnings', 'require.cjs'], app));
  check('a stack names src under --enable-source-maps', () => {
    writeFileSync(
      join(app, 'stack.mjs'),
      "import { handler } from 'railhead';\ntry { handler(1); } catch (error) { console.log(error.stack); }\n",
    );
    const stack = must(['--enable-source-maps', 'stack.mjs'], app);
    if (!/src\/queue\/handler\.ts:\d+/.test(stack)) throw new Error(stack);
  });

  writeFileSync(
    join(app, 'typed.mts'),
    `import { handler, type Stats, TaskQueue } from 'railhead';
import { move } from 'railhead/worker';
const queue: TaskQueue = new TaskQueue({ concurrency: 1 });
const stats: Stats = queue.stats();
const pair = handler<(n: number) => [number, number]>(new URL('./hash.mjs', import.meta.url));
const [a, b]: [number, number] = await queue.run(pair, move(1));
await queue.stop();
if (a + b + stats.pending !== 3) process.exit(1);
// @ts-expect-error: it takes a number
void (() => queue.run(pair, 'x'));
`,
  );
  writeFileSync(join(app, 'hash.mjs'), "import { move } from 'railhead/worker';\nexport default (n) => move([n, n + 1]);\n");
  check('TypeScript compiles against it, libraries checked, and the result runs', () => {
    cpSync(join(root, 'node_modules/@types'), join(app, 'node_modules/@types'), { recursive: true });
    cpSync(join(root, 'node_modules/undici-types'), join(app, 'node_modules/undici-types'), { recursive: true });
    const options = ['--module', 'nodenext', '--target', 'es2023', '--lib', 'es2024,esnext.disposable', '--strict', '--types', 'node'];
    must([join(root, 'node_modules/typescript/bin/tsc'), ...options, 'typed.mts'], app);
    must(['typed.mjs'], app);
  });

  // Bundlers. The application names a handler of its own by URL, beside its bundle.
  writeFileSync(
    join(app, 'main.js'),
    `import { handler, TaskQueue } from 'railhead';
const options = process.env.ENTRY ? { concurrency: 1, workerEntry: new URL(process.env.ENTRY) } : { concurrency: 1 };
const queue = new TaskQueue(options);
const url = process.env.HANDLER ?? new URL('./hash.mjs', import.meta.url);
Promise.all([queue.run(handler(url), 1), queue.run((n) => n + 1, 41)]).then(async ([pair, n]) => {
  await queue.stop();
  if (pair.join() !== '1,2' || n !== 42) process.exit(1);
  console.log('right');
}, (error) => { console.error(error); process.exit(1); });
`,
  );
  const esbuild = (args) => {
    const { status, stderr } = spawnSync(
      join(root, 'node_modules/esbuild/bin/esbuild'),
      [...args, '--bundle', '--platform=node', '--log-level=error'],
      {
        cwd: app,
        encoding: 'utf8',
      },
    );
    if (status !== 0) throw new Error(stderr);
  };
  const vite = async (outDir, noExternal, minify) => {
    const { build } = await import('vite');
    const built = { ssr: 'main.js', outDir, minify, emptyOutDir: true, rolldownOptions: { output: { entryFileNames: 'main.js' } } };
    await build({ root: app, configFile: false, logLevel: 'error', build: built, ssr: { noExternal } });
  };
  /** Runs a bundle with its handler beside it. */
  const runs = (folder, file, env = {}) => {
    cpSync(join(app, 'hash.mjs'), join(folder, 'hash.mjs'));
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', file], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, ...env },
      timeout: 60_000,
    });
    if (status !== 0 || !stdout.includes('right')) throw new Error(`exit status ${status}\n${stdout}${stderr}`);
  };
  writeFileSync(join(app, 'package.json'), '{ "private": true, "type": "module" }');
  check('esbuild, ES module, railhead external', () => {
    esbuild(['main.js', '--format=esm', '--external:railhead', '--outfile=es-out/main.js']);
    runs(join(app, 'es-out'), 'main.js');
  });
  check('esbuild, ES module, railhead inside, minified: node_modules is found', () => {
    esbuild(['main.js', '--format=esm', '--minify', '--outfile=es-in/main.js']);
    runs(join(app, 'es-in'), 'main.js');
  });
  const cjs = { HANDLER: join(app, 'es-cjs/hash.mjs') };
  check('esbuild, CommonJS, railhead inside: node_modules is found', () => {
    esbuild(['main.js', '--format=cjs', '--outfile=es-cjs/main.cjs']);
    runs(join(app, 'es-cjs'), 'main.cjs', cjs);
  });
  // Away from any node_modules. The handler imports railhead/worker, so it is bundled too.
  const away = join(scratch, 'away');
  const alone = (options) => esbuild(['hash.mjs', '--format=esm', `--outfile=${join(away, 'handlers/hash.mjs')}`, ...options]);
  check('esbuild, railhead inside and no node_modules: the worker entry beside the bundle', () => {
    alone([]);
    esbuild(['main.js', 'worker-entry=railhead/worker-entry', '--format=esm', `--outdir=${away}`]);
    writeFileSync(join(away, 'package.json'), '{ "type": "module" }');
    runs(away, 'main.js', { HANDLER: join(away, 'handlers/hash.mjs') });
  });
  check('esbuild, CommonJS, railhead inside and no node_modules: the option workerEntry', () => {
    esbuild(['main.js', '--format=cjs', `--outfile=${join(away, 'cjs/main.cjs')}`]);
    runs(join(away, 'cjs'), 'main.cjs', {
      HANDLER: join(away, 'handlers/hash.mjs'),
      ENTRY: pathToFileURL(join(away, 'worker-entry.js')).href,
    });
  });
  for (const minify of [false, true]) {
    const how = minify ? ', minified' : '';
    await checkLater(`Vite, railhead external${how}`, async () => {
      await vite('vite-out', undefined, minify);
      runs(join(app, 'vite-out'), 'main.js');
    });
    await checkLater(`Vite, railhead inside${how}: node_modules is found`, async () => {
      await vite('vite-in', true, minify);
      runs(join(app, 'vite-in'), 'main.js');
    });
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = failed > 0 ? 1 : 0;
