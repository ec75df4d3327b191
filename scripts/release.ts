import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, runTool } from './run.ts';

const UNRELEASED = '## Unreleased\n';
const ARCHITECTURES = ['amd64', 'arm64'];
const VERSION = /^\d+\.\d+\.\d+(?:-[0-9a-z.]+)?$/;

class Refusal extends Error {}

function git(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Refusal(`git ${args.join(' ')}: ${stderr.trim()}`);
  return stdout.trim();
}

/** What was written down since the last release becomes the section of this one. */
function dated(changelog: string, version: string, date: string): string {
  const at = changelog.indexOf(UNRELEASED);
  const notes = changelog.slice(at + UNRELEASED.length).split(/^## /m)[0] ?? '';
  if (at === -1 || notes.trim() === '')
    throw new Refusal('CHANGELOG.md has nothing under "## Unreleased": there is nothing to release');
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n## ${version} (${date})\n`);
}

/** The first version of a file is that of the package itself, also in the lock file, which has it twice. */
function versioned(text: string, version: string, times: number): string {
  let left = times;
  return text.replace(/"version": "[^"]+"/g, (found) => (left-- > 0 ? `"version": "${version}"` : found));
}

function later(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) >= 0;
}

function checksums(folder: string): string {
  const lines = readdirSync(folder)
    .filter((name) => name.endsWith('.tgz') || name.endsWith('.deb'))
    .toSorted()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    );
  return lines.join('');
}

/**
 * `npm run release -- VERSION --to FOLDER [--dry-run]`: version, changelog, commit and tag, then the package and, made of it, those for Debian, with their checksums, in a folder
 * outside the repository. Nothing is pushed. A dry run makes the packages of the tree as it is and changes nothing in it.
 */
function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { to: { type: 'string' }, 'dry-run': { type: 'boolean', default: false } },
  });
  const [version = '', ...more] = positionals;
  const { to, 'dry-run': isDry } = values;
  if (!VERSION.test(version) || more.length > 0 || to === undefined)
    throw new Refusal(
      'usage: npm run release -- VERSION --to FOLDER [--dry-run], e.g. npm run release -- 0.2.0 --to /tmp/release',
    );
  const folder = resolve(to);
  if (`${folder}/`.startsWith(`${ROOT}/`))
    throw new Refusal(`--to ${to}: expected a folder outside the repository`);
  const dirty = git('status', '--porcelain');
  if (dirty !== '') throw new Refusal(`the tree has changes that are not committed:\n${dirty}`);
  if (spawnSync('dpkg-deb', ['--version']).status !== 0)
    throw new Refusal('dpkg-deb is missing, which makes the packages for Debian: install the package dpkg');
  const tag = `v${version}`;
  if (git('tag', '--list', tag) !== '') throw new Refusal(`the tag ${tag} exists already`);
  const file = (name: string): string => readFileSync(join(ROOT, name), 'utf8');
  const { version: current } = JSON.parse(file('package.json')) as { version: string };
  if (!later(version, current))
    throw new Refusal(`${version} is earlier than ${current}, which is in package.json`);
  const changes = {
    'CHANGELOG.md': dated(file('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10)),
    'package.json': versioned(file('package.json'), version, 1),
    'package-lock.json': versioned(file('package-lock.json'), version, 2),
  };
  if (isDry)
    process.stdout.write(`dry run: ${tag} would be commit and tag; the packages are made of what is there\n`);
  else {
    for (const [name, text] of Object.entries(changes)) writeFileSync(join(ROOT, name), text);
    git('commit', '--quiet', '--all', '--message', `release: ${version}`);
    git('tag', '--annotate', tag, '--message', `Berth ${version}`);
  }
  mkdirSync(folder, { recursive: true });
  if (runTool('node', ['scripts/pack.ts', folder]) !== 0) throw new Refusal('the package could not be made');
  const tarball = join(folder, `berth-${isDry ? current : version}.tgz`);
  const both = ARCHITECTURES.flatMap((architecture) => ['--architecture', architecture]);
  if (runTool('node', ['scripts/deb.ts', folder, '--package', tarball, ...both]) !== 0)
    throw new Refusal('the packages for Debian could not be made');
  writeFileSync(join(folder, 'SHA256SUMS'), checksums(folder));
  process.stdout.write(`${folder}: the packages and SHA256SUMS (sha256sum --check SHA256SUMS)\n`);
  if (!isDry) process.stdout.write(`next: git push origin HEAD ${tag}\n`);
}

try {
  main();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  process.stderr.write(`release: ${error.message}\n`);
  process.exit(1);
}
