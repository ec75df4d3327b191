import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TarEntry } from '../tar.ts';

/** Files of this machine as entries of an image, at the same paths, with the folders above them. */
export function machineFiles(paths: readonly string[]): readonly TarEntry[] {
  return [
    ...folders(paths),
    ...paths.map(
      (path): TarEntry => ({
        path: path.slice(1),
        data: readFileSync(path),
        mode: statSync(path).mode & 0o777,
      }),
    ),
  ];
}

/** As `ldd` finds them, the loader included. */
export function libraries(programs: readonly string[]): readonly string[] {
  const found = execFileSync('ldd', programs, { encoding: 'utf8' }).matchAll(/(?:=> |^\t)(\/\S+) \(/gm);
  return [...new Set([...found].map(([, path]) => path ?? ''))].filter((path) => path !== '');
}

function folders(paths: readonly string[]): readonly TarEntry[] {
  const found = new Set<string>();
  for (const path of paths)
    for (let folder = dirname(path); folder !== '/' && !found.has(folder); folder = dirname(folder))
      found.add(folder);
  return [...found].sort().map((folder): TarEntry => ({ path: folder.slice(1), type: 'dir' }));
}
