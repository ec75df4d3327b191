import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ROOT, runTool } from './run.ts';

interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly status: 'passed' | 'failed';
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

const NAMED = 40;
/** One file in a hundred: more is no accident of the machine. */
const MOST_AGAIN = 5;
/** There, when an error was outside of any test. */
const UNHANDLED = 'unhandled';

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

interface Run {
  readonly status: number;
  readonly results: Results;
}

function vitest(folder: string, name: string, args: readonly string[]): Run {
  const report = join(folder, `${name}.json`);
  const status = runTool(
    'vitest',
    [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--reporter=${join(ROOT, 'scripts/second-tries.ts')}`,
      `--outputFile.json=${report}`,
      ...args,
    ],
    { SECOND_TRIES_FILE: join(folder, 'second-tries'), UNHANDLED_FILE: join(folder, UNHANDLED) },
  );
  return { status, results: JSON.parse(readFileSync(report, 'utf8')) as Results };
}

/**
 * A test that stands on what the ones before it left cannot be repeated by itself: its records are there already. So in CI a few files
 * that failed get a second run from their own beginning, and are named, like the tests that were repeated.
 */
function again(folder: string, { status, results }: Run): Run {
  const failed = results.testResults.filter((file) => file.status === 'failed');
  const files = failed.map(({ name }) => relative(ROOT, name));
  const worth =
    files.length > 0 &&
    files.length <= MOST_AGAIN &&
    files.every((file) => file.startsWith('test/')) &&
    !existsSync(join(folder, UNHANDLED));
  if (process.env['CI'] !== 'true' || status === 0 || !worth) return { status, results };
  const second = vitest(folder, 'again', files);
  if (second.status !== 0) return { status, results };
  appendFileSync(join(folder, 'second-tries'), files.map((file) => `${file} (the whole file)\n`).join(''));
  const counted = failed.flatMap(({ assertionResults }) => assertionResults);
  const of = (state: string): number => counted.filter((test) => test.status === state).length;
  return {
    status: 0,
    results: {
      ...results,
      numPassedTests: results.numPassedTests - of('passed') + second.results.numPassedTests,
      numFailedTests: 0,
    },
  };
}

/** All suites, or those named on the command line; a suite that could not be loaded counts as failed. */
function main(): number {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-'));
  try {
    const { status, results } = again(folder, vitest(folder, 'results', process.argv.slice(2)));
    const failed = results.numFailedTests + (status !== 0 && results.numFailedTests === 0 ? 1 : 0);
    process.stdout.write(
      `${longestFiles(results)}${secondTries(join(folder, 'second-tries'))}\n${results.numPassedTests} passed, ${failed} failed, ${results.numPendingTests} skipped\n`,
    );
    return status;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit(main());
