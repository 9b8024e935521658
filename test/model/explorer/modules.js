/**
 * Modules to rewrite: a protocol's file and everything it imports, directly or not, as long as it lies in `dist` or beside the
 * protocol. What lies elsewhere (Node, the explorer, packages) is imported as it is.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const EXPLORER = fileURLToPath(new URL('./', import.meta.url));
const SEAM = join(ROOT, 'dist/memory/atomics.model.js');
const SEAMS = [SEAM, join(ROOT, 'dist/memory/atomics.js')];
const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/**
 * @typedef {object} Module
 * @property {string} path @property {ts.SourceFile} source
 * @property {Map<string, { path: string, kind: 'seam' | 'inside' | 'outside', url: string }>} imports by specifier
 */
/**
 * Reads and parses them, with the compiler's symbols for names inside each. @param {string} entry
 * @param {(path: string, text: string) => string} edit changes a text before it is parsed: a planted fault
 * @returns {{ modules: Map<string, Module>, checker: ts.TypeChecker }}
 */
export function readModules(entry, edit = (_path, text) => text) {
  const texts = new Map();
  const imports = new Map();
  for (const waiting = [entry]; waiting.length > 0; ) {
    const path = waiting.pop();
    if (texts.has(path)) continue;
    const text = edit(path, readFileSync(path, 'utf8'));
    texts.set(path, text);
    const found = new Map();
    for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) found.set(fileName, target(fileName, path, entry));
    imports.set(path, found);
    for (const { kind, path: next } of found.values()) if (kind === 'inside') waiting.push(next);
  }
  const program = ts.createProgram({ rootNames: [...texts.keys()], options: OPTIONS, host: hostOf(texts) });
  const checker = program.getTypeChecker();
  const modules = new Map();
  for (const path of texts.keys()) modules.set(path, { path, source: program.getSourceFile(path), imports: imports.get(path) });
  return { modules, checker };
}

// Each file on its own: names across modules are followed by `names.js`, which knows what is rewritten.
const OPTIONS = { allowJs: true, noResolve: true, noLib: true, types: [], target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext };

function hostOf(texts) {
  const parsed = new Map();
  return {
    ...ts.createCompilerHost(OPTIONS, true),
    fileExists: (path) => texts.has(path),
    readFile: (path) => texts.get(path),
    getSourceFile(path) {
      if (!texts.has(path)) return undefined;
      if (!parsed.has(path)) parsed.set(path, ts.createSourceFile(path, texts.get(path), ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS));
      return parsed.get(path);
    },
  };
}

function target(specifier, from, entry) {
  if (isBuiltin(specifier)) return { kind: 'outside', path: specifier, url: specifier };
  const path = pathOf(specifier, from);
  if (SEAMS.includes(path)) return { kind: 'seam', path: SEAM, url: pathToFileURL(SEAM).href };
  const inside = !path.startsWith(EXPLORER) && (path.startsWith(join(ROOT, 'dist') + sep) || path.startsWith(dirname(entry) + sep));
  return { kind: inside ? 'inside' : 'outside', path, url: pathToFileURL(path).href };
}

function pathOf(specifier, from) {
  if (specifier.startsWith('#')) {
    const found = PACKAGE.imports[specifier];
    const file = typeof found === 'object' ? (found.model ?? found.default) : found;
    if (file === undefined) throw new Error(`${from} imports ${specifier}, which package.json does not name`);
    return existing(join(ROOT, file), from);
  }
  if (specifier.startsWith('.')) return existing(resolve(dirname(from), specifier), from);
  return createRequire(from).resolve(specifier);
}

function existing(path, from) {
  if (!existsSync(path)) throw new Error(`${from} imports ${path}, which does not exist; is the package built? (npm run build)`);
  return path;
}
