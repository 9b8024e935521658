/**
 * Railhead beside its peers: `node bench/run.js [scenario…] [--rounds n] [--only a,b]`. Parent process; it measures nothing
 * itself. Every contender has its own process, and they take turns: A B C A B C. See README.md.
 *
 *   for each scenario: sittings of 3 rounds -> in each, all contenders are started and warmed, then go round by round
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Contender } from './contender.js';
import { commit, machine, versions } from './machine.js';
import { CONTENDERS, load, PAGES } from './scenarios/index.js';
import { sentence, summarize, table } from './summary.js';

const WORKERS = 2;
/** New processes after so many rounds: some of the spread is between processes (layout, what the JIT chose), not within one. */
const ROUNDS_PER_SITTING = 3;
/** Fewer are printed but not stored. */
const ROUNDS_TO_PUBLISH = 9;
const KNOWN = [...new Set(Object.values(PAGES).flat())];
const USAGE = `Usage: npm run bench -- [scenario…] [--rounds n] [--only contender,…]
  scenarios   ${KNOWN.join(' ')} (default: all)
  contenders  ${CONTENDERS.join(' ')}
  --rounds n  rounds a contender (default ${ROUNDS_TO_PUBLISH}; fewer are not stored)`;

async function main() {
  const { names, page, rounds, contenders } = readArguments();
  const result = {
    page,
    command: `npm run bench -- ${process.argv.slice(2).join(' ')}`.trim(),
    started: new Date().toISOString(),
    workers: WORKERS,
    rounds,
    machine: machine(),
    versions: versions(['piscina', 'tinypool', 'workerpool', 'poolifier']),
    commit: commit(),
    scenarios: [],
  };
  const { processors, cpu, loadAverage } = result.machine;
  console.log(
    `Node ${process.versions.node}, ${processors} × ${cpu}, load ${loadAverage}, ${WORKERS} workers, medians of ${rounds} rounds`,
  );
  if (loadAverage > 0.3) console.log(`The machine is not quiet (load ${loadAverage}): expect wider spreads.`);

  for (const name of names) {
    const summary = await measure(await load(name), contenders, rounds);
    result.scenarios.push(summary);
    console.log(table(summary));
  }
  console.log(`\nTargets:\n${targetLines(result.scenarios).join('\n')}`);
  console.log(store(result));
  if (result.scenarios.some(({ failed }) => failed.railhead !== undefined)) process.exitCode = 1; // missing a target is no failure; this is
}

/** All rounds of one scenario. A contender that fails is out of this scenario, and the table says so. */
async function measure(scenario, contenders, rounds) {
  const figures = Object.fromEntries(contenders.map((name) => [name, []]));
  const notes = Object.fromEntries(contenders.map((name) => [name, []]));
  const failed = {};
  let idleShare = {};
  const perSitting = scenario.fresh ? 1 : ROUNDS_PER_SITTING;
  for (let first = 0; first < rounds; first += perSitting) {
    const sitting = [];
    const turn = async (name, act) => {
      if (failed[name] !== undefined) return;
      try {
        await act();
      } catch (error) {
        failed[name] = error.message;
        figures[name] = [];
      }
    };
    for (const name of contenders) {
      await turn(name, async () => {
        const contender = new Contender(scenario.name, name, WORKERS);
        sitting.push(contender);
        await contender.ready();
        if (!scenario.fresh) notes[name].push(await contender.ask('warm'));
      });
    }
    for (let round = first; round < Math.min(rounds, first + perSitting); round++) {
      process.stderr.write(`${scenario.name}: round ${round + 1} of ${rounds}\n`);
      for (let block = 0; block < (scenario.blocks ?? 1); block++) {
        for (const contender of sitting) {
          await turn(contender.name, async () => {
            if (scenario.fresh) await contender.ask('warm');
            await contender.ask('part');
          });
          if (scenario.fresh && failed[contender.name] === undefined) await collect(contender);
          if (scenario.fresh) await contender.end({ close: false }); // its memory is free before the next one's turn
        }
      }
      if (!scenario.fresh) for (const contender of sitting) await turn(contender.name, () => collect(contender));
    }
    for (const contender of sitting) await contender.end({ close: true });
  }
  return { ...summarize(scenario, figures), notes, idleShare, failed };

  async function collect(contender) {
    const { figures: round, idleShare: share } = await contender.ask('sum');
    figures[contender.name].push(round);
    idleShare = { ...idleShare, [contender.name]: Math.max(share, idleShare[contender.name] ?? 0) };
  }
}

function targetLines(scenarios) {
  const lines = scenarios.flatMap(({ name, figures }) =>
    Object.values(figures).flatMap(({ unit, targets }) => targets.map((target) => `  ${name.padEnd(13)} ${sentence(target, unit)}`)),
  );
  return lines.length > 0 ? lines : ['  none for these scenarios'];
}

function store(result) {
  if (result.rounds < ROUNDS_TO_PUBLISH) return `Not stored: fewer than ${ROUNDS_TO_PUBLISH} rounds.`;
  const folder = new URL('./results/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  const at = result.started.slice(0, 16).replace('T', '-').replace(':', '');
  const path = fileURLToPath(new URL(`${at}-${result.page}.json`, folder));
  writeFileSync(path, `${JSON.stringify(result, null, 1)}\n`);
  return `Stored in ${path}`;
}

function readArguments() {
  const options = { rounds: { type: 'string', default: String(ROUNDS_TO_PUBLISH) }, only: { type: 'string' }, help: { type: 'boolean' } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const names = positionals.length > 0 ? positionals : KNOWN;
  const contenders = values.only?.split(',') ?? CONTENDERS;
  const rounds = Number(values.rounds);
  for (const name of names) if (!KNOWN.includes(name)) throw new Mistake(`Unknown scenario \`${name}\`.`);
  for (const name of contenders) if (!CONTENDERS.includes(name)) throw new Mistake(`Unknown contender \`${name}\`.`);
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Mistake(`Expected \`--rounds\` to be an integer from 1, got \`${values.rounds}\`.`);
  const page = positionals.length > 0 ? positionals.join('+') : 'first-page';
  return { names, page, rounds, contenders };
}

class Mistake extends Error {}

try {
  await main();
} catch (error) {
  const wrongUse = error instanceof Mistake || String(error.code).startsWith('ERR_PARSE_ARGS');
  if (!wrongUse) throw error;
  console.error(`${error.message}\n${USAGE}`);
  process.exitCode = 2;
}
