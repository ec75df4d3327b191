import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runTool } from './run.ts';

const DIST = join(ROOT, 'dist');

interface Step {
  readonly name: string;
  readonly run: () => number;
}

/** Types of `berth/client`. They are read by compilers alone: what indents the deep ones is three quarters of their bytes. */
function clientTypes(): number {
  const status = runTool('tsc', ['-p', 'tsconfig.client.json']);
  for (const entry of readdirSync(DIST, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith('.d.ts')) continue;
    const file = join(entry.parentPath, entry.name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/^ {1,64}/gm, ''));
  }
  return status;
}

/**
 * What an installation runs: everything below `dist`, which is what the package carries besides `bin`. Node does not strip
 * types under node_modules, so the sources are emitted as JavaScript. A part with a build of its own adds a step that
 * writes into a folder of `dist`; each step finds the folder as the steps before it left it.
 */
const STEPS: readonly Step[] = [
  { name: 'programs', run: () => runTool('tsc', ['-p', 'tsconfig.build.json']) },
  { name: 'types of the client', run: clientTypes },
  { name: 'dashboard', run: () => runTool('node', [join(ROOT, 'scripts/build-dashboard.ts'), '--if-stale']) },
];

// The dashboard replaces itself, and a control plane of this checkout may be serving it.
for (const name of existsSync(DIST) ? readdirSync(DIST) : [])
  if (name !== 'dashboard') rmSync(join(DIST, name), { recursive: true, force: true });
for (const { name, run } of STEPS) {
  process.stdout.write(`── ${name}\n`);
  const status = run();
  if (status !== 0) process.exit(status);
}
