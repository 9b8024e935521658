/** From rounds to medians, ratios, verdicts and the table on the terminal. Pure. */
import { TARGETS } from './targets.js';

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @param {Record<string, Record<string, number>[]>} rounds contender -> figures of each round */
export function summarize(scenario, rounds) {
  const figures = {};
  for (const [figure, { unit, better }] of Object.entries(scenario.figures)) {
    const contenders = {};
    for (const [name, all] of Object.entries(rounds)) {
      const values = all.map((round) => round[figure]);
      if (values.length > 0)
        contenders[name] = { median: median(values), min: Math.min(...values), max: Math.max(...values), rounds: values };
    }
    figures[figure] = { unit, better, contenders, targets: verdicts(scenario.name, figure, contenders) };
  }
  return { name: scenario.name, title: scenario.title, figures };
}

export function bestPeer({ better, contenders }) {
  const peers = Object.entries(contenders).filter(([name]) => name !== 'railhead');
  peers.sort(([, a], [, b]) => (better === 'higher' ? b.median - a.median : a.median - b.median));
  return peers[0]?.[0];
}

function verdicts(scenario, figure, contenders) {
  return TARGETS.filter((target) => target.scenario === scenario && target.figure === figure).map((target) => {
    const peer = target.against === undefined ? 1 : contenders[target.against]?.median;
    const reached = contenders.railhead?.median / peer;
    const met = target.atLeast === undefined ? reached <= target.atMost : reached >= target.atLeast;
    return { ...target, reached: Number.isFinite(reached) ? reached : null, met }; // not measured counts as not met
  });
}

/** More than this share of a core between its turns, and a contender disturbs the others. */
const QUIET = 0.02;

const number = (n) => (Math.abs(n) >= 1000 ? Math.round(n).toLocaleString('en-US') : String(Number(n.toPrecision(3))));
/** 20× for a factor, 1/20 for a fraction. */
const ratio = (r) => (r < 1 ? `1/${number(1 / r)}` : `${number(r)}×`);

export function table({ name, title, figures, failed, idleShare }) {
  const lines = [`\n${name}: ${title}`];
  for (const [figure, summary] of Object.entries(figures)) {
    const { unit, contenders, targets } = summary;
    const best = contenders[bestPeer(summary)]?.median;
    const rows = Object.entries(contenders).map(([contender, { median: m, min, max }]) => [
      contender,
      number(m),
      `${number(min)} – ${number(max)}`,
      contenders.piscina === undefined ? '' : ratio(m / contenders.piscina.median),
      best === undefined ? '' : ratio(m / best),
    ]);
    lines.push(...columns([[`  ${figure} (${unit})`, 'median', 'least – most', 'to piscina', 'to best peer'], ...rows]));
    lines.push(...targets.map((target) => `    ${sentence(target, unit)}`));
  }
  for (const [contender, share] of Object.entries(idleShare)) {
    if (share > QUIET) lines.push(`  ${contender} used ${number(share * 100)} % of a core while others had their turn`);
  }
  for (const [contender, why] of Object.entries(failed)) lines.push(`  ${contender} FAILED: ${why}`);
  return lines.join('\n');
}

export function sentence({ figure, against, atLeast, atMost, reached, met }, unit) {
  const show = against === undefined ? (n) => `${number(n)} ${unit}` : ratio;
  const bar = `${atLeast === undefined ? 'at most' : 'at least'} ${show(atLeast ?? atMost)}${against === undefined ? '' : ` of ${against}`}`;
  return `${met ? 'met    ' : 'NOT MET'} ${figure}: target ${bar}, reached ${reached === null ? 'nothing: not measured' : show(reached)}`;
}

function columns(rows) {
  const widths = rows[0].map((_, c) => Math.max(...rows.map((row) => row[c].length)));
  return rows.map((row) => `    ${row.map((cell, c) => (c === 0 ? cell.padEnd(widths[c]) : cell.padStart(widths[c]))).join('  ')}`);
}
