/** Rewrites a protocol's file with the compiled product it imports, loads the result, and returns what the file declared. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { takeDeclared } from './litmus.js';
import { ROOT, readModules } from './modules.js';
import { Names } from './names.js';
import { Reach } from './reach.js';
import { render } from './render.js';

let scratch = null;
let loads = 0;

/** A folder of this process, gone when it ends. */
function folder() {
  if (scratch === null) {
    scratch = mkdtempSync(join(tmpdir(), 'railhead-model-'));
    process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
  }
  return join(scratch, String(++loads));
}

/**
 * @param {string} file the protocol's @param {import('./litmus.js').Mutant} [mutant] a fault to plant
 * @returns {Promise<ReturnType<typeof takeDeclared>>}
 */
export async function load(file, mutant) {
  const entry = resolve(file);
  const planting = mutant === undefined ? null : plant(mutant, entry);
  const { modules, checker } = readModules(entry, planting?.edit);
  if (planting && !planting.done()) throw new Error(`The fault '${mutant.name}' changes ${mutant.module}, which ${entry} never loads`);
  const reach = new Reach(modules, new Names(modules, checker), entry);
  const to = folder();
  const placed = (path) => join(to, relative(ROOT, path));
  for (const module of modules.values()) {
    const urlOf = (target) => {
      if (target === null) return pathToFileURL(module.path).href;
      return target.kind === 'inside' ? pathToFileURL(placed(target.path)).href : target.url;
    };
    const path = placed(module.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, render(module, reach, urlOf));
  }
  writeFileSync(join(to, 'package.json'), '{ "type": "module" }');
  takeDeclared();
  await import(pathToFileURL(placed(entry)).href);
  return takeDeclared();
}

/** The change of one text that plants a fault. */
function plant({ name, module, replace: [pattern, text] }, entry) {
  const paths = [join(ROOT, 'dist', module), join(dirname(entry), module)];
  let done = false;
  const edit = (path, original) => {
    if (!paths.includes(path)) return original;
    const matches =
      typeof pattern === 'string' ? original.split(pattern).length - 1 : [...original.matchAll(new RegExp(pattern, flags(pattern)))].length;
    if (matches !== 1) throw new Error(`The fault '${name}' must match exactly once in ${module}; it matches ${matches} times`);
    done = true;
    return typeof pattern === 'string' ? original.split(pattern).join(text) : original.replace(pattern, text);
  };
  return { edit, done: () => done };
}

const flags = (pattern) => (pattern.flags.includes('g') ? pattern.flags : `${pattern.flags}g`);
