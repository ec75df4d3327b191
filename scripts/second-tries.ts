import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';
import { ROOT } from './run.ts';

const WHY_CHARACTERS = 300;

/** Of a long list that was last seen, its end says more than its middle. */
function shortened(text: string): string {
  return text.length <= 2 * WHY_CHARACTERS
    ? text
    : `${text.slice(0, WHY_CHARACTERS)} … ${text.slice(-WHY_CHARACTERS)}`;
}

/** How its first try failed, in one line: nothing else of the run says it once the second has passed. */
function whyOf(test: TestCase): string {
  const [first] = test.result().errors ?? [];
  if (first === undefined) return '';
  const at = first.stacks?.map(({ file, line }) => `${relative(ROOT, file)}:${line}`)[0] ?? '';
  return `: ${at} ${shortened(first.message.replaceAll(/\s+/g, ' '))}`;
}

/** Writes down the tests that failed first and passed when they were repeated: `scripts/test.ts` lists them at the end. */
export default class SecondTries implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const file = process.env['SECOND_TRIES_FILE'];
    if (file === undefined || test.diagnostic()?.flaky !== true) return;
    appendFileSync(file, `${test.module.relativeModuleId} > ${test.fullName}${whyOf(test)}\n`);
  }

  /** An error outside of any test belongs to no file, so that no second run of one can excuse it. */
  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env['UNHANDLED_FILE'];
    if (file !== undefined && unhandled.length > 0) appendFileSync(file, `${unhandled.length}\n`);
  }
}
