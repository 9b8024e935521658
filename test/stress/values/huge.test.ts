/**
 * 256 MiB at a time, in every way such a value can travel, and what is left of it. A child process with gc(); 8 of each here, since
 * each takes about a second: RAILHEAD_HUGE=100 runs as many as are promised.
 */
import { expect, test } from 'vitest';
import { ROOT, runNode } from '../../support/index.ts';

const count = process.env.RAILHEAD_HUGE ?? '8';

test.each(['bytes', 'text', 'inside', 'map'])(
  '256 MiB pass one after another, and RSS is at most 512 MiB above the start afterwards: %s',
  async (form) => {
    const { code, stdout, stderr } = await runNode(['--expose-gc', 'test/stress/values/huge.js', count, form], {
      cwd: ROOT,
      deadlineMs: 60_000 + Number(count) * 15_000,
    });
    console.log(stdout.trim());
    expect({ code, stderr: stderr.replaceAll(/^.*(Warning|--trace-warnings).*\n/gm, '') }).toEqual({ code: 0, stderr: '' });
  },
  60_000 + Number(count) * 16_000,
);
