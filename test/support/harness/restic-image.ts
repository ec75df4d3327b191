import { libraries, machineFiles } from './machine-files.ts';
import { ensurePackages } from './packages.ts';
import type { TarEntry } from '../tar.ts';

const PROGRAM = '/usr/bin/restic';

/** Debian's restic for an image with a shell, from the files of the installed package. */
export function resticFiles(): readonly TarEntry[] {
  ensurePackages(['restic']);
  return [...machineFiles([PROGRAM, ...libraries([PROGRAM])]), { path: 'bin/restic', link: PROGRAM }];
}
