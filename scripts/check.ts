import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT, runTool } from './run.ts';

interface Check {
  readonly name: string;
  readonly run: () => number;
}

/** The tool reads nothing and exits green when its parser cannot load, so the number of modules is looked at too. */
function importTable(): number {
  const result = spawnSync(
    join(ROOT, 'node_modules/.bin/depcruise'),
    ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'src'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 256 * 2 ** 20,
    },
  );
  if (result.error) throw result.error;
  const { summary } = JSON.parse(result.stdout) as {
    summary: { totalCruised: number; violations: { rule: { name: string }; from: string; to: string }[] };
  };
  for (const { rule, from, to } of summary.violations)
    process.stdout.write(`  ${rule.name}: ${from} → ${to}\n`);
  process.stdout.write(`  ${summary.totalCruised} modules, ${summary.violations.length} violations\n`);
  return summary.totalCruised > 100 && summary.violations.length === 0 ? 0 : 1;
}

/** A reader has this repository alone: what a document outside says is written down here, and that is linked. */
function citations(): number {
  const { status, stdout, error } = spawnSync(
    'git',
    [
      'grep',
      '-nIE',
      String.raw`§ ?[0-9]|\b([Ss]pec|[Ss]pecification|[Dd]ecisions) [0-9]+\.[0-9]|\b[Ff]aults?(-catalogue)? [ABDEG-Z4]-?[0-9]`,
      '--',
      '.',
      ':!scripts/check.ts',
    ],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (error) throw error;
  process.stdout.write(stdout);
  return status === 1 ? 0 : 1;
}

interface Unused {
  readonly issues: readonly {
    readonly file: string;
    readonly exports: readonly { readonly name: string }[];
  }[];
}

/** A rule that is in no list is asked by nobody but its own test, which is green: so it is looked for without the tests. */
function unlistedRules(): number {
  const { stdout, error } = spawnSync(
    join(ROOT, 'node_modules/.bin/knip'),
    ['--production', '--no-progress', '--include', 'exports', '--reporter', 'json'],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (error) throw error;
  const { issues } = JSON.parse(stdout) as Unused;
  const unlisted = issues.filter(({ file }) => file.startsWith('src/core/rules/'));
  for (const { file, exports } of unlisted)
    for (const { name } of exports) process.stdout.write(`  ${name} of ${file} is in no list\n`);
  return unlisted.length === 0 ? 0 : 1;
}

const CHECKS: readonly Check[] = [
  { name: 'format', run: () => runTool('biome', ['format', '.']) },
  { name: 'lint', run: () => runTool('oxlint', ['--type-aware', '--deny-warnings']) },
  { name: 'types', run: () => runTool('tsc', ['-p', '.']) },
  { name: 'types of the dashboard', run: () => runTool('tsc', ['-p', 'src/dashboard']) },
  { name: 'type assertions', run: () => runTool('node', ['scripts/check-casts.ts']) },
  { name: 'import table', run: importTable },
  { name: 'citations of what is not here', run: citations },
  { name: 'dead exports', run: () => runTool('knip', ['--no-progress']) },
  { name: 'rules that nobody asks', run: unlistedRules },
  { name: 'links of the documentation', run: () => runTool('node', ['scripts/build-docs.ts', '--check']) },
  { name: 'generated docs', run: () => runTool('node', ['scripts/generate-reference.ts', '--check']) },
];

let failed = 0;
for (const { name, run } of CHECKS) {
  process.stdout.write(`── ${name}\n`);
  if (run() !== 0) {
    failed += 1;
    process.stdout.write(`── ${name}: FAILED\n`);
  }
}
process.stdout.write(failed === 0 ? 'all checks passed\n' : `${failed} of ${CHECKS.length} checks failed\n`);
process.exit(failed === 0 ? 0 : 1);
