/** What a worker inherits of the flags that the program was started with. Each test is a node process of its own, started as a user would. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectFolder, runNode } from '../support/index.ts';

/** What follows `import` or `require`: a task, and what the worker that ran it had been started with. */
const USE = `
const queue = new TaskQueue({ concurrency: 2, ...globalThis.more });
queue.run((n) => [n + 1, ...process.execArgv].join('|'), 41)
  .then((seen) => console.log('SEEN <' + seen + '>'), (error) => { console.log(error); process.exitCode = 1; })
  .finally(() => queue.stop());
`;
const ESM = `import { TaskQueue } from 'railhead';${USE}`;
const CJS = `const { TaskQueue } = require('railhead');${USE}`;

let project: Awaited<ReturnType<typeof projectFolder>>;
beforeAll(async () => {
  project = await projectFolder({
    'esm.mjs': ESM,
    'common.cjs': CJS,
    'a.test.mjs': ESM,
    'watched.mjs': `${ESM}\nawait queue.idle(); setImmediate(() => process.kill(process.ppid));`,
    'pre.mjs': "import { isMainThread } from 'node:worker_threads';\nconsole.log(isMainThread ? 'PRE main' : 'PRE worker');",
    'child.cjs': 'process.send(process.execArgv);',
  });
});
afterAll(() => project.remove());

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What the task returned. */
  readonly seen: string | undefined;
}
async function node(args: readonly string[], more: { input?: string; NODE_OPTIONS?: string } = {}): Promise<Run> {
  const { input, ...env } = more;
  const { code, stdout, stderr } = await runNode(args, { cwd: project.path, env, ...(input === undefined ? {} : { input }) });
  return { code, stdout, stderr, seen: /SEEN <(.*)>/.exec(stdout)?.[1] };
}

describe('flags of the main script alone do not reach a worker', () => {
  test.each<[string, readonly string[], string?]>([
    ['-e as an ES module', ['--input-type=module', '-e', ESM]],
    ['-e as an ES module, the type an argument of its own', ['--input-type', 'module', '--eval', ESM]],
    ['-e as an ES module, the type with an underscore', ['--input_type=module', `--eval=${ESM}`]],
    ['-e as CommonJS', ['-e', CJS]],
    ['-p', ['-p', CJS]],
    ['-pe', ['-pe', CJS]],
    ['an ES module from stdin', ['--input-type=module', '-'], ESM],
    ['an ES module from stdin, unnamed', ['--input-type=module'], ESM],
    ['CommonJS from stdin', ['-'], CJS],
  ])('%s', async (_what, args, input = '') => {
    expect(await node(args, { input })).toMatchObject({ code: 0, stderr: '', seen: '42' });
  });

  test.each(['--input-type=module', '--no-warnings "--input_type" module'])('nor does NODE_OPTIONS=%s', async (NODE_OPTIONS) => {
    expect(await node(['-e', ESM], { NODE_OPTIONS })).toMatchObject({ code: 0, stderr: '', seen: '42|--input-type|' });
    expect(await node(['common.cjs'], { NODE_OPTIONS })).toMatchObject({ code: 0, stderr: '', seen: '42|--input-type|' });
    const withEnv = CJS.replace('...globalThis.more', 'env: { ...process.env }');
    const text = `import { createRequire } from 'node:module';\nconst require = createRequire(process.cwd() + '/');\n${withEnv}`;
    expect(await node(['-e', text], { NODE_OPTIONS })).toMatchObject({ code: 0, stderr: '', seen: '42|--input-type|' });
  });

  test('so what a handler forks does not run the program again', async () => {
    const forks = async (file: string): Promise<unknown> => {
      const { fork } = process.getBuiltinModule('node:child_process');
      return await new Promise((resolve) => fork(file).on('message', resolve));
    };
    const code = `
      const { TaskQueue } = require('railhead');
      const queue = new TaskQueue(1);
      console.log('MAIN');
      queue.run(${forks}, require('node:path').resolve('child.cjs')).then((seen) => console.log(JSON.stringify(seen))).finally(() => queue.stop());`;
    expect(await node(['-e', code])).toMatchObject({ code: 0, stdout: 'MAIN\n[]\n', stderr: '' });
  });

  test('nor a queue inside a worker, a thread of the program’s own or of ours', async () => {
    const inner = `
      const { TaskQueue } = process.getBuiltinModule('node:module').createRequire(process.cwd() + '/')('railhead');
      const inner = new TaskQueue(1);
      const seen = await inner.run((n) => n + 1, 41);
      await inner.stop();`;
    const ours = `
      import { TaskQueue } from 'railhead';
      const queue = new TaskQueue(1);
      console.log('SEEN <' + await queue.run(async () => {${inner} return seen; }) + '>');
      await queue.stop();`;
    expect(await node(['--input-type=module', '-e', ours])).toMatchObject({ code: 0, stderr: '', seen: '42' });
    const text = JSON.stringify(`(async () => {${inner} console.log('SEEN <' + seen + '>'); })()`);
    const theirs = `import { Worker } from 'node:worker_threads'; new Worker(${text}, { eval: true });`;
    expect(await node(['--input-type=module', '-e', theirs])).toMatchObject({ code: 0, stderr: '', seen: '42' });
  });
});

describe('the others do', () => {
  test.each<[string, readonly string[]]>([
    ['--conditions', ['--conditions=some']],
    ['-C with its value as an argument', ['-C', 'some']],
    ['--inspect=0', ['--inspect=0']],
    ['--max-old-space-size', ['--max-old-space-size=300']],
    ['--test-only', ['--test-only']],
  ])('%s, as they stand where nothing has to go', async (_what, flags) => {
    expect(await node([...flags, 'esm.mjs'])).toMatchObject({ code: 0, seen: ['42', ...flags].join('|') });
  });

  test('where something has to go, all that Node takes for one thread stay, and what is the whole process’s holds anyway', async () => {
    const gc = CJS.replace('(n) => [', "(n) => [typeof gc === 'function', ");
    const flags = ['--expose-gc', '-C', 'some', '--max-old-space-size=300', '--stack-trace-limit=7', '--no-warnings'];
    expect(await node([...flags, '-e', gc])).toMatchObject({ code: 0, stderr: '', seen: 'true|42|-C|some|--no-warnings' });
  });

  test('--import and --require are loaded in each thread, with -e too', async () => {
    const data = `data:text/javascript,${encodeURIComponent("console.log('DATA')")}`;
    for (const script of [['esm.mjs'], ['--input-type=module', '-e', ESM]]) {
      const file = await node(['--import', './pre.mjs', ...script]);
      expect(file).toMatchObject({ code: 0, stderr: '', seen: '42|--import|./pre.mjs' });
      expect(file.stdout).toMatch(/PRE main\n(?:.*\n)*PRE worker/);
      const text = await node([`--import=${data}`, ...script]);
      expect(text).toMatchObject({ code: 0, stderr: '', seen: `42|--import=${data}` });
      expect(text.stdout.match(/^DATA$/gm)).toHaveLength(2);
    }
  });

  test('--test and --watch run a program that uses a queue', async () => {
    const tested = await node(['--test', 'a.test.mjs']);
    expect(tested.code, tested.stdout).toBe(0);
    expect(tested.stdout).toMatch(/SEEN <42/);
    expect((await node(['--watch', 'watched.mjs'])).stdout).toMatch(/SEEN <42/);
  });

  test('an `execArgv` of the user’s own is passed on as it is', async () => {
    const given = CJS.replace('...globalThis.more', "execArgv: ['-C', 'mine']");
    expect(await node(['--no-warnings', '-e', given])).toMatchObject({ code: 0, seen: '42|-C|mine' });
    const wrong = CJS.replace('...globalThis.more', "execArgv: ['--input-type=module']");
    const refused = await node(['-e', wrong]);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain('--input-type can only be used with string input');
  });
});
