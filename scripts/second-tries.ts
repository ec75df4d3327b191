import { appendFileSync } from 'node:fs';
import type { Reporter, TestCase } from 'vitest/node';

/** Writes down the tests that failed first and passed when they were repeated: `scripts/test.ts` lists them at the end. */
export default class SecondTries implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const file = process.env['SECOND_TRIES_FILE'];
    if (file === undefined || test.diagnostic()?.flaky !== true) return;
    appendFileSync(file, `${test.module.relativeModuleId} > ${test.fullName}\n`);
  }
}
