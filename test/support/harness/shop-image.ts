import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TarEntry } from '../tar.ts';
import { libraries, machineFiles } from './machine-files.ts';
import { ensurePackages } from './packages.ts';

const PROGRAM = '/usr/bin/python3.11';
const LIBRARY = '/usr/lib/python3.11';
const DRIVER = '/usr/lib/python3/dist-packages/psycopg2';
const SOURCES = join(import.meta.dirname, '../shop');
/** Large, and of no use to a program that serves. */
const LEFT =
  /__pycache__|\/(?:config-|test|idlelib|tkinter|lib2to3|ensurepip|pydoc_data|distutils|_test|venv)/;

/** Debian's Python with its driver of PostgreSQL on top of busybox: `/shop/web.py`, the application, and `/shop/load.py`, its clients. */
export function shopFiles(): readonly TarEntry[] {
  ensurePackages(['python3', 'python3-psycopg2']);
  const kept = globSync(['**/*.py', 'lib-dynload/*.so'], { cwd: LIBRARY })
    .map((name) => join(LIBRARY, name))
    .filter((path) => !LEFT.test(path));
  const driver = globSync('*.{py,so}', { cwd: DRIVER }).map((name) => join(DRIVER, name));
  const linked = [PROGRAM, ...[...kept, ...driver].filter((path) => path.endsWith('.so'))];
  return [
    ...machineFiles([...new Set([PROGRAM, ...kept, ...driver, ...libraries(linked)])]),
    { path: 'bin/python3', link: PROGRAM },
    { path: 'shop', type: 'dir' },
    ...['web.py', 'load.py'].map(
      (name): TarEntry => ({ path: `shop/${name}`, data: readFileSync(join(SOURCES, name)) }),
    ),
  ];
}
