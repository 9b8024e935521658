/**
 * The text of a rewritten module. Functions that reach the seam become generators; lines stay where they are, so that traces and
 * errors name lines of the compiled file.
 *
 *   cas(m, i, 0, 1)          (yield (cas(m, i, 0, 1), 17))      announced, then carried out when the thread is chosen; 17 is the place
 *   publish(m, lane, e)      (yield* publish(m, lane, e))
 *   source.claim(m)          (yield* $run(source.claim(m)))     where only running it tells
 *   await w.value            (yield* $awaiting(w.value, 18))
 *   (m) => load(m, 0)        (function* (m) { return ((yield (load(m, 0), 19))); })
 *
 * What cannot be rewritten is replaced by an error that says why, thrown if that code is ever run.
 */
import { relative } from 'node:path';
import ts from 'typescript';
import { ROOT } from './modules.js';
import { isUnit } from './reach.js';
import { siteFor } from './sites.js';

const HELPERS = new URL('./seam.js', import.meta.url).href;

/**
 * @param {import('./modules.js').Module} module @param {import('./reach.js').Reach} reach
 * @param {(target: { kind: string, path: string, url: string }) => string} urlOf where an import leads now
 */
export function render(module, reach, urlOf) {
  const { source, imports } = module;
  const { text } = source;
  const place = (node) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    return `${relative(ROOT, source.fileName)}:${line + 1}`;
  };

  /** @param {ts.Node} node @param {ts.Node | null} within the function that becomes a generator, if any */
  const write = (node, within) => {
    const lead = text.slice(node.getFullStart(), node.getStart(source));
    const why = reach.refused.get(node);
    if (why !== undefined) return lead + refusal(node, why);
    if (ts.isStringLiteral(node) && isSpecifier(node)) return `${lead}${JSON.stringify(urlOf(imports.get(node.text)))}`;
    if (ts.isMetaProperty(node) && node.keywordToken === ts.SyntaxKind.ImportKeyword)
      return `${lead}({ url: ${JSON.stringify(urlOf(null))} })`;
    if (isUnit(node)) return lead + (reach.has(node) ? generator(node) : inner(node, null));
    if (ts.isCallExpression(node)) return lead + call(node, within);
    if (ts.isAwaitExpression(node) && within !== null)
      return `${lead}(yield* $awaiting(${write(node.expression, within)}, ${siteOf(node, within)}))`;
    return lead + inner(node, within);
  };

  /** The node's own text with its parts rewritten, without what leads to it. */
  const inner = (node, within, from = node.getStart(source), to = node.end) => {
    let out = '';
    let at = from;
    ts.forEachChild(node, (child) => {
      if (child.end <= from || child.getFullStart() >= to || child.kind === ts.SyntaxKind.JSDoc) return;
      const start = Math.max(child.getFullStart(), at); // the first part shares its lead with the whole
      out += text.slice(at, start) + write(child, within).slice(start - child.getFullStart());
      at = child.end;
    });
    return out + text.slice(at, to);
  };

  /** As many lines as what it stands for. */
  const refusal = (node, why) => {
    const [first = '', ...lines] = node.getText().split('\n');
    return `$refuse(${JSON.stringify(`\`${first.trim()}\` (${place(node)}): ${why}`)})${'\n'.repeat(lines.length)}`;
  };

  const siteOf = (node, within) => siteFor(`${place(node)} ${nameOf(within)}`);

  const call = (node, within) => {
    const how = reach.how(node) ?? (within !== null && reach.mayReach(node) ? 'perhaps' : null);
    const plain = inner(node, within);
    if (how === null) return plain;
    if (within === null) return how === 'perhaps' ? plain : refusal(node, 'it reaches the seam outside a function');
    if (isInParameter(node, within)) return refusal(node, 'it reaches the seam in the default of a parameter');
    if (reach.isAsync(node) && !isAwaited(node)) return refusal(node, 'it is not awaited at once, and the model has no microtasks');
    if (how === 'operation') return `(yield (${plain}, ${siteOf(node, within)}))`;
    return how === 'generator' ? `(yield* ${plain})` : `(yield* $run(${plain}))`;
  };

  const generator = (node) => {
    const why = whyNot(node);
    if (why !== null) return `${inner(node, null, node.getStart(source), node.body.getFullStart())} { ${refusal(node, why)}; }`;
    if (ts.isArrowFunction(node)) return arrow(node);
    const head = text.slice(node.getStart(source), node.parameters.pos);
    const star = ts.isMethodDeclaration(node)
      ? head.replace(/\basync\s+/, '').replace(/([\w$#]+|\[.*\]|'.*'|".*")\s*\($/, '*$1(')
      : head.replace(/\basync\s+/, '').replace(/\bfunction\b/, 'function*');
    return star + inner(node, node, node.parameters.pos);
  };

  const arrow = (node) => {
    const open = text.slice(node.getStart(source), node.parameters.pos).includes('(');
    const parameters = inner(node, node, node.parameters.pos, node.equalsGreaterThanToken.getFullStart());
    const body = write(node.body, node);
    const whole = `function* (${parameters}${open ? '' : ')'} ${ts.isBlock(node.body) ? body : `{ return (${body}); }`}`;
    return usesThis(node.body) ? `(${whole}).bind(this)` : `(${whole})`;
  };

  const helpers = `import { run as $run, awaiting as $awaiting, refuse as $refuse } from ${JSON.stringify(HELPERS)};`;
  return `${helpers} ${write(source, null)}`;
}

/** Why a function that reaches the seam cannot become a generator; null if it can. */
function whyNot(node) {
  if (ts.isGetAccessor(node) || ts.isSetAccessor(node)) return 'an accessor reaches the seam';
  if (ts.isConstructorDeclaration(node)) return 'a constructor reaches the seam';
  if (node.asteriskToken) return 'a generator of the product reaches the seam';
  if (find(node.body, (part) => ts.isForOfStatement(part) && part.awaitModifier !== undefined))
    return 'it reaches the seam and has `for await`';
  return null;
}

const isSpecifier = ({ parent }) =>
  ts.isImportDeclaration(parent) ||
  ts.isExportDeclaration(parent) ||
  (ts.isCallExpression(parent) && parent.expression.kind === ts.SyntaxKind.ImportKeyword);

/** Awaited, or returned by a function that is. */
function isAwaited({ parent }) {
  if (ts.isParenthesizedExpression(parent)) return isAwaited(parent);
  return ts.isAwaitExpression(parent) || ts.isReturnStatement(parent) || ts.isArrowFunction(parent);
}

function isInParameter(node, within) {
  for (let at = node; at !== within; at = at.parent) if (ts.isParameter(at)) return true;
  return false;
}

const usesThis = (body) => find(body, (node) => node.kind === ts.SyntaxKind.ThisKeyword);

/** Whether a part of the function's own body matches; what lies in inner functions is theirs (arrows share `this`). */
function find(node, matches) {
  if (matches(node)) return true;
  if (isUnit(node) && !ts.isArrowFunction(node)) return false;
  return ts.forEachChild(node, (child) => find(child, matches) || undefined) ?? false;
}

function nameOf(node) {
  const named = node.name ?? (ts.isVariableDeclaration(node.parent) || ts.isPropertyAssignment(node.parent) ? node.parent.name : undefined);
  return named?.getText() ?? 'anonymous';
}
