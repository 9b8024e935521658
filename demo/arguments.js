/** Reads the command line of the demo. A mistake is thrown as a `Mistake`: one sentence for stderr, exit status 2. */
import { realpathSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

export class Mistake extends Error {}

export const USAGE = `Usage: npm run demo -- [folder] [--concurrency n] [--json file]
  folder           whose files are measured (default: this checkout's node_modules)
  --concurrency n  most worker threads, 1 to 1024 (default: the processors)
  --json file      also write each file's figures there, one JSON object a line`;

export function readArguments(args) {
  const { values, positionals } = parse(args);
  if (values.help) return { help: true };
  if (positionals.length > 1) throw new Mistake(`Expected one folder, got ${positionals.length}: \`${positionals.join('`, `')}\`.`);
  return {
    folder: existingFolder(positionals[0] ?? fileURLToPath(new URL('../node_modules', import.meta.url))),
    concurrency: values.concurrency === undefined ? availableParallelism() : wholeNumber(values.concurrency),
    json: values.json === undefined ? undefined : writable(values.json),
  };
}

function parse(args) {
  const options = { concurrency: { type: 'string' }, json: { type: 'string' }, help: { type: 'boolean' } };
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new Mistake(error.message.split(/\.\s/)[0].replace(/\.?$/, '.'));
  }
}

function wholeNumber(text) {
  const n = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (n >= 1 && n <= 1024) return n;
  throw new Mistake(`Expected \`--concurrency\` to be an integer from 1 to 1024, got \`${text}\`.`);
}

function existingFolder(path) {
  let stat;
  try {
    stat = statSync(path);
  } catch (error) {
    const why = error.code === 'ENOENT' ? 'does not exist' : `cannot be opened (${error.code})`;
    throw new Mistake(`The folder \`${path}\` ${why}.`);
  }
  if (!stat.isDirectory()) throw new Mistake(`Expected a folder, but \`${path}\` is not one.`);
  return realpathSync(path);
}

/** Found out now, not after the work. */
function writable(path) {
  try {
    writeFileSync(path, '');
    return path;
  } catch (error) {
    throw new Mistake(`The file \`${path}\` cannot be written (${error.code}).`);
  }
}
