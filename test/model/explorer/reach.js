/**
 * Which functions reach the seam: they call it, or something that does. These become generators. A function handed on as a
 * value is followed where it can be: into a parameter of a function that is rewritten too, into a property (then every call of a
 * property of that name may be it), into a list.
 */
import ts from 'typescript';
import { bare, isFunction } from './names.js';

/** @typedef {import('./names.js').Meaning} Meaning */

/** Stands for the calls of all functions that were returned or kept, in the protocol's own file. */
const ESCAPED = '()';

export class Reach {
  #names;
  #entry;
  #calls = [];
  #values = [];
  #functions = new Set();
  #parameters = new Set();
  #properties = new Set();
  /** Function values that nobody can follow, with the reason. @type {Map<ts.Node, string>} */
  refused = new Map();

  /** @param {Map<string, import('./modules.js').Module>} modules @param {import('./names.js').Names} names @param {string} entry */
  constructor(modules, names, entry) {
    this.#names = names;
    this.#entry = entry;
    for (const { source } of modules.values()) this.#read(source, null);
    let size;
    do {
      size = this.#size();
      for (const { call, within } of this.#calls) if (within !== null && this.how(call) !== null) this.#add(within);
      for (const value of this.#values) if (this.#isReaching(value)) this.#follow(value);
    } while (this.#size() !== size);
  }

  /** Whether the function becomes a generator. */
  has(node) {
    return this.#functions.has(node);
  }

  /** How the call must be run: an operation, a generator for sure, or only perhaps; null: an ordinary call. */
  how(call) {
    const meaning = this.#names.called(call);
    if (meaning.kind === 'seam') return 'operation';
    if (meaning.kind === 'function') return this.#functions.has(meaning.node) ? 'generator' : null;
    if (meaning.kind === 'variable' && this.#properties.has(ESCAPED) && call.getSourceFile().fileName === this.#entry) return 'perhaps';
    if (meaning.kind === 'parameter') return this.#parameters.has(meaning.symbol) ? 'perhaps' : null;
    if (meaning.kind === 'property') return this.#properties.has(meaning.name) ? 'perhaps' : null;
    return null;
  }

  /** In a function that is a generator anyway, a call of something unknown may as well be looked at. */
  mayReach(call) {
    const { kind } = this.#names.called(call);
    return kind === 'variable' || kind === 'parameter';
  }

  /** Whether the call is known to be of an async function. */
  isAsync(call) {
    const meaning = this.#names.called(call);
    return meaning.kind === 'function' && (meaning.node.modifiers?.some((m) => m.kind === ts.SyntaxKind.AsyncKeyword) ?? false);
  }

  #size() {
    return this.#functions.size + this.#parameters.size + this.#properties.size;
  }

  #add(node) {
    if (this.#functions.has(node)) return;
    this.#functions.add(node);
    if (ts.isMethodDeclaration(node)) this.#properties.add(node.name.getText());
  }

  #read(node, within) {
    if (ts.isCallExpression(node)) this.#calls.push({ call: node, within });
    if (ts.isIdentifier(node) && isRead(node)) this.#values.push(node);
    if (isFunction(node)) this.#values.push(node);
    const inner = isUnit(node) ? node : ts.isPropertyDeclaration(node) || ts.isClassStaticBlockDeclaration(node) ? null : within;
    ts.forEachChild(node, (child) => this.#read(child, inner));
  }

  #isReaching(value) {
    if (isFunction(value)) return this.#functions.has(value);
    const meaning = this.#names.of(value);
    return (
      meaning.kind === 'seam' ||
      (meaning.kind === 'function' && this.#functions.has(meaning.node)) ||
      (meaning.kind === 'parameter' && this.#parameters.has(meaning.symbol))
    );
  }

  /** A reaching function stands somewhere: what may be called there? */
  #follow(value) {
    let node = value;
    while (ts.isParenthesizedExpression(node.parent)) node = node.parent;
    const { parent } = node;
    if (ts.isCallExpression(parent) && parent.expression === node) return;
    if (ts.isExportSpecifier(parent) || ts.isExportAssignment(parent)) return;
    if (ts.isIdentifier(value) && this.#names.of(value).kind === 'seam') {
      this.refused.set(node, 'a function of the seam is used as a value');
      return;
    }
    if (ts.isVariableDeclaration(parent) && ts.getCombinedNodeFlags(parent) & ts.NodeFlags.Const) return;
    if (ts.isPropertyAssignment(parent) || ts.isShorthandPropertyAssignment(parent)) {
      if (!this.#isDeclaration(parent.parent)) this.#properties.add(parent.name.getText());
      return;
    }
    if (ts.isPropertyDeclaration(parent) && parent.initializer === node) {
      this.#properties.add(parent.name.getText());
      return;
    }
    if (ts.isArrayLiteralExpression(parent)) {
      this.#properties.add('[]');
      return;
    }
    if (ts.isCallExpression(parent)) {
      const meaning = this.#names.called(parent);
      const at = parent.arguments.indexOf(node);
      const symbol = meaning.kind === 'function' ? this.#names.parameters(meaning.node)[at] : undefined;
      if (symbol) this.#parameters.add(symbol);
      else if (meaning.kind !== 'outside') this.refused.set(node, 'it is handed to a function that the model cannot follow');
      return;
    }
    // Threads are often made by functions of the protocol's own file. There, any call of what is not a known function may be one.
    if (value.getSourceFile().fileName === this.#entry) {
      this.#properties.add(ESCAPED);
      return;
    }
    if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsEqualsEqualsToken) return;
    this.refused.set(node, 'it is used as a value');
  }

  /** The object given to `litmus`: its functions are run by the machine. */
  #isDeclaration(literal) {
    for (let node = literal.parent; node !== undefined; node = node.parent) {
      if (ts.isCallExpression(node) && this.#names.called(node).kind === 'outside') return true;
      if (isUnit(node)) return false;
    }
    return false;
  }
}

/** A function of any kind: what a call stands in. @param {ts.Node} node */
export const isUnit = (node) => ts.isFunctionLike(node) && node.body !== undefined;

/** A name that is read, not one that declares or labels. */
function isRead(node) {
  const { parent } = node;
  if (ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent)) return false;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  return parent.name !== node && bare(parent) === parent;
}
