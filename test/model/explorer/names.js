/** What a name or a call stands for, across modules: a function of the seam, one that can be rewritten, or neither. */
import { basename } from 'node:path';
import ts from 'typescript';

/**
 * @typedef {{ kind: 'seam', name: string } | { kind: 'function', node: ts.Node } | { kind: 'parameter', symbol: ts.Symbol }
 *   | { kind: 'property', name: string } | { kind: 'outside', path: string } | { kind: 'variable' } | { kind: 'unknown' }} Meaning
 */
const UNKNOWN = { kind: 'unknown' };
const VARIABLE = { kind: 'variable' };

export class Names {
  #modules;
  #checker;
  #exports = new Map();

  /** @param {Map<string, import('./modules.js').Module>} modules @param {ts.TypeChecker} checker */
  constructor(modules, checker) {
    this.#modules = modules;
    this.#checker = checker;
  }

  /** @param {ts.Identifier} identifier @returns {Meaning} */
  of(identifier) {
    const shorthand = ts.isShorthandPropertyAssignment(identifier.parent) && identifier.parent.name === identifier;
    const symbol = shorthand
      ? this.#checker.getShorthandAssignmentValueSymbol(identifier.parent)
      : this.#checker.getSymbolAtLocation(identifier);
    return this.#meaning(symbol);
  }

  /** What a call calls. @param {ts.CallExpression} call @returns {Meaning} */
  called(call) {
    const callee = bare(call.expression);
    if (ts.isIdentifier(callee)) return this.of(callee);
    if (isFunction(callee)) return { kind: 'function', node: callee };
    if (ts.isElementAccessExpression(callee)) return { kind: 'property', name: '[]' };
    const isKeyword = callee.kind === ts.SyntaxKind.SuperKeyword || callee.kind === ts.SyntaxKind.ImportKeyword;
    if (!ts.isPropertyAccessExpression(callee)) return isKeyword ? UNKNOWN : VARIABLE;
    const within = ts.isIdentifier(callee.expression) ? this.#checker.getSymbolAtLocation(callee.expression) : undefined;
    const declaration = within?.declarations?.[0];
    if (declaration && ts.isNamespaceImport(declaration))
      return this.#exported(this.#imported(declaration.parent.parent), callee.name.text);
    return { kind: 'property', name: callee.name.text };
  }

  /** The parameters of a function, as symbols; undefined where one is a pattern. */
  parameters(node) {
    return node.parameters.map(({ name, dotDotDotToken }) =>
      ts.isIdentifier(name) && !dotDotDotToken ? this.#checker.getSymbolAtLocation(name) : undefined,
    );
  }

  #meaning(symbol) {
    const declaration = symbol?.declarations?.[0];
    if (declaration === undefined) return UNKNOWN;
    if (ts.isParameter(declaration)) return { kind: 'parameter', symbol };
    if (ts.isImportSpecifier(declaration)) {
      return this.#exported(this.#imported(declaration.parent.parent.parent), (declaration.propertyName ?? declaration.name).text);
    }
    if (ts.isImportClause(declaration)) return this.#exported(this.#imported(declaration.parent), 'default');
    return this.#declared(declaration);
  }

  #declared(declaration) {
    if (ts.isFunctionDeclaration(declaration)) return { kind: 'function', node: declaration };
    if (!ts.isVariableDeclaration(declaration)) return ts.isBindingElement(declaration) ? VARIABLE : UNKNOWN;
    const isConst = (ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const) !== 0;
    const value = declaration.initializer && bare(declaration.initializer);
    if (value && isConst && isFunction(value)) return { kind: 'function', node: value };
    if (value && isConst && ts.isIdentifier(value)) return this.of(value);
    return VARIABLE;
  }

  #imported(statement) {
    const module = this.#modules.get(statement.getSourceFile().fileName);
    return module?.imports.get(statement.moduleSpecifier.text);
  }

  /** @returns {Meaning} */
  #exported(from, name) {
    if (from === undefined) return UNKNOWN;
    if (from.kind === 'seam') return { kind: 'seam', name };
    // The one operation of the explorer's own that a thread may call.
    if (basename(from.path) === 'litmus.js' && name === 'terminate') return { kind: 'seam', name };
    if (from.kind === 'outside') return { kind: 'outside', path: from.path };
    const found = this.#exportsOf(from.path).named.get(name);
    if (found) return found();
    for (const star of this.#exportsOf(from.path).stars) {
      const meaning = this.#exported(star, name);
      if (meaning.kind !== 'unknown') return meaning;
    }
    return UNKNOWN;
  }

  #exportsOf(path) {
    if (!this.#exports.has(path)) this.#exports.set(path, this.#readExports(this.#modules.get(path)));
    return this.#exports.get(path);
  }

  #readExports({ source, imports }) {
    const named = new Map();
    const stars = [];
    const isExported = (node) => node.modifiers?.some((m) => m.kind === ts.SyntaxKind.ExportKeyword);
    for (const statement of source.statements) {
      if (ts.isExportDeclaration(statement)) {
        const from = statement.moduleSpecifier && imports.get(statement.moduleSpecifier.text);
        if (statement.exportClause === undefined) stars.push(from);
        else if (ts.isNamedExports(statement.exportClause)) {
          for (const specifier of statement.exportClause.elements) {
            const local = specifier.propertyName ?? specifier.name;
            const meaning = () =>
              from ? this.#exported(from, local.text) : this.#meaning(this.#checker.getExportSpecifierLocalTargetSymbol(specifier));
            named.set(specifier.name.text, meaning);
          }
        }
      } else if (ts.isFunctionDeclaration(statement) && isExported(statement)) {
        const isDefault = statement.modifiers.some((m) => m.kind === ts.SyntaxKind.DefaultKeyword);
        named.set(isDefault ? 'default' : statement.name.text, () => ({ kind: 'function', node: statement }));
      } else if (ts.isVariableStatement(statement) && isExported(statement)) {
        for (const declaration of statement.declarationList.declarations) {
          if (ts.isIdentifier(declaration.name)) named.set(declaration.name.text, () => this.#declared(declaration));
        }
      }
    }
    return { named, stars };
  }
}

/** Without the parentheses around it. @param {ts.Node} node */
export function bare(node) {
  return ts.isParenthesizedExpression(node) ? bare(node.expression) : node;
}

/** A function expression or arrow. @param {ts.Node} node */
export const isFunction = (node) => ts.isArrowFunction(node) || ts.isFunctionExpression(node);
