import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './run.ts';

/** All files below a path of the checkout, or the file itself. */
export function filesOf(path: string): string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Is there no build with this mark, or is a source, or a folder that lost one, newer than it? */
export function isStale(mark: string, sources: readonly string[], ignored = '-'): boolean {
  const built = statSync(mark, { throwIfNoEntry: false })?.mtimeMs;
  if (built === undefined) return true;
  const newer = (path: string): boolean => {
    if (path === join(ROOT, ignored)) return false;
    const found = statSync(path);
    if (found.mtimeMs > built) return true;
    return found.isDirectory() && readdirSync(path).some((name) => newer(join(path, name)));
  };
  return sources.some((source) => newer(join(ROOT, source)));
}
