/** The demo, as its user meets it: a child process on a small folder. No timing is checked. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';

const DEMO = fileURLToPath(new URL('../../../demo/run.js', import.meta.url));
const TEXT = 'the same line again and again\n'.repeat(400);
const brotli = (content: Buffer) => brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'railhead-demo-'));
  folder = join(root, 'files');
  mkdirSync(folder);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function start(args: string[]): { child: ChildProcess; ended: Promise<{ status: number | null; out: string; err: string }> } {
  const child = spawn(process.execPath, [DEMO, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const text = { out: '', err: '' };
  child.stdout?.on('data', (chunk) => (text.out += chunk));
  child.stderr?.on('data', (chunk) => (text.err += chunk));
  const ended = new Promise<{ status: number | null; out: string; err: string }>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, ...text }));
  });
  return { child, ended };
}
const demo = (...args: string[]) => start(args).ended;

test('every file is measured, and the figures are those of node:crypto and node:zlib', async () => {
  writeFileSync(join(folder, 'empty.txt'), '');
  writeFileSync(join(folder, 'zeros.bin'), Buffer.alloc(4096));
  writeFileSync(join(folder, 'text.txt'), TEXT);
  mkdirSync(join(folder, 'deep', 'er'), { recursive: true });
  for (let i = 0; i < 40; i++) writeFileSync(join(folder, 'deep', 'er', `${i}.txt`), `file ${i}\n`.repeat(i));
  const json = join(root, 'figures.jsonl');

  const { status, out, err } = await demo(folder, '--concurrency', '2', '--json', json);
  expect(err).not.toContain('Error');
  expect(status).toBe(0);
  expect(out).toContain('43 files');
  expect(out).toMatch(/speed-up +\d+\.\d\d×/);
  expect(out).toMatch(/event loop p99, work on the queue +\d/);
  expect(out).toMatch(/event loop p99, work on main +\d/);
  expect(out).toContain('zeros.bin');
  expect(out).not.toContain('empty.txt');
  expect(err).toMatch(/2 workers 100 %: 43 of 43 files/);

  type Figures = { path: string; bytes: number; sha256: string; gzip: number; brotli: number; entropy: number };
  const figures: Figures[] = readFileSync(json, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(new Set(figures.map(({ path }) => path)).size).toBe(43);
  for (const { path, bytes, sha256, gzip, brotli: brotliBytes } of figures) {
    const content = readFileSync(path);
    expect({ bytes, sha256, gzip, brotliBytes }).toEqual({
      bytes: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
      gzip: gzipSync(content).length,
      brotliBytes: brotli(content).length,
    });
  }
  expect(figures.find(({ path }) => path.endsWith('zeros.bin'))?.entropy).toBe(0);
});

test('links, pipes and loops: each real file is taken once, nothing hangs', async () => {
  writeFileSync(join(folder, 'one.txt'), TEXT);
  linkSync(join(folder, 'one.txt'), join(folder, 'one-again.txt'));
  symlinkSync(join(folder, 'one.txt'), join(folder, 'link.txt'));
  symlinkSync(join(folder, 'gone.txt'), join(folder, 'dangling.txt'));
  symlinkSync(folder, join(folder, 'loop'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);

  const { status, out } = await demo(folder, '--concurrency', '1');
  expect(status).toBe(0);
  expect(out).toContain('1 file,');
  expect(out).not.toContain('Could not be read');
});

test('an unreadable file is listed with its reason and the rest is done', async () => {
  writeFileSync(join(folder, 'good.txt'), TEXT);
  writeFileSync(join(folder, 'huge.bin'), '');
  truncateSync(join(folder, 'huge.bin'), 3 * 2 ** 30); // sparse: takes no disk, and even root gets a refusal

  const { status, out } = await demo(folder, '--concurrency', '2');
  expect(status).toBe(0);
  expect(out).toMatch(/Could not be read \(1\):\n +huge\.bin +larger than 2 GiB/);
  expect(out).toMatch(/files measured +1 file,/);
});

test('a file that has gone, or become a pipe, since the folder was listed is refused', async () => {
  const { default: measure } = await import(new URL('../../../demo/measure.js', import.meta.url).href);
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  expect(() => measure(join(folder, 'pipe'))).toThrow('not a regular file any more');
  expect(() => measure(join(folder, 'gone'))).toThrow('ENOENT');
});

test('an empty folder says so', async () => {
  const { status, out } = await demo(folder);
  expect(status).toBe(0);
  expect(out).toContain('No regular files here: nothing to do.');
});

test.each([
  [['/no/such/folder'], 'The folder `/no/such/folder` does not exist.'],
  [[DEMO], `Expected a folder, but \`${DEMO}\` is not one.`],
  [['--concurrency', '0'], 'Expected `--concurrency` to be an integer from 1 to 1024, got `0`.'],
  [['--concurrency', 'abc'], 'Expected `--concurrency` to be an integer from 1 to 1024, got `abc`.'],
  [['--concurrency', '1.5'], 'Expected `--concurrency` to be an integer from 1 to 1024, got `1.5`.'],
  [['--concurrency', ''], 'Expected `--concurrency` to be an integer from 1 to 1024, got ``.'],
  [['--bogus'], "Unknown option '--bogus'."],
  [['a', 'b'], 'Expected one folder, got 2: `a`, `b`.'],
  [['--json', '/no/such/folder/x'], 'The file `/no/such/folder/x` cannot be written (ENOENT).'],
])('a mistake is one sentence and status 2: %j', async (args, sentence) => {
  expect(await demo(...args)).toEqual({ status: 2, out: '', err: `${sentence}\n` });
});

test('Ctrl-C stops cleanly', async () => {
  // Seconds of work at the least, though the signal comes at the first progress: a loaded machine may deliver it late.
  for (let i = 0; i < 900; i++) {
    writeFileSync(join(folder, `${i}.txt`), '');
    truncateSync(join(folder, `${i}.txt`), 2 * 1024 * 1024); // holes: they take no room
  }
  const { child, ended } = start([folder, '--concurrency', '2']);
  await new Promise<void>((resolve) => child.stderr?.once('data', () => resolve())); // the first line of progress
  child.kill('SIGINT');
  const { status, out, err } = await ended;
  expect(out).toMatch(/Interrupted: \d+ of 900 files measured\./);
  expect(status).toBe(130);
  expect(err).not.toContain('Error');
});
