/** The command line, as CI and people call it: in a process of its own. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { FIXTURES } from './support.js';

const RUN = fileURLToPath(new URL('../run.js', import.meta.url));
function run(...args) {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--conditions=model', RUN, '--dir', FIXTURES, ...args], {
    encoding: 'utf8',
  });
  return { text: stdout + stderr, last: stdout.trimEnd().split('\n').at(-1), status };
}

it('prints schedules, outcomes and the faults it caught, and closes with the totals', () => {
  const { text, last, status } = run('park');
  expect(text).toMatch(/ok {3}a permit is never lost: \d+ schedules.*, bound 2 exhausted/);
  expect(text).toMatch(/\d+ {2}'saw 7'/);
  expect(text).toMatch(/caught: no notify by a permit is never lost after \d+ schedules/);
  expect(text).toContain('planted faults: 2 in the product, 0 in the mirror, 0 in the model');
  expect({ last, status }).toEqual({ last: '4 passed, 0 failed', status: 0 });
});

it('fails when a planted fault is not caught', () => {
  const { text, last, status } = run('uncaught', '--faults');
  expect(text).toContain('NOT CAUGHT: nothing changes');
  expect({ last, status }).toEqual({ last: '0 passed, 1 failed', status: 1 });
});

it('replays a failure with the command it printed', () => {
  const { text } = run('broken', '--no-faults');
  const [, schedule] = /again: npm run test:model -- broken --replay (1\.1\.\S+)/.exec(text) ?? [];
  const again = run('broken', '--replay', schedule);
  expect(again.text).toMatch(/1 worker +load \[1\] = 0 +.*parker\.js:\d+ brokenPark/);
  expect(again.text).toContain('deadlock');
  expect(again.status).toBe(1);
});

it('replays a planted fault', () => {
  const { text } = run('park', '--faults');
  const [, fault, schedule] = /--fault '(.*)' --replay (\S+)/.exec(text) ?? [];
  expect(run('park', '--fault', fault, '--replay', schedule).status).toBe(1);
  expect(run('park', '--replay', '1.1.').status).toBe(0);
});

it('says which protocol does not exist', () => {
  expect(run('nothing')).toMatchObject({ last: '0 passed, 1 failed', status: 1 });
});
