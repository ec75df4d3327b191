import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LONG_TIER } from '../support/fault-tier.ts';
import { PLAIN_PATH } from '../support/harness/installation.ts';
import { withoutLibrary } from '../support/harness/without-library.ts';

const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'berth-packages-'));
const PROGRAMS = ['scripts/with-packages', 'scripts/packages-missing.mjs'];
const MESSAGE = 'installing the packages of package-lock.json';

/** Each does one of both cases, and both in the long tier. The machine's own Node, whatever its age, and the one that the packages bring: nothing of this checkout is on the path otherwise. */
const NODES = [
  { node: "the machine's Node", path: PLAIN_PATH, command: 'test' },
  { node: 'Node 24 alone', path: `${dirname(process.execPath)}:${PLAIN_PATH}`, command: 'quickstart' },
];

function npm(cwd: string, ...args: readonly string[]): void {
  execFileSync('npm', args, { cwd, stdio: 'ignore', env: { ...process.env, PATH: PLAIN_PATH } });
}

interface Run {
  readonly status: number | null;
  readonly said: string;
  readonly printed: string;
}

function run(cwd: string, path: string, args: readonly string[], registry?: string): Run {
  const { status, stderr, stdout } = spawnSync('npm', ['run', '--silent', ...args], {
    cwd,
    encoding: 'utf8',
    env: {
      PATH: path,
      HOME: folder,
      npm_config_cache: join(folder, 'cache'),
      npm_config_fetch_retries: '0',
      ...(registry === undefined ? { npm_config_offline: 'true' } : { npm_config_registry: registry }),
    },
  });
  return { status, said: stderr, printed: stdout };
}

/** A checkout with a package of its own, so that no registry is asked. */
function smallCheckout(name: string): { readonly place: string; readonly need: (version: string) => void } {
  const place = join(folder, name);
  mkdirSync(join(place, 'scripts'), { recursive: true });
  for (const file of PROGRAMS) cpSync(join(ROOT, file), join(place, file));
  const need = (version: string): void => {
    const manifest = {
      name: 'small',
      version: '1.0.0',
      scripts: { show: 'scripts/with-packages node -p "require(\'part/package.json\').version"' },
      dependencies: { part: `file:${join(folder, `part-${version}.tgz`)}` },
    };
    const other = join(place, 'lock');
    mkdirSync(other, { recursive: true });
    for (const to of [place, other]) writeFileSync(join(to, 'package.json'), JSON.stringify(manifest));
    npm(other, 'install', '--package-lock-only', '--offline');
    cpSync(join(other, 'package-lock.json'), join(place, 'package-lock.json'));
    rmSync(other, { recursive: true });
  };
  return { place, need };
}

beforeAll(() => {
  for (const version of ['1.0.0', '1.0.1']) {
    const part = join(folder, `part-${version}`);
    mkdirSync(part);
    writeFileSync(join(part, 'package.json'), JSON.stringify({ name: 'part', version }));
    npm(part, 'pack', '--pack-destination', folder);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(NODES)('a command of a checkout, with $node', ({ path, command }) => {
  it.runIf(LONG_TIER || command === 'test')(
    'installs what is missing or differs from the lockfile, says so, and is silent otherwise',
    () => {
      const { place, need } = smallCheckout(`before-${command}`);
      need('1.0.0');
      const first = run(place, path, ['show']);
      expect(first, first.said).toMatchObject({ status: 0, printed: '1.0.0\n' });
      expect(first.said).toContain(`no packages are installed yet: ${MESSAGE}`);
      expect(run(place, path, ['show'])).toEqual({ status: 0, printed: '1.0.0\n', said: '' });

      need('1.0.1');
      const second = run(place, path, ['show']);
      expect(second, second.said).toMatchObject({ status: 0, printed: '1.0.1\n' });
      expect(second.said).toContain(`part differs from the lockfile: ${MESSAGE}`);

      rmSync(join(place, 'node_modules/part'), { recursive: true });
      const third = run(place, path, ['show']);
      expect(third, third.said).toMatchObject({ status: 0, printed: '1.0.1\n' });
      expect(third.said).toContain(`part is missing: ${MESSAGE}`);
    },
  );

  it.runIf(LONG_TIER || command === 'quickstart')(
    `npm run ${command} says one sentence when no registry answers`,
    () => {
      const place = join(folder, `refused-${command}`);
      mkdirSync(join(place, 'scripts'), { recursive: true });
      for (const file of [...PROGRAMS, 'package.json', 'package-lock.json', '.npmrc'])
        cpSync(join(ROOT, file), join(place, file));
      const { status, said, printed } = run(place, path, [command], 'http://127.0.0.1:9');
      expect({ status, printed }, said).toEqual({ status: 1, printed: '' });
      const [announced, problem, ...more] = said.trimEnd().split('\n');
      expect(announced).toContain(MESSAGE);
      expect(problem).toMatch(/^berth: the packages could not be installed: .*127\.0\.0\.1:9.*registry/);
      expect(more).toEqual([]);
    },
  );
});

describe('a machine without a library that the Node of the packages needs', () => {
  /** `apt-get` is one that brings the library back, or does nothing. */
  it.each([
    [
      'installs it',
      'mount | awk \'/libatomic/ { print $3 }\' | while read -r file; do umount "$file"; done',
      0,
    ],
    ['names it where that does not help', 'exit 100', 1],
  ])('%s', (name, installs, expected) => {
    const place = join(folder, name.replaceAll(' ', '-'));
    const bin = join(place, 'bin');
    for (const path of [bin, join(place, 'scripts'), join(place, 'node_modules/.bin')])
      mkdirSync(path, { recursive: true });
    for (const file of PROGRAMS) cpSync(join(ROOT, file), join(place, file));
    for (const file of ['package-lock.json', 'node_modules/.package-lock.json'])
      writeFileSync(join(place, file), '{"packages": {"": {}}}');
    symlinkSync(process.execPath, join(place, 'node_modules/.bin/node'));
    writeFileSync(join(bin, 'apt-get'), `#!/bin/sh\necho "$1" >>calls\n${installs}\n`, { mode: 0o755 });
    const options = { cwd: place, env: { PATH: `${bin}:${PLAIN_PATH}`, HOME: folder } };
    const program = join(place, 'scripts/with-packages');
    const run = withoutLibrary('libatomic.so.1', options, program, 'node', '-p', '1 + 1');
    expect(readFileSync(join(place, 'calls'), 'utf8')).toMatch(
      expected === 0 ? 'update\ninstall\n' : /^update\n$/,
    );
    expect({ status: run.status, printed: run.stdout }, run.stderr).toEqual({
      status: expected,
      printed: expected === 0 ? '2\n' : '',
    });
    expect(run.stderr).toContain('needs libatomic.so.1');
  });
});
