/** How vitest runs here: one fork at a time, against the compiled package, since a worker cannot start from TypeScript on Node 20. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{tidy,unit,e2e,regress,stress,types}/**/*.test.ts', 'test/model/explorer-self/*.test.js'],
    globalSetup: ['test/support/global-setup.js'],
    setupFiles: ['test/support/open-realm.ts'],
    pool: 'forks',
    // The tests start worker threads of their own: files side by side would only fight for the same two processors.
    fileParallelism: false,
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    // Both outputs are run by Node itself, so that a test and the worker threads it starts see the same files.
    server: { deps: { external: [/\/(dist|lib)\//] } },
    coverage: { provider: 'v8', include: ['dist/**/*.js', 'lib/*.js'], reportsDirectory: 'coverage' },
  },
});
