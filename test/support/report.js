/**
 * A vitest reporter, in vitest's own process: writes what `run.js` needs to the file named by RAILHEAD_REPORT.
 * Vitest's JSON report leaves out why a test was skipped, and a skip must never be silent.
 */
import { writeFileSync } from 'node:fs';

export default class Report {
  onTestRunEnd(modules, unhandledErrors) {
    const report = { passed: 0, failed: 0, broken: unhandledErrors.length, skipped: [] };
    for (const module of modules) {
      report.broken += module.errors().length; // the file did not load, or a hook outside any test failed
      for (const suite of module.children.allSuites()) report.broken += suite.errors().length;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === 'passed') report.passed++;
        else if (result.state === 'failed') report.failed++;
        else report.skipped.push({ title: `${module.relativeModuleId ?? module.moduleId} > ${test.fullName}`, reason: result.note ?? '' });
      }
    }
    if (process.env.RAILHEAD_REPORT) writeFileSync(process.env.RAILHEAD_REPORT, JSON.stringify(report));
  }
}
