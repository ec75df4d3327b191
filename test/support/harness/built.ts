import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/** Programs and dashboard as a checkout runs and serves them; built when a source is newer than the last build. */
export function buildAll(): void {
  for (const part of ['programs', 'dashboard'])
    execFileSync(process.execPath, [`scripts/build-${part}.ts`, '--if-stale'], { cwd: ROOT, stdio: 'pipe' });
}
