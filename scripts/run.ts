import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
const BIN = join(ROOT, 'node_modules', '.bin');

/** Runs a tool of this package with the bundled Node first on the path; its output goes to the terminal. */
export function runTool(tool: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): number {
  const result = spawnSync(join(BIN, tool), args, {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, PATH: `${BIN}:${process.env['PATH'] ?? ''}`, ...environment },
  });
  if (result.error) throw result.error;
  return result.status ?? 1;
}
