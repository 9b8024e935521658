/** Holds this checkout to the rules of `checks.ts`, and proves on small texts that each rule can be broken. No threads of its own. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { projectFolder, ROOT, runNode } from '../support/index.ts';
import * as checks from './checks.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const exists = (path: string): boolean => existsSync(join(ROOT, path));
const pkg = JSON.parse(read('package.json')) as checks.Manifest & { imports: Record<string, string | { default: string }> };
const imports: checks.Imports = Object.fromEntries(
  Object.entries(pkg.imports).map(([name, target]) => [name, typeof target === 'string' ? target : target.default]),
);

/** What git tracks or would track; where there is no git (an unpacked archive), everything that is not made by a command. */
function treeFiles(): string[] {
  const made = /(^|\/)(node_modules|dist|lib|coverage|\.git)(\/|$)/;
  try {
    const out = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return [...new Set(out.split('\0'))].filter((path) => path !== '' && !made.test(path) && exists(path));
  } catch {
    return readdirSync(ROOT, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length).replaceAll('\\', '/'))
      .filter((path) => !made.test(path));
  }
}
const tree = treeFiles();
const load = (paths: readonly string[]): checks.File[] => paths.map((path) => ({ path, text: read(path) }));
const sources = load(tree.filter((path) => /^src\/.*\.ts$/.test(path)));
const documents = load(tree.filter((path) => path.endsWith('.md')));
const text = load(tree.filter((path) => !/\.(png|jpg|gz|tgz|node|wasm)$/.test(path)));

describe('this checkout', () => {
  test('the lists of files are not empty, so that the rules below look at something', () => {
    expect(sources.length).toBeGreaterThan(5);
    expect(documents.length).toBeGreaterThan(5);
  });
  test('a folder of src imports only what the layer table allows, through index.ts', () => {
    expect(checks.layers(sources, imports)).toEqual([]);
  });
  test('no files of src import each other in a circle', () => {
    expect(checks.circles(sources, imports)).toEqual([]);
  });
  test('Atomics is used in src/memory only', () => {
    expect(checks.atomicsOutsideTheSeam(sources)).toEqual([]);
  });
  test('17.7 no view is read before the record it is for is looked up', () => {
    expect(checks.viewsReadTooEarly(sources)).toEqual([]);
  });
  test('library code takes globals from src/base/realm.ts only', () => {
    expect(checks.bareGlobals(sources)).toEqual([]);
  });
  test('each source file starts with a header comment', () => {
    expect(checks.headers(sources)).toEqual([]);
  });
  test('nothing main-only is reachable from the worker entry', () => {
    const readCompiled = (path: string): string | null => (exists(path) ? read(path) : null);
    const entry = 'dist/queue/worker-entry.js';
    expect(exists(entry)).toBe(true);
    expect(checks.reachable(entry, readCompiled, imports).size).toBeGreaterThan(3);
    expect(checks.mainOnlyInWorkers(entry, readCompiled, imports)).toEqual([]);
  });
  test('a worker thread loads two files, and no more of Node than it did', () => {
    const files: string[] = [];
    const builtins = new Set<string>();
    const walk = (path: string): void => {
      if (files.includes(path)) return;
      files.push(path);
      for (const name of checks.specifiers({ path, text: read(path) })) {
        if (name.startsWith('.')) walk(join(path, '..', name).replaceAll('\\', '/'));
        else builtins.add(name);
      }
    };
    walk('lib/worker-entry.js');
    expect(files).toEqual(['lib/worker-entry.js', 'lib/shared.js']);
    // Each is paid at every start of a thread: what only some tasks need is loaded when it is first used.
    const known = ['module', 'perf_hooks', 'process', 'timers', 'url', 'util', 'v8', 'worker_threads'];
    expect([...builtins].sort()).toEqual(known.map((name) => `node:${name}`));
    const bytes = files.reduce((sum, path) => sum + read(path).length, 0);
    expect(bytes, 'the text that each thread compiles').toBeLessThan(200_000);
  });
  test('links in the documents resolve', () => {
    expect(checks.docLinks(documents, exists)).toEqual([]);
  });
  test('commands in the documents exist', () => {
    expect(checks.docCommands(documents, pkg.scripts ?? {})).toEqual([]);
  });
  test('nothing names a machine or a registry', () => {
    expect(checks.machineTraces(text)).toEqual([]);
  });
  test('the lock names no host', () => {
    expect(checks.lockHosts({ path: 'package-lock.json', text: read('package-lock.json') })).toEqual([]);
  });
  test('package.json has no install script, no dependency, exact versions, and targets that exist', () => {
    expect(checks.manifest(pkg, exists)).toEqual([]);
  });
});

describe('code in the documents', () => {
  const blocks = documents.flatMap((document) =>
    checks.runnableBlocks(document).map((block) => ({ ...block, files: checks.shownFiles(document) })),
  );
  test('the README has code that runs', () => {
    expect(blocks.filter((block) => block.where.startsWith('README.md')).length).toBeGreaterThan(0);
  });
  test.each(blocks.map((block) => [block.where, block] as const))('%s compiles and runs as printed', async (_where, block) => {
    const name = `example.${block.language}`;
    const project = await projectFolder({ ...block.files, [name]: block.code });
    try {
      const options: ts.CompilerOptions = {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.NodeNext,
        lib: ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts'],
        types: ['node'],
        skipLibCheck: true,
        ...(block.language === 'ts' ? { strict: true } : { strict: false, allowJs: true, checkJs: true, noEmit: true }),
      };
      const file = join(project.path, name);
      const program = ts.createProgram([file], options, { ...ts.createCompilerHost(options), getCurrentDirectory: () => project.path });
      const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(file));
      expect(found.map((each) => ts.flattenDiagnosticMessageText(each.messageText, '\n'))).toEqual([]);
      program.emit();
      const { code, stderr } = await runNode(['example.js'], { cwd: project.path });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    } finally {
      await project.remove();
    }
  });
});

describe('each rule can fail', () => {
  const file = (path: string, source: string): checks.File => ({ path, text: source });
  const names: checks.Imports = {
    '#base': './dist/base/index.js',
    '#pool': './dist/pool/index.js',
    '#atomics': './dist/memory/atomics.js',
  };

  test('layers: upwards, sideways, past index.ts, to an entry, to a package, from an unknown folder', () => {
    const complain = (path: string, source: string): string => checks.layers([file(path, source)], names).join();
    expect(complain('src/ring/lane.ts', "import { park } from '#pool';")).toContain('src/ring may import only from base, memory');
    expect(complain('src/keyed/shard.ts', "import { park } from '../pool/index.ts';")).toContain('src/keyed may import only');
    expect(complain('src/pool/park.ts', "import type { Lane } from '../ring/lane.ts';")).toContain('export it from src/ring/index.ts');
    expect(complain('src/pool/park.ts', "export * from '../index.ts';")).toContain('an entry of the package');
    expect(complain('src/pool/park.ts', "await import('lodash');")).toContain('no runtime dependency');
    expect(complain('src/utilities/x.ts', '')).toContain('not in the layer table');
  });
  test('layers: what is allowed passes', () => {
    const source =
      "import { seqAdd } from '#base';\nimport { load } from '#atomics';\nimport { Lane } from './lane.ts';\nimport 'node:fs';";
    expect(checks.layers([file('src/ring/record.ts', source), file('src/index.ts', "export * from './queue/index.ts';")], names)).toEqual(
      [],
    );
  });
  test('circles: of two, of three by a type and by an index, of one with itself; a diamond is none', () => {
    const complain = (...texts: [path: string, source: string][]): string[] =>
      checks.circles(
        texts.map(([path, source]) => file(path, source)),
        names,
      );
    expect(complain(['src/pool/a.ts', "import { b } from './b.ts';"], ['src/pool/b.ts', "import { a } from './a.ts';"])).toEqual([
      expect.stringMatching(/^src\/pool\/a\.ts -> src\/pool\/b\.ts -> src\/pool\/a\.ts is a circle/),
    ]);
    expect(
      complain(
        ['src/base/index.ts', "export * from './a.ts';"],
        ['src/base/a.ts', "import type { B } from './b.ts';"],
        ['src/base/b.ts', "import type { A } from '#base';"],
      ),
    ).toEqual([expect.stringContaining('src/base/index.ts -> src/base/a.ts -> src/base/b.ts -> src/base/index.ts')]);
    expect(complain(['src/pool/a.ts', "await import('./a.ts');"])).toHaveLength(1);
    const diamond: [string, string][] = ['b', 'c'].map((name) => [`src/pool/${name}.ts`, "import './d.ts';"]);
    expect(complain(['src/pool/a.ts', "import './b.ts';\nimport './c.ts';"], ...diamond, ['src/pool/d.ts', ''])).toEqual([]);
  });
  test('Atomics: a use fails; a comment, a string and src/memory do not', () => {
    expect(checks.atomicsOutsideTheSeam([file('src/ring/lane.ts', '\nconst { load } = Atomics;')])).toEqual([
      expect.stringContaining('src/ring/lane.ts:2'),
    ]);
    expect(
      checks.atomicsOutsideTheSeam([
        file('src/ring/lane.ts', "// Atomics\nconst a = 'Atomics.load';"),
        file('src/memory/atomics.ts', 'Atomics.load'),
      ]),
    ).toEqual([]);
  });
  test('views', () => {
    const bad = 'const x = 1;\nf(region.m, recordAt(region, record));';
    expect(checks.viewsReadTooEarly([file('src/ring/lane.ts', bad)])).toEqual([expect.stringContaining('src/ring/lane.ts:2')]);
    expect(checks.viewsReadTooEarly([file('a.ts', 'const at = recordAt(region, record);\nf(region.m, at);')])).toEqual([]);
  });
  test('headers', () => {
    expect(
      checks.headers([
        file('a.ts', 'export {};\n/** late */'),
        file('b.ts', '/** What b is. */'),
        file('c.js', '#!/usr/bin/env node\n// What c is.'),
      ]),
    ).toEqual([expect.stringContaining('a.ts')]);
  });
  test('main-only code in workers, two imports away', () => {
    const files: Record<string, string> = {
      'dist/queue/worker-entry.js': "import './run.js';",
      'dist/queue/run.js': "export * from './task-queue.js';",
      'dist/queue/task-queue.js': '',
    };
    expect(checks.mainOnlyInWorkers('dist/queue/worker-entry.js', (path) => files[path] ?? null, names)).toEqual([
      expect.stringContaining('dist/queue/worker-entry.js -> dist/queue/run.js -> dist/queue/task-queue.js'),
    ]);
  });
  test('links: a missing file, a missing heading; code and the web are left alone', () => {
    const documentsHere = [
      file(
        'docs/a.md',
        '# One two\n[x](b.md) [y](#one-two) [z](#three) `[c](none.md)` [w](https://example.org/x)\n```\n[d](none.md)\n```\n',
      ),
    ];
    expect(checks.docLinks(documentsHere, (path) => path === 'docs/a.md')).toEqual([
      expect.stringContaining('no docs/b.md'),
      expect.stringContaining('no such heading'),
    ]);
  });
  test('commands', () => {
    expect(checks.docCommands([file('a.md', '`npm run demo`, `npm run test:gone`')], { demo: '' })).toEqual([
      expect.stringContaining('npm run test:gone'),
    ]);
  });
  test('runnable blocks are found by their mark', () => {
    expect(checks.runnableBlocks(file('a.md', 'x\n```js run\n1;\n```\n```js\n2;\n```\n'))).toEqual([
      { where: 'a.md:2', language: 'js', code: '1;\n' },
    ]);
  });
  test('machine paths and registry hosts', () => {
    const traces = ['home/someone/x', 'root/x', 'Users/Someone', 'work/main'].map((path) => `see /${path}`);
    const bad = [...traces, `https://registry${'.'}example.org/x`];
    for (const line of bad) expect(checks.machineTraces([file('a.md', line)]), line).toHaveLength(1);
    expect(checks.machineTraces([file('a.md', 'the src/work/folder, and a home/page')])).toEqual([]);
  });
  test('globals that a handler may replace', () => {
    const bad = [
      'performance.now();',
      'setImmediate(f);',
      'new Promise(f);',
      'x(Atomics);',
      "import { types } from 'node:util';",
      'process.exit(0);',
    ];
    for (const text of bad) expect(checks.bareGlobals([file('src/pool/a.ts', text)]), text).toHaveLength(1);
    const good =
      "import { Map, performance } from '#base';\nconst m: Promise<void> | Map<string, URL> = new Map();\nm.set.call(performance.now());";
    expect(checks.bareGlobals([file('src/pool/a.ts', good)])).toEqual([]);
  });
  test('hosts in the lock', () => {
    expect(
      checks.lockHosts(file('package-lock.json', '{"packages":{"":{},"node_modules/a":{"resolved":"https://example.org/a.tgz"}}}')),
    ).toHaveLength(1);
  });
  test('install scripts, dependencies, loose versions, targets that are not built', () => {
    const bad = {
      scripts: { postinstall: 'x' },
      dependencies: { a: '1.0.0' },
      devDependencies: { b: '^1.0.0' },
      exports: { '.': { default: './dist/gone.js' } },
    };
    expect(checks.manifest(bad, () => false)).toHaveLength(4);
  });
});
