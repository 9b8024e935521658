/** Options: defaults, ranges, refusals. */
import { SHARE_ENV } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { QUEUE_ELSEWHERE } from '../../../src/base/elsewhere.ts';
import { parallelism, type QueueOptions, readQueueOptions } from '#base';

const MODULE = new URL('./hooks.js', import.meta.url); // never loaded here

function refusal(read: () => unknown): { name: string; code: string; message: string } {
  try {
    read();
  } catch (error) {
    const { name, code, message } = error as Error & { code: string };
    return { name, code, message };
  }
  throw new Error('nothing was thrown');
}

const refused = (options: unknown) => refusal(() => readQueueOptions(options as QueueOptions));

describe('the options of a queue', () => {
  it('have the documented defaults, also where they are undefined', () => {
    const defaults = {
      concurrency: 8,
      maxBatchSize: 8,
      maxIdleMs: 5_000,
      maxJobs: 0,
      maxHeapMb: 0,
      maxPending: 0,
      backlogMax: 65_536,
      stopTimeoutMs: 30_000,
      graceMs: 1_000,
      tasksPerWorker: 1,
      spinUs: undefined,
      spares: 1,
      parallelism: parallelism(),
      maxPayloadBytes: 512 * 1024 * 1024,
      maxResultBytes: 512 * 1024 * 1024,
      allowFunctions: true,
      timeoutMs: 0,
      hooks: undefined,
      codec: undefined,
      onError: undefined,
      native: true,
      name: undefined,
      env: undefined,
      argv: undefined,
      execArgv: undefined,
      workerData: undefined,
      resourceLimits: undefined,
      workerEntry: undefined,
      tagOutput: false,
    };
    expect(readQueueOptions(undefined)).toStrictEqual(defaults);
    expect(readQueueOptions({})).toStrictEqual(defaults);
    expect(readQueueOptions(Object.fromEntries(Object.keys(defaults).map((name) => [name, undefined])))).toStrictEqual(defaults);
    expect(readQueueOptions(8)).toStrictEqual(defaults);
    expect(readQueueOptions(1)).toStrictEqual({ ...defaults, concurrency: 1 });
  });

  it.each<QueueOptions>([
    { concurrency: 1 },
    { concurrency: 1024, spares: 1024 },
    { maxBatchSize: 1 },
    { maxBatchSize: 255 },
    { maxIdleMs: 0 },
    { maxIdleMs: 0.5 },
    { maxIdleMs: Infinity },
    { maxIdleMs: 2 ** 40 },
    { stopTimeoutMs: 2 ** 31, graceMs: 0, timeoutMs: 2 ** 33 },
    { maxJobs: 1, maxHeapMb: 64.5, maxPending: 1_000_000, backlogMax: 1 },
    { tasksPerWorker: 'auto' },
    { tasksPerWorker: 64 },
    { spinUs: 0, spares: 0, parallelism: 1 },
    { spinUs: 1000, parallelism: 5000 },
    { maxPayloadBytes: 1, maxResultBytes: 2 ** 33 },
    { hooks: MODULE, codec: MODULE, workerEntry: MODULE, onError: () => {}, native: false, allowFunctions: false },
    {
      name: '',
      env: {},
      argv: [1, 'a'],
      execArgv: ['--no-warnings'],
      workerData: null,
      resourceLimits: { stackSizeMb: 4 },
      tagOutput: true,
    },
    { env: SHARE_ENV },
    { resourceLimits: {} },
  ])('are taken as given: %o', (options) => {
    expect(readQueueOptions(options)).toMatchObject(options);
  });

  it.each<[unknown, 'TypeError' | 'RangeError', string]>([
    [0, 'RangeError', 'Expected `concurrency` to be an integer from 1 to 1024, got `0` (number)'],
    [Number.NaN, 'RangeError', 'Expected `concurrency` to be an integer from 1 to 1024, got `NaN` (number)'],
    [{ concurrency: 1025 }, 'RangeError', 'Expected `concurrency` to be an integer from 1 to 1024, got `1025` (number)'],
    [{ concurrency: 1.5 }, 'RangeError', 'Expected `concurrency` to be an integer from 1 to 1024, got `1.5` (number)'],
    [{ concurrency: '8' }, 'TypeError', 'Expected `concurrency` to be an integer from 1 to 1024, got `"8"` (string)'],
    [{ concurrency: null }, 'TypeError', 'Expected `concurrency` to be an integer from 1 to 1024, got `null` (null)'],
    [{ concurrency: 8n }, 'TypeError', 'Expected `concurrency` to be an integer from 1 to 1024, got `8n` (bigint)'],
    [{ maxBatchSize: 0 }, 'RangeError', 'Expected `maxBatchSize` to be an integer from 1 to 255, got `0` (number)'],
    [{ maxBatchSize: 256 }, 'RangeError', 'Expected `maxBatchSize` to be an integer from 1 to 255, got `256` (number)'],
    [{ maxIdleMs: -1 }, 'RangeError', 'Expected `maxIdleMs` to be a number of ms from 0, or Infinity, got `-1` (number)'],
    [{ maxIdleMs: Number.NaN }, 'RangeError', 'Expected `maxIdleMs` to be a number of ms from 0, or Infinity, got `NaN` (number)'],
    [{ maxIdleMs: -Infinity }, 'RangeError', 'Expected `maxIdleMs` to be a number of ms from 0, or Infinity, got `-Infinity` (number)'],
    [
      { maxIdleMs: new Date(0) },
      'TypeError',
      'Expected `maxIdleMs` to be a number of ms from 0, or Infinity, got `an instance of Date` (object)',
    ],
    [{ stopTimeoutMs: Infinity }, 'RangeError', 'Expected `stopTimeoutMs` to be a number of ms from 0, got `Infinity` (number)'],
    [{ graceMs: -0.1 }, 'RangeError', 'Expected `graceMs` to be a number of ms from 0, got `-0.1` (number)'],
    [{ maxJobs: 1.5 }, 'RangeError', 'Expected `maxJobs` to be an integer from 0, got `1.5` (number)'],
    [{ maxPending: -1 }, 'RangeError', 'Expected `maxPending` to be an integer from 0, got `-1` (number)'],
    [{ backlogMax: 0 }, 'RangeError', 'Expected `backlogMax` to be an integer from 1, got `0` (number)'],
    [{ tasksPerWorker: 65 }, 'RangeError', 'Expected `tasksPerWorker` to be an integer from 1 to 64, or "auto", got `65` (number)'],
    [{ tasksPerWorker: 'many' }, 'TypeError', 'Expected `tasksPerWorker` to be an integer from 1 to 64, or "auto", got `"many"` (string)'],
    [{ spinUs: 1001 }, 'RangeError', 'Expected `spinUs` to be a number of µs from 0 to 1000, got `1001` (number)'],
    [{ concurrency: 2, spares: 3 }, 'RangeError', 'Expected `spares` to be an integer from 0 to 2, got `3` (number)'],
    [{ spares: 9 }, 'RangeError', 'Expected `spares` to be an integer from 0 to 8, got `9` (number)'],
    [{ parallelism: 0 }, 'RangeError', 'Expected `parallelism` to be an integer from 1, got `0` (number)'],
    [{ maxPayloadBytes: 2 ** 60 }, 'RangeError', 'Expected `maxPayloadBytes` to be an integer from 1, got `1152921504606847000` (number)'],
    [{ allowFunctions: 1 }, 'TypeError', 'Expected `allowFunctions` to be a boolean, got `1` (number)'],
    [{ hooks: './hooks.js' }, 'TypeError', 'Expected `hooks` to be a URL instance with the scheme `file:`, got `"./hooks.js"` (string)'],
    [
      { codec: new URL('data:text/javascript,1') },
      'RangeError',
      'Expected `codec` to be a URL instance with the scheme `file:`, got `data:text/javascript,1` (object)',
    ],
    [{ onError: {} }, 'TypeError', 'Expected `onError` to be a function, got `{}` (object)'],
    [{ name: 5 }, 'TypeError', 'Expected `name` to be a string, got `5` (number)'],
    [{ env: 'A=1' }, 'TypeError', 'Expected `env` to be an object or `SHARE_ENV`, got `"A=1"` (string)'],
    [{ env: Symbol('other') }, 'TypeError', 'Expected `env` to be an object or `SHARE_ENV`, got `Symbol(other)` (symbol)'],
    [{ argv: 'a' }, 'TypeError', 'Expected `argv` to be an array, got `"a"` (string)'],
    [{ execArgv: [1] }, 'TypeError', 'Expected `execArgv` to be an array of strings, got `[1]` (array)'],
    [
      { resourceLimits: { stackSizeMb: '4' } },
      'TypeError',
      'Expected `resourceLimits` to be an object of numbers, got `{ stackSizeMb: "4" }` (object)',
    ],
    [null, 'TypeError', 'Expected `options` to be a number or an object, got `null` (null)'],
    ['8', 'TypeError', 'Expected `options` to be a number or an object, got `"8"` (string)'],
    [[8], 'TypeError', 'Expected `options` to be a number or an object, got `[8]` (array)'],
    [() => 8, 'TypeError', 'Expected `options` to be a number or an object, got `a function` (function)'],
  ])('are refused with what was expected and what was given: %o', (options, name, message) => {
    expect(refused(options)).toEqual({ name, message, code: name === 'TypeError' ? 'ERR_INVALID_ARG_TYPE' : 'ERR_OUT_OF_RANGE' });
  });

  it('name the nearest known option where an unknown one is near', () => {
    for (const [slip, near] of [
      ['concurency', 'concurrency'],
      ['maxidlems', 'maxIdleMs'],
      ['maxBatchsize', 'maxBatchSize'],
      ['onErorr', 'onError'],
      ['spare', 'spares'],
    ]) {
      const { name, code, message } = refused({ [slip as string]: 1 });
      expect([name, code]).toEqual(['TypeError', 'ERR_INVALID_ARG_TYPE']);
      expect(message).toBe(`Expected \`options\` to hold known options only, got \`"${slip}"\` (string); did you mean \`${near}\`?`);
    }
    expect(refused({ colour: 4 }).message).toMatch(/got `"colour"` \(string\); the known ones are `concurrency`, /);
    expect(refused({ on: 4 }).message).toContain('the known ones are'); // two edits from `env`, which is most of it
    expect(refused({ unknown: undefined }).name).toBe('TypeError');
    expect(refused({ ['x'.repeat(1e6)]: 1 }).message.length).toBeLessThan(1000);
  });

  it.each([
    ['maxThreads', 'did you mean `concurrency`?'],
    ['maxWorkers', 'did you mean `concurrency`?'],
    ['workers', 'did you mean `concurrency`?'],
    ['minThreads', 'workers are started as work needs them; `await queue.warm(n)` starts some beforehand'],
    ['minWorkers', 'workers are started as work needs them; `await queue.warm(n)` starts some beforehand'],
    [
      'filename',
      'the module goes to each call instead, as in `queue.run(new URL("./x.js", import.meta.url), value)`, or to `new Task(url, options)`',
    ],
    ['idleTimeout', 'did you mean `maxIdleMs`?'],
    ['maxQueue', 'did you mean `maxPending`?'],
    ['maxQueueSize', 'did you mean `maxPending`?'],
    ['concurrentTasksPerWorker', 'did you mean `tasksPerWorker`?'],
    ['timeout', 'did you mean `timeoutMs`?'],
    ['closeTimeout', 'did you mean `stopTimeoutMs`?'],
    ['workerThreadOpts', 'what it holds is given here directly'],
    ['queueOptions', 'what it holds is given here directly'],
    ['abortSignal', 'it is given to each call instead, as in `queue.run(handler, value, options)`'],
    ['transferList', 'it is given to each call instead, as in `queue.run(handler, value, options)`'],
    ['resourceLimit', 'did you mean `resourceLimits`?'],
  ])('answer what other pools call them: %s', (name, hint) => {
    expect(refused({ [name]: 1 }).message).toBe(`Expected \`options\` to hold known options only, got \`"${name}"\` (string); ${hint}`);
  });

  it('point to an option that there is, wherever they answer with a name', () => {
    const known = Object.keys(readQueueOptions(undefined));
    for (const [name, answer] of Object.entries(QUEUE_ELSEWHERE)) {
      if (!answer.includes(' ')) expect(known, name).toContain(answer);
      expect(known, 'a name of ours needs no answer').not.toContain(name);
    }
  });

  it('know the names in `resourceLimits`', () => {
    expect(refused({ resourceLimits: { maxOldGenerationSizeMB: 64 } }).message).toBe(
      'Expected `resourceLimits` to hold known options only, got `"maxOldGenerationSizeMB"` (string); did you mean `maxOldGenerationSizeMb`?',
    );
    expect(refused({ resourceLimits: { heap: 64 } }).message).toMatch(/the known ones are `maxOldGenerationSizeMb`, /);
  });

  it('never come from a polluted prototype, and never pollute one', () => {
    const prototype = Object.prototype as { concurrency?: number };
    prototype.concurrency = 3;
    try {
      expect(readQueueOptions({}).concurrency).toBe(8);
      expect(readQueueOptions({ concurrency: 4 }).concurrency).toBe(4);
    } finally {
      delete prototype.concurrency;
    }
    expect(refused(JSON.parse('{"__proto__":{"concurrency":2}}')).message).toMatch(/`"__proto__"`/);
    expect(refused({ constructor: 1 }).name).toBe('TypeError');
    expect(readQueueOptions(Object.assign(Object.create(null) as QueueOptions, { concurrency: 2 })).concurrency).toBe(2);
  });

  it('may be inherited from a class, are read once, and are frozen apart from their source', () => {
    let reads = 0;
    class Config {
      get concurrency(): number {
        return ++reads;
      }
    }
    expect(readQueueOptions(new Config()).concurrency).toBe(1);
    expect(reads).toBe(1);
    const source = { concurrency: 2 };
    const options = readQueueOptions(source);
    source.concurrency = 5;
    expect(options.concurrency).toBe(2);
    expect(Object.isFrozen(options)).toBe(true);
    expect(() => readQueueOptions(Object.freeze({ concurrency: 2 }))).not.toThrow();
  });

  it('pass on what a getter throws', () => {
    const options = Object.defineProperty({}, 'concurrency', {
      enumerable: true,
      get: () => {
        throw new Error('mine');
      },
    });
    expect(() => readQueueOptions(options)).toThrow('mine');
  });
});
