/**
 * Writes docs/cases.md: `npm run docs`. What each case of public bug reports is, and the test that names it. The list of cases
 * is tools/cases-notes.json; a test names a case by its number in its title. With `--check` it writes nothing, and fails if the
 * document is stale or a case has neither a test nor a reason. In a process of its own; it reads the tests and runs none.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../', import.meta.url));
const PAGE = 'docs/cases.md';
const NOTES = 'tools/cases-notes.json';
const NUMBER = /\bB\d{2}\b/g;
const read = (path) => readFileSync(join(root, path), 'utf8');
const problems = [];

/** The name at the root of `test`, `test.each(…)`, `describe.skip` … */
function rootName(callee) {
  let node = callee;
  while (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node) || ts.isTaggedTemplateExpression(node))
    node = ts.isTaggedTemplateExpression(node) ? node.tag : node.expression;
  return ts.isIdentifier(node) ? node.text : '';
}

/** Titles of the tests in a file, each behind those of the groups it is in. */
function titlesOf(path) {
  const titles = [];
  const visit = (node, outer) => {
    let inner = outer;
    if (ts.isCallExpression(node) && ['test', 'it', 'describe', 'litmus'].includes(rootName(node.expression))) {
      const [title] = node.arguments;
      if (title !== undefined && ts.isStringLiteralLike(title)) {
        inner = [...outer, title.text];
        if (rootName(node.expression) !== 'describe') titles.push(inner.join(' > '));
      }
    }
    ts.forEachChild(node, (child) => visit(child, inner));
  };
  visit(ts.createSourceFile(path, read(path), ts.ScriptTarget.Latest, true), []);
  return titles;
}

/** `B12` → where it is tested: `{ path, title }`. */
function namedCases() {
  const found = new Map();
  const files = readdirSync(join(root, 'test'), { recursive: true })
    .map((path) => `test/${path.replaceAll('\\', '/')}`)
    .filter((path) => /\.(test\.[jt]s|model\.js)$/.test(path));
  for (const path of files.sort())
    for (const title of titlesOf(path))
      for (const number of new Set(title.match(NUMBER))) found.set(number, [...(found.get(number) ?? []), { path, title }]);
  return found;
}

/** A test that shows a case without naming it: `file > end of its title`. */
function pointed(number, pointer) {
  const [path, ...rest] = pointer.split(' > ');
  let title;
  try {
    title = titlesOf(path).find((each) => each.endsWith(rest.join(' > ')));
  } catch {
    // no such file
  }
  if (title === undefined) problems.push(`${NOTES}: ${number} points to a test that is not there: ${pointer}`);
  return { path, title: title ?? rest.join(' > ') };
}

const escaped = (text) => text.replaceAll('|', '\\|');
const shown = ({ path, title }) => `[${path}](../${path}): ${escaped(title)}`;

function page() {
  const sections = JSON.parse(read(NOTES));
  const named = namedCases();
  const lines = [
    '# Cases',
    '',
    `<!-- Made by \`npm run docs\` from ${NOTES} and the titles of the tests: change those. -->`,
    '',
    'Faults that users of other pools, queues and runtimes have reported in public, as what Railhead does instead. A test names a case by',
    'its number. `npm run check` fails when a case has neither a test nor a reason why it cannot apply.',
  ];
  const known = new Set();
  for (const [letter, { title, cases }] of Object.entries(sections)) {
    lines.push('', `## ${letter}. ${title}`, '', '| case | what holds | shown by |', '|---|---|---|');
    for (const [number, { what, by = [], cannot }] of Object.entries(cases)) {
      known.add(number);
      const tests = [...(named.get(number) ?? []), ...by.map((pointer) => pointed(number, pointer))];
      if (tests.length === 0 && !cannot) problems.push(`${number} has neither a test that names it nor a reason why it cannot apply`);
      if (tests.length > 0 && cannot) problems.push(`${number} has a test, and a reason why it could have none: drop one`);
      lines.push(`| ${number} | ${escaped(what)} | ${cannot ? escaped(cannot) : tests.map(shown).join('<br>')} |`);
    }
  }
  for (const [number, tests] of named)
    if (!known.has(number)) problems.push(`${number} is no case of ${NOTES}, but named by ${tests.map(({ path }) => path).join(', ')}`);
  return `${lines.join('\n')}\n`;
}

const check = process.argv.includes('--check');
const text = page();
let old = '';
try {
  old = read(PAGE);
} catch {
  // not there yet
}
if (old !== text && check) problems.push(`${PAGE} is stale: run npm run docs and commit what it writes`);
if (old !== text && !check) {
  writeFileSync(join(root, PAGE), text);
  console.log(`wrote ${PAGE}`);
}
for (const problem of problems) console.log(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
