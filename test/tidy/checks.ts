/**
 * The rules a program can check, as functions from file texts to complaints; `tidy.test.ts` gives them this checkout and, to
 * prove that each can fail, small texts of its own. Pure: nothing here reads a file. A complaint says what to do.
 */
import { posix } from 'node:path';
import ts from 'typescript';

/** A file: its path from the root of the checkout, with forward slashes, and its text. */
export interface File {
  readonly path: string;
  readonly text: string;
}
/** `#name` to the compiled file it stands for, as in package.json `imports`. */
export type Imports = Readonly<Record<string, string>>;

/** The layer table (docs/architecture.md): what each folder of `src` may import. */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  memory: ['base'],
  ring: ['base', 'memory'],
  payload: ['base', 'memory'],
  keyed: ['base', 'memory', 'ring', 'payload'],
  pool: ['base', 'memory', 'ring', 'payload'],
  monitor: ['base', 'memory', 'ring', 'payload'],
  queue: ['base', 'memory', 'ring', 'payload', 'keyed', 'pool', 'monitor'],
};
/** Files that only the host thread may load: they hold the class that starts threads. */
export const MAIN_ONLY: readonly string[] = ['dist/index.js', 'dist/queue/index.js', 'dist/queue/task-queue.js'];

/** Every module specifier of a file: static, type-only, re-exported, and dynamic with a literal. */
export function specifiers(file: File): string[] {
  return ts.preProcessFile(file.text, true, true).importedFiles.map((found) => found.fileName);
}

/** Where a specifier leads inside the checkout, in terms of `src` (or of `dist` for compiled files); null for anything outside. */
function resolve(from: string, specifier: string, imports: Imports): string | null {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier);
  const compiled = imports[specifier]?.replace('./', '');
  if (compiled === undefined) return null;
  return from.startsWith('src/') ? compiled.replace(/^dist\//, 'src/').replace(/\.js$/, '.ts') : compiled;
}

const folderOf = (path: string): string => (path.split('/').length > 2 ? (path.split('/')[1] as string) : '');

/** A folder imports only from the folders the table allows, and only through their `index.ts`. */
export function layers(files: readonly File[], imports: Imports): string[] {
  const complaints: string[] = [];
  for (const file of files) {
    const from = folderOf(file.path);
    const allowed = from === '' ? Object.keys(LAYERS) : LAYERS[from];
    if (allowed === undefined) {
      complaints.push(
        `${file.path}: the folder src/${from} is not in the layer table; add it to LAYERS in test/tidy/checks.ts and to docs/architecture.md`,
      );
      continue;
    }
    for (const specifier of specifiers(file)) {
      if (specifier.startsWith('node:')) continue;
      const target = resolve(file.path, specifier, imports);
      if (target === null) {
        complaints.push(`${file.path} imports '${specifier}'; the package has no runtime dependency: use node: or a folder of src`);
        continue;
      }
      const to = folderOf(target);
      if (to === from) continue;
      if (to === '')
        complaints.push(`${file.path} imports '${specifier}', an entry of the package; import from the folder that defines it`);
      else if (!allowed.includes(to)) {
        complaints.push(
          `${file.path} imports '${specifier}', but src/${from} may import only from ${allowed.join(', ') || 'node:'}; move the shared part down`,
        );
      } else if (posix.basename(target) !== 'index.ts' && specifier !== '#atomics') {
        complaints.push(`${file.path} imports '${specifier}', a part inside src/${to}; export it from src/${to}/index.ts and import that`);
      }
    }
  }
  return complaints;
}

/** `f(region.m, recordAt(region, …))` reads the view before `recordAt` may have to renew it: an access beyond its end. */
export function viewsReadTooEarly(files: readonly File[]): string[] {
  const complaints: string[] = [];
  for (const file of files) {
    for (const { index } of file.text.matchAll(/\.m,\s*recordAt\(/g)) {
      const line = file.text.slice(0, index).split('\n').length;
      complaints.push(`${file.path}:${line} reads the view before recordAt may renew it; call recordAt in a statement of its own, first`);
    }
  }
  return complaints;
}

/** No files import each other in a circle, types included: neither could be read, or changed, without the other. */
export function circles(files: readonly File[], imports: Imports): string[] {
  const targets = new Map(
    files.map((file) => [file.path, specifiers(file).flatMap((specifier) => resolve(file.path, specifier, imports) ?? [])]),
  );
  const done = new Set<string>();
  const complaints: string[] = [];
  const visit = (path: string, above: readonly string[]): void => {
    const at = above.indexOf(path);
    if (at >= 0) {
      const circle = [...above.slice(at), path];
      complaints.push(`${circle.join(' -> ')} is a circle; let one take only what it needs, or move what both need into a file of its own`);
    } else if (!done.has(path)) {
      for (const target of targets.get(path) ?? []) visit(target, [...above, path]);
      done.add(path);
    }
  };
  for (const { path } of files) visit(path, []);
  return complaints;
}

/** `Atomics` appears in `src/memory` only: everything else goes through the seam, or the explorer does not see it. */
export function atomicsOutsideTheSeam(files: readonly File[]): string[] {
  const complaints: string[] = [];
  for (const file of files) {
    if (folderOf(file.path) === 'memory' || file.path === REALM) continue;
    const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true);
    const visit = (node: ts.Node): void => {
      if (ts.isIdentifier(node) && node.text === 'Atomics') {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        complaints.push(
          `${file.path}:${line + 1} uses Atomics; call the function of src/memory/atomics.ts through '#memory' or '#atomics' instead`,
        );
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return complaints;
}

/** Where the library takes what it uses of the realm. */
const REALM = 'src/base/realm.ts';
/** Names that cannot be replaced, and `Symbol`, which is called while files load only: TypeScript must see that it is the real one. */
const FIXED: ReadonlySet<string> = new Set(['undefined', 'NaN', 'Infinity', 'Symbol']);
const GLOBALS: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(globalThis).filter((name) => !FIXED.has(name)));
/** Node's modules that hold what fake timers and handlers replace. */
const REALM_MODULES = ['node:timers', 'node:perf_hooks', 'node:process', 'node:util'];

/** Library code uses no global as it stands, but what `src/base/realm.ts` has taken of it: a handler may replace any. */
export function bareGlobals(files: readonly File[]): string[] {
  const complaints: string[] = [];
  for (const file of files) {
    if (file.path === REALM || file.path.endsWith('.model.ts')) continue;
    const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true);
    const complain = (node: ts.Node, what: string): void => {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      complaints.push(
        `${file.path}:${line + 1} uses ${what}; import it from ${REALM} (elsewhere '#base'), which takes it before any handler runs`,
      );
    };
    const own = new Set<string>();
    const declare = (node: ts.Node): void => {
      const { name } = node as ts.NamedDeclaration;
      if (name !== undefined && ts.isIdentifier(name) && !isProperty(node)) own.add(name.text);
      ts.forEachChild(node, declare);
    };
    const visit = (node: ts.Node): void => {
      if (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) return;
      if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
      if (ts.isIdentifier(node) && GLOBALS.has(node.text) && !own.has(node.text) && !isNameOnly(node))
        complain(node, `the global ${node.text}`);
      if (ts.isImportDeclaration(node)) {
        const from = (node.moduleSpecifier as ts.StringLiteral).text;
        if (REALM_MODULES.includes(from)) complain(node, from);
      }
      ts.forEachChild(node, visit);
    };
    declare(source);
    visit(source);
  }
  return complaints;
}

const isProperty = (node: ts.Node): boolean =>
  ts.isPropertyAssignment(node) || ts.isClassElement(node) || ts.isTypeElement(node) || ts.isEnumMember(node);

/** After a dot, or declared: no use of a global. */
function isNameOnly(node: ts.Identifier): boolean {
  const { parent } = node;
  return (
    (ts.isPropertyAccessExpression(parent) && parent.name === node) || (isProperty(parent) && (parent as ts.NamedDeclaration).name === node)
  );
}

/** A file starts by saying what it is and which thread runs it. */
export function headers(files: readonly File[]): string[] {
  return files
    .filter((file) => !/^(#!.*\n)?\s*(\/\*|\/\/)/.test(file.text))
    .map((file) => `${file.path} has no header comment; start it with one sentence on what it is and which thread runs it`);
}

/** The modules reached from `entry` by following imports, each with the one that led to it. */
export function reachable(entry: string, read: (path: string) => string | null, imports: Imports): Map<string, string | null> {
  const seen = new Map<string, string | null>([[entry, null]]);
  const queue = [entry];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const text = read(path);
    if (text === null) continue;
    for (const specifier of specifiers({ path, text })) {
      const target = resolve(path, specifier, imports);
      if (target === null || seen.has(target)) continue;
      seen.set(target, path);
      queue.push(target);
    }
  }
  return seen;
}

/** A worker loads nothing that only the host thread may run. */
export function mainOnlyInWorkers(entry: string, read: (path: string) => string | null, imports: Imports): string[] {
  const seen = reachable(entry, read, imports);
  return MAIN_ONLY.filter((path) => seen.has(path)).map((path) => {
    const chain = [path];
    for (let at = seen.get(path); at != null; at = seen.get(at)) chain.unshift(at);
    return `a worker loads ${path}: ${chain.join(' -> ')}; move what the worker needs into a file that both can import`;
  });
}

/** GitHub's anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const withoutCode = (text: string): string => text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '').replace(/`[^`\n]*`/g, '');

/** Every relative link of the documents leads to a file that exists, and to a heading that exists in it. */
export function docLinks(documents: readonly File[], exists: (path: string) => boolean): string[] {
  const complaints: string[] = [];
  const anchors = new Map(
    documents.map((file) => [file.path, [...file.text.matchAll(/^#{1,6} (.+)$/gm)].map((match) => anchorOf(match[1] as string))]),
  );
  for (const file of documents) {
    for (const [, link] of withoutCode(file.text).matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)) {
      if (link === undefined || /^[a-z]+:/i.test(link)) continue;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? file.path : posix.join(posix.dirname(file.path), path);
      if (!exists(target)) complaints.push(`${file.path} links to ${link}, and there is no ${target}; correct the link`);
      else if (anchor !== undefined && anchors.has(target) && !anchors.get(target)?.includes(anchor)) {
        complaints.push(
          `${file.path} links to ${link}, and ${target} has no such heading; its headings are ${anchors.get(target)?.join(', ')}`,
        );
      }
    }
  }
  return complaints;
}

/** Every `npm run x` in the documents is a script of package.json. */
export function docCommands(documents: readonly File[], scripts: Readonly<Record<string, string>>): string[] {
  return documents.flatMap((file) =>
    [...file.text.matchAll(/npm run ([\w:-]+)/g)]
      .filter(([, name]) => scripts[name as string] === undefined)
      .map(([, name]) => `${file.path} says 'npm run ${name}', which package.json does not have; correct the document or add the script`),
  );
}

export interface Block {
  /** Where it starts, for messages. */
  readonly where: string;
  readonly language: 'js' | 'ts';
  readonly code: string;
}
const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** The code blocks of a document whose opening line says `run`, as in ```` ```js run ````. */
export function runnableBlocks(document: File): Block[] {
  return [...document.text.matchAll(/^```(js|ts) run$\n([\s\S]*?)^```$/gm)].map((match) => ({
    where: `${document.path}:${lineAt(document.text, match.index)}`,
    language: match[1] as 'js' | 'ts',
    code: match[2] as string,
  }));
}

/** The files a document shows for its runnable blocks to use, as in ```` ```js file hash.js ````, by name. */
export function shownFiles(document: File): Record<string, string> {
  return Object.fromEntries([...document.text.matchAll(/^```\w+ file (\S+)$\n([\s\S]*?)^```$/gm)].map(([, name, code]) => [name, code]));
}

// Put together here so that this file does not trip over itself.
const MACHINE: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`(?<![\\w.])/${'home'}/[a-z][\\w-]*/`), 'a home folder'],
  [new RegExp(`(?<![\\w.])/${'root'}/`), 'a home folder'],
  [new RegExp(`(?<![\\w.])/${'Users'}/[A-Za-z]`), 'a home folder'],
  [new RegExp(`(?<![\\w.])/${'work'}/[a-z]`), "this checkout's folder on one machine"],
  [new RegExp(`[A-Z]:${'\\\\'}Users`), 'a home folder'],
  [new RegExp(`${'registry'}\\.[a-z0-9-]+\\.[a-z]+`), 'a registry host'],
];
/** Nothing in the tree names the machine it was written on or the registry it was installed from. */
export function machineTraces(files: readonly File[]): string[] {
  return files.flatMap((file) =>
    file.text
      .split('\n')
      .flatMap((line, k) =>
        MACHINE.filter(([pattern]) => pattern.test(line)).map(
          ([pattern, what]) => `${file.path}:${k + 1} names ${what} (${pattern.exec(line)?.[0]}); write it relative, or leave it out`,
        ),
      ),
  );
}

/** The lock names no host, so that it installs from whichever registry a machine is set to. */
export function lockHosts(lock: File): string[] {
  const packages: Record<string, { resolved?: string }> = JSON.parse(lock.text).packages;
  return Object.entries(packages)
    .filter(([, entry]) => entry.resolved !== undefined)
    .map(
      ([name]) =>
        `${lock.path}: ${name} has a 'resolved' host; run npm install with the checkout's own .npmrc in place, which leaves hosts out`,
    );
}

export interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly exports?: unknown;
  readonly imports?: unknown;
}
const targets = (value: unknown): string[] => (typeof value === 'string' ? [value] : Object.values(value as object).flatMap(targets));

/** What package.json promises: no install script, no dependency, exact versions, and targets that the build writes. */
export function manifest(pkg: Manifest, exists: (path: string) => boolean): string[] {
  const complaints: string[] = [];
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare', 'preprepare', 'postprepare']) {
    if (pkg.scripts?.[name] !== undefined)
      complaints.push(`package.json has a script '${name}', which runs on install; build in 'prepack' instead`);
  }
  for (const name of Object.keys(pkg.dependencies ?? {})) {
    complaints.push(`package.json depends on ${name}; the runtime has no dependency: make it a dev dependency or an optional peer`);
  }
  for (const [name, version] of Object.entries(pkg.devDependencies ?? {})) {
    if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      complaints.push(`package.json has ${name}@${version}; pin an exact version (npm install --save-exact)`);
  }
  for (const target of targets([pkg.exports ?? {}, pkg.imports ?? {}])) {
    if (!exists(target.replace('./', '')))
      complaints.push(`package.json points to ${target}, which the build does not write; remove the entry or add the source file`);
  }
  return complaints;
}
