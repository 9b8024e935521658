/** Runs once before vitest's tests, in vitest's own process: compiles `src` unless the runner has just done so. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export default function setup() {
  if (process.env.RAILHEAD_BUILT === '1') return;
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const { status } = spawnSync(process.execPath, ['tools/build.js'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('The build failed, so there is nothing to test: mend what it printed above.');
}
