import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, runTool } from './run.ts';

const TIER = join(ROOT, 'test/support/fault-tier.ts');
const IMPORTED = /from '(\.{1,2}\/[^']+\.ts)'/g;

/** Whether the file asks for its tier, itself or through what it imports from the tests. */
function asksForTier(file: string, seen: Set<string>): boolean {
  if (file === TIER) return true;
  const ofTests = file.startsWith(join(ROOT, 'test')) || file.endsWith('.test.ts');
  if (seen.has(file) || !ofTests) return false;
  seen.add(file);
  const imports = [...readFileSync(file, 'utf8').matchAll(IMPORTED)].map(([, path = '']) =>
    join(dirname(file), path),
  );
  return imports.some((imported) => asksForTier(imported, seen));
}

/** Every file whose figures are larger in the long tier. */
function tieredFiles(): string[] {
  return globSync('{src,test}/**/*.test.ts', { cwd: ROOT })
    .filter((file) => asksForTier(join(ROOT, file), new Set()))
    .sort();
}

/** One file at a time: kills are to meet a machine that does nothing else. */
function main(asked: readonly string[]): number {
  const files = tieredFiles();
  if (asked[0] === '--list') {
    process.stdout.write(`${files.join('\n')}\n`);
    return 0;
  }
  const projects = ['unit', 'flow', 'apart', 'system', 'browser', 'alone'].flatMap((name) => [
    '--project',
    name,
  ]);
  return runTool(
    'vitest',
    [
      'run',
      ...projects,
      '--no-file-parallelism',
      '--reporter=verbose',
      ...(asked.length > 0 ? asked : files),
    ],
    { FAULT_TIER: 'long' },
  );
}

process.exit(main(process.argv.slice(2)));
