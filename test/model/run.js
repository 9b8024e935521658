/**
 * The model tests' command line. Main thread of a process of its own; the product's threads are coroutines in it.
 *
 *   node --conditions=model test/model/run.js                      all protocols, then their planted faults
 *   … park lane                                                    some protocols: test/model/<name>.model.js
 *   … --bound 3 --seconds 600                                      more preemptions, more time for each protocol
 *   … --pct 100000 [--depth 3] [--seed 1]                          random priorities instead of a search
 *   … --faults | --no-faults                                       planted faults only, or none
 *   … park --replay 1.2.a3b1a2 [--fault name]                      one schedule, step by step: litmus 1, start sequence 2
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = fileURLToPath(new URL('./', import.meta.url));
if (!existsSync(join(here, '../../dist/memory/atomics.model.js'))) {
  console.log('The package is not built: run npm run build first.\n0 passed, 1 failed');
  process.exit(1);
}
const { SORTS } = await import('./explorer/proof.js');
const { runFaults, runLitmuses, runReplay } = await import('./explorer/runner.js');

const number = { type: 'string' };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    bound: number,
    pct: number,
    depth: number,
    seed: number,
    seconds: number,
    replay: { type: 'string' },
    fault: { type: 'string' },
    faults: { type: 'boolean' },
    'no-faults': { type: 'boolean' },
    points: { type: 'string' },
    dir: { type: 'string' },
  },
});
const given = (name) => (values[name] === undefined ? undefined : Number(values[name]));
const options = {
  bound: given('bound'),
  pct: given('pct'),
  depth: given('depth'),
  seed: given('seed'),
  seconds: given('seconds') ?? 60,
  points: values.points,
};
const dir = values.dir ? resolve(values.dir) : here;
const SUFFIX = '.model.js';
const names =
  positionals.length > 0
    ? positionals
    : readdirSync(dir)
        .filter((name) => name.endsWith(SUFFIX))
        .map((name) => name.slice(0, -SUFFIX.length));
const protocols = names.sort().map((name) => ({ name, file: join(dir, name + SUFFIX) }));
for (const { name, file } of protocols) {
  if (existsSync(file)) continue;
  console.log(`There is no protocol ${name}: ${file} does not exist.\n0 passed, 1 failed`);
  process.exit(1);
}

if (values.replay !== undefined) {
  process.exitCode = (await runReplay(protocols[0], values.replay, values.fault, options, console.log)) ? 0 : 1;
} else {
  const total = { passed: 0, failed: 0, sorts: [] };
  for (const protocol of protocols) {
    console.log(`\n${protocol.name}`);
    try {
      if (!values.faults) add(total, await runLitmuses(protocol, options, console.log));
      if (!values['no-faults'] && !options.pct) add(total, await runFaults(protocol, options, console.log));
    } catch (error) {
      console.log(`FAIL ${protocol.name} could not be run: ${error.stack}`);
      total.failed++;
    }
  }
  const count = (sort) => total.sorts.filter((other) => other === sort).length;
  if (total.sorts.length > 0) console.log(`\nplanted faults: ${SORTS.map((sort) => `${count(sort)} in the ${sort}`).join(', ')}`);
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
  process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
}

function add(total, { passed, failed, sorts = [] }) {
  total.passed += passed;
  total.failed += failed;
  total.sorts.push(...sorts);
}
