import { appendFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';

/** Writes down the tests that failed first and passed when they were repeated: `scripts/test.ts` lists them at the end. */
export default class SecondTries implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const file = process.env['SECOND_TRIES_FILE'];
    if (file === undefined || test.diagnostic()?.flaky !== true) return;
    appendFileSync(file, `${test.module.relativeModuleId} > ${test.fullName}\n`);
  }

  /** An error outside of any test belongs to no file, so that no second run of one can excuse it. */
  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env['UNHANDLED_FILE'];
    if (file !== undefined && unhandled.length > 0) appendFileSync(file, `${unhandled.length}\n`);
  }
}
