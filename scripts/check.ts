import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from './run.ts';

interface Verdict {
  readonly passed: boolean;
  readonly text: string;
}

interface Check {
  readonly name: string;
  readonly command: readonly [tool: string, ...args: readonly string[]];
  /** Without one, by the status, with all that was printed. */
  readonly judge?: (status: number, printed: string) => Verdict;
}

/** The tool reads nothing and exits green when its parser cannot load, so the number of modules is looked at too. */
function importTable(_status: number, printed: string): Verdict {
  const { summary } = JSON.parse(printed) as {
    summary: { totalCruised: number; violations: { rule: { name: string }; from: string; to: string }[] };
  };
  const { totalCruised, violations } = summary;
  const lines = violations.map(({ rule, from, to }) => `  ${rule.name}: ${from} → ${to}\n`);
  return {
    passed: totalCruised > 100 && violations.length === 0,
    text: `${lines.join('')}  ${totalCruised} modules, ${violations.length} violations\n`,
  };
}

/** A reader has this repository alone: what a document outside says is written down here, and that is linked. */
const CITATIONS: Check = {
  name: 'citations of what is not here',
  command: [
    'git',
    'grep',
    '-nIE',
    String.raw`§ ?[0-9]|\b([Ss]pec|[Ss]pecification|[Dd]ecisions) [0-9]+\.[0-9]|\b[Ff]aults?(-catalogue)? [ABDEG-Z4]-?[0-9]`,
    '--',
    '.',
    ':!scripts/check.ts',
  ],
  judge: (status, text) => ({ passed: status === 1, text }),
};

interface Unused {
  readonly issues: readonly {
    readonly file: string;
    readonly exports: readonly { readonly name: string }[];
  }[];
}

/** A rule that is in no list is asked by nobody but its own test, which is green: so it is looked for without the tests. */
function unlistedRules(_status: number, printed: string): Verdict {
  const { issues } = JSON.parse(printed) as Unused;
  const unlisted = issues.filter(({ file }) => file.startsWith('src/core/rules/'));
  return {
    passed: unlisted.length === 0,
    text: unlisted
      .flatMap(({ file, exports }) => exports.map(({ name }) => `  ${name} of ${file} is in no list\n`))
      .join(''),
  };
}

/** These take every core that there is. */
const WIDE: readonly Check[] = [
  { name: 'format', command: ['biome', 'format', '.'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'types', command: ['tsc', '-p', '.'] },
  { name: 'types of the dashboard', command: ['tsc', '-p', 'src/dashboard'] },
];

/** These take one, and run beside them. */
const NARROW: readonly Check[] = [
  { name: 'type assertions', command: ['node', 'scripts/check-casts.ts'] },
  {
    name: 'import table',
    command: ['depcruise', '--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'src'],
    judge: importTable,
  },
  CITATIONS,
  { name: 'dead exports', command: ['knip', '--no-progress'] },
  {
    name: 'rules that nobody asks',
    command: ['knip', '--production', '--no-progress', '--include', 'exports', '--reporter', 'json'],
    judge: unlistedRules,
  },
  { name: 'links of the documentation', command: ['node', 'scripts/build-docs.ts', '--check'] },
  { name: 'generated docs', command: ['node', 'scripts/generate-reference.ts', '--check'] },
];

/** What a judge reads is what the tool answered; what it complained of is printed beside it. */
async function carryOut({ command: [tool, ...args], judge }: Check): Promise<Verdict> {
  const path = `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`;
  const child = spawn(tool, args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: path },
  });
  let answered = '';
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    answered += text;
    printed += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  // Rejects when the tool cannot be started.
  const [code] = (await once(child, 'close')) as [number | null];
  const status = code ?? 1;
  try {
    return judge?.(status, answered) ?? { passed: status === 0, text: printed };
  } catch (error) {
    return { passed: false, text: `${printed}${String(error)}\n` };
  }
}

let failed = 0;

async function oneAfterAnother(checks: readonly Check[]): Promise<void> {
  for (const check of checks) {
    const { passed, text } = await carryOut(check);
    process.stdout.write(`── ${check.name}${passed ? '' : ': FAILED'}\n${text}`);
    if (!passed) failed += 1;
  }
}

await Promise.all([WIDE, NARROW].map(oneAfterAnother));
const count = WIDE.length + NARROW.length;
process.stdout.write(failed === 0 ? 'all checks passed\n' : `${failed} of ${count} checks failed\n`);
process.exit(failed === 0 ? 0 : 1);
