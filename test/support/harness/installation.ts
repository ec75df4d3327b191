import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
/** What the package is made from. */
const SOURCES = [
  'bin',
  'packaging',
  'scripts',
  'src',
  'README.md',
  'LICENSE',
  'package.json',
  'package-lock.json',
];
const DASHBOARD = 'dist/dashboard';
const SETTINGS = /^(?:tsconfig.*\.json|vite\.config\.ts|\.npmrc)$/;

/** Without the tools of this checkout, its Node above all: what a machine finds by itself. */
export const PLAIN_PATH = (process.env['PATH'] ?? '/usr/bin:/bin')
  .split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .join(':');

export interface Installation {
  readonly tarball: string;
  /** What `npm run pack` printed last: name and sizes. */
  readonly summary: string;
  /** Where npm installed it globally. */
  readonly prefix: string;
  readonly berth: string;
}

/** Makes the package in a copy of the checkout, so that nothing here is touched, and installs it as a user would. */
export function installPackage(folder: string): Installation {
  const copy = join(folder, 'checkout');
  mkdirSync(copy);
  const settings = readdirSync(ROOT).filter((file) => SETTINGS.test(file));
  // The dashboard of this run is built already, and taken as it is while none of its sources is newer: times are copied too.
  const built = existsSync(join(ROOT, DASHBOARD)) ? [DASHBOARD] : [];
  execFileSync('cp', ['-a', '--parents', ...SOURCES, ...settings, ...built, copy], { cwd: ROOT });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const run = (command: string, args: readonly string[]): string =>
    execFileSync(command, args, {
      cwd: copy,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PATH: PLAIN_PATH },
    });
  const printed = run('npm', ['run', '--silent', 'pack', '--', folder]).trimEnd();
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? 'none';
  const prefix = join(folder, 'prefix');
  run('npm', ['install', '--global', '--prefer-offline', '--prefix', prefix, join(folder, tarball)]);
  return {
    tarball: join(folder, tarball),
    summary: printed.split('\n').at(-1) ?? '',
    prefix,
    berth: join(prefix, 'bin/berth'),
  };
}
