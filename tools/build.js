/**
 * The build, `npm run build`: `src` -> `dist`, one file each, by tsc; and `src` -> `lib`, what is published, by rolldown. Why two:
 * docs/adr/0012-one-file.md.
 *
 *   lib/index.js         the package         lib/shared.js   what more than one of them needs: there is one instance of it
 *   lib/worker.js        `railhead/worker`   lib/types/      the declarations that the entries reach, without package imports
 *   lib/worker-entry.js  first file of a worker thread
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('../', import.meta.url));
const { imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** Where a package import leads without the conditions of tests, as in `dist/base/index.js`. */
const target = (name) => (imports[name]?.default ?? imports[name]).replace('./', '');

const ENTRIES = { index: 'src/index.ts', worker: 'src/worker.ts', 'worker-entry': 'src/queue/worker-entry.ts' };

async function bundle() {
  const build = await rolldown({
    cwd: root,
    input: ENTRIES,
    platform: 'node',
    external: /^node:/,
    treeshake: { moduleSideEffects: false }, // no file of `src` is loaded for its effect, so a chunk holds only what it uses
    transform: { target: 'es2023' },
    plugins: [
      {
        name: 'package-imports',
        resolveId: (name) => (name.startsWith('#') ? join(root, target(name).replace('dist/', 'src/').replace('.js', '.ts')) : null),
      },
    ],
    onLog(level, log) {
      throw new Error(`rolldown: ${level}: ${log.message}`);
    },
  });
  const { output } = await build.write({
    dir: 'lib',
    format: 'esm',
    sourcemap: true,
    cleanDir: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] },
  });
  await build.close();
  // Maps name files and lines of `src`, for stacks under --enable-source-maps; the texts themselves would double the package.
  for (const { fileName, type } of output) {
    if (type !== 'asset' || !fileName.endsWith('.map')) continue;
    const file = join(root, 'lib', fileName);
    const { sourcesContent: _left, ...map } = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify(map));
  }
}

/** The declarations of `dist` that the published entries reach; package imports become relative ones, which need no package.json. */
function types() {
  const queue = ['index.d.ts', 'worker.d.ts'];
  const seen = new Set(queue);
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const from = path;
    const its = readFileSync(join(root, 'dist', from), 'utf8');
    const text = its.replace(/^((?:import|export)\b[^;]*? from )'([#.][^']*)'/gm, (_all, before, name) => {
      const to = name.startsWith('#') ? target(name).replace('dist/', '') : posix.join(posix.dirname(from), name.replace(/\.ts$/, '.js'));
      const file = to.replace(/\.js$/, '.d.ts');
      if (!seen.has(file)) {
        seen.add(file);
        queue.push(file);
      }
      const relative = posix.relative(posix.dirname(from), to);
      return `${before}'${relative.startsWith('.') ? relative : `./${relative}`}'`;
    });
    const into = join(root, 'lib/types', from);
    mkdirSync(dirname(into), { recursive: true });
    writeFileSync(into, text);
  }
}

const { status } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json'], {
  cwd: root,
  stdio: 'inherit',
});
if (status !== 0) process.exit(1);
rmSync(join(root, 'lib'), { recursive: true, force: true });
await bundle();
types();
