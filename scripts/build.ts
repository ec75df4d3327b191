import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runTool } from './run.ts';

const DIST = join(ROOT, 'dist');

interface Step {
  readonly name: string;
  readonly run: () => number;
}

/** Types of `berth/client`, beside its code and in `core`. They are read by compilers alone: what indents the deep ones is three quarters of their bytes. */
function clientTypes(): number {
  rmSync(join(DIST, 'core'), { recursive: true, force: true });
  const status = runTool('tsc', ['-p', 'tsconfig.client.json']);
  for (const entry of readdirSync(DIST, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith('.d.ts')) continue;
    const file = join(entry.parentPath, entry.name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/^ {1,64}/gm, ''));
  }
  return status;
}

const script = (name: string, ...args: readonly string[]): number =>
  runTool('node', [join(ROOT, 'scripts', name), ...args]);

/**
 * What an installation runs: everything below `dist`, which is what the package carries besides `bin`. A part with a build of its own adds
 * a step that writes into a folder of `dist`; each step finds the folder as the steps before it left it. Programs and dashboard replace
 * themselves: a control plane of this checkout may be running from them.
 */
const STEPS: readonly Step[] = [
  { name: 'programs', run: () => script('build-programs.ts') },
  { name: 'types of the client', run: clientTypes },
  { name: 'dashboard', run: () => script('build-dashboard.ts', '--if-stale') },
  { name: 'documentation', run: () => script('build-docs.ts', '--if-stale') },
];

for (const { name, run } of STEPS) {
  process.stdout.write(`── ${name}\n`);
  const status = run();
  if (status !== 0) process.exit(status);
}
