import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from './run.ts';

interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTotalTestSuites: number;
  readonly numFailedTestSuites: number;
}

/** All suites, or those named on the command line; a suite that could not be loaded counts as failed. */
function main(): number {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'));
  const report = join(folder, 'results.json');
  try {
    const status = runTool('vitest', [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...process.argv.slice(2),
    ]);
    const results = JSON.parse(readFileSync(report, 'utf8')) as Results;
    const failed = results.numFailedTests + (status !== 0 && results.numFailedTests === 0 ? 1 : 0);
    process.stdout.write(
      `\n${results.numPassedTests} passed, ${failed} failed, ${results.numPendingTests} skipped\n`,
    );
    return status;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit(main());
