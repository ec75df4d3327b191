import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
/** What the package is made from. */
const SOURCES = [
  'bin',
  'docs',
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

export interface Making {
  /** Sources of another release; absent: those of this checkout. */
  readonly from?: string;
  /** What is altered before the package is made. */
  readonly plant?: (copy: string) => void;
}

/** Makes the package in a copy of the checkout, so that nothing here is touched, and installs it as a user would. */
export function installPackage(folder: string, { from = ROOT, plant }: Making = {}): Installation {
  const copy = join(folder, 'checkout');
  mkdirSync(copy, { recursive: true });
  const settings = readdirSync(from).filter((file) => SETTINGS.test(file));
  // The dashboard of this run is built already, and taken as it is while none of its sources is newer: times are copied too.
  const built = existsSync(join(from, DASHBOARD)) ? [DASHBOARD] : [];
  execFileSync('cp', ['-a', '--parents', ...SOURCES, ...settings, ...built, copy], { cwd: from });
  const lock = (root: string): string => readFileSync(join(root, 'package-lock.json'), 'utf8');
  // Of other dependencies it installs its own.
  if (lock(from) === lock(ROOT)) linkPackages(copy);
  plant?.(copy);
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

/** As links to the files: whoever installs into the copy takes nothing away here. */
function linkPackages(copy: string): void {
  const [from, to] = [join(ROOT, 'node_modules'), join(copy, 'node_modules')];
  if (spawnSync('cp', ['-al', from, to]).status !== 0) {
    // On another file system.
    rmSync(to, { recursive: true, force: true });
    execFileSync('cp', ['-a', from, to]);
  }
  rmSync(join(to, '.cache'), { recursive: true, force: true });
}

/** The sources of a commit; undefined: this clone does not have it. */
export function sourcesOf(commit: string, folder: string): string | undefined {
  const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: ROOT, maxBuffer: 2 ** 28 });
  if (git('cat-file', '-e', `${commit}^{commit}`).status !== 0) return undefined;
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit).stdout });
  return folder;
}
