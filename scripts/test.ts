import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ROOT, runTool } from './run.ts';

interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTotalTestSuites: number;
  readonly numFailedTestSuites: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
  }[];
}

const NAMED = 12;

/** Where the time goes: what is to be shortened first when the whole takes too long. */
function longestFiles({ testResults }: Results): string {
  const seconds = testResults
    .map(({ name, startTime, endTime }) => ({
      name: relative(ROOT, name),
      seconds: Math.round((endTime - startTime) / 1000),
    }))
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, NAMED);
  return `\nThe longest files:\n${seconds.map((file) => `${String(file.seconds).padStart(6)} s  ${file.name}`).join('\n')}\n`;
}

/** A test that passes only when it is repeated is a race of ours or of another program: it is named, so that nobody overlooks it. */
function secondTries(file: string): string {
  const names = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  return names.length === 0 ? '' : `\n${names.length} passed at a second try:\n  ${names.join('\n  ')}\n`;
}

/** All suites, or those named on the command line; a suite that could not be loaded counts as failed. */
function main(): number {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'));
  const report = join(folder, 'results.json');
  const repeated = join(folder, 'second-tries');
  try {
    const status = runTool(
      'vitest',
      [
        'run',
        '--reporter=default',
        '--reporter=json',
        `--reporter=${join(ROOT, 'scripts/second-tries.ts')}`,
        `--outputFile.json=${report}`,
        ...process.argv.slice(2),
      ],
      { SECOND_TRIES_FILE: repeated },
    );
    const results = JSON.parse(readFileSync(report, 'utf8')) as Results;
    const failed = results.numFailedTests + (status !== 0 && results.numFailedTests === 0 ? 1 : 0);
    process.stdout.write(
      `${longestFiles(results)}${secondTries(repeated)}\n${results.numPassedTests} passed, ${failed} failed, ${results.numPendingTests} skipped\n`,
    );
    return status;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit(main());
