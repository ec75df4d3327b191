import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from './run.ts';

interface Results {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly title: string;
      readonly status: string;
      readonly duration?: number | null;
    }[];
  }[];
}

/** The attacks of test/security, and a table of who tried what and whether it held. */
function main(): number {
  const folder = mkdtempSync(join(tmpdir(), 'berth-security-'));
  const report = join(folder, 'results.json');
  try {
    const status = runTool('vitest', [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...(process.argv.length > 2 ? process.argv.slice(2) : ['test/security']),
    ]);
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Results;
    const rows = testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .flatMap(({ title, status: outcome, duration }) => {
        const [who = '', what] = title.split(/: (.*)/s, 2);
        const held = outcome === 'passed' ? 'held' : outcome;
        return what === undefined ? [] : [[who, what, held, `${Math.round(duration ?? 0)} ms`] as const];
      })
      .toSorted(([a], [b]) => a.localeCompare(b));
    const width = Math.max(...rows.map(([, what]) => what.length), 4);
    const whoWidth = Math.max(...rows.map(([who]) => who.length), 3);
    for (const [who, what, held, took] of rows)
      process.stdout.write(`${who.padEnd(whoWidth)}  ${what.padEnd(width)}  ${held.padEnd(7)}  ${took}\n`);
    return status;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit(main());
