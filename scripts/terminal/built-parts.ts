import { join } from 'node:path';
import { ROOT, runTool } from '../run.ts';

/** A checkout builds these at its first start, and says so on the screen. */
export function buildParts(): void {
  for (const part of ['programs', 'dashboard', 'docs'])
    runTool('node', [join(ROOT, `scripts/build-${part}.ts`), '--if-stale']);
}
