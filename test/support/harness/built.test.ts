import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` };
const ROOT = join(import.meta.dirname, '../../..');
/** A checkout as far as `bin/berth` looks at one. */
const root = mkdtempSync(join(tmpdir(), 'berth-checkout-'));
const BUILT_AT = 1_700_000_000;

function write(path: string, text = '', at = BUILT_AT - 60): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  utimesSync(file, at, at);
}

function age(...folders: readonly string[]): void {
  for (const folder of folders) utimesSync(join(root, folder), BUILT_AT - 60, BUILT_AT - 60);
}

const runs = (program = '--version', more: NodeJS.ProcessEnv = {}): string =>
  execFileSync(join(root, 'bin/berth'), [program], { encoding: 'utf8', env: { ...env, ...more } }).trim();

cpSync(join(ROOT, 'bin/berth'), join(root, 'bin/berth'));
write('src/cli/main.ts', 'console.log("sources" as string);');
write('src/core/rule.ts');
write('src/dashboard/page.tsx', '', BUILT_AT + 60);
write('package-lock.json');
write('package.json', '{"type":"module"}');
write('scripts/build-programs.ts');
write('dist/cli/main.cjs', 'console.log("build");');
for (const program of ['server', 'agent'])
  write(
    `dist/${program}/main.js`,
    'console.log(process.env.MALLOC_ARENA_MAX, ...process.execArgv.filter((flag) => /semi|gc/.test(flag)));',
  );
write('dist/built.json', '{}', BUILT_AT);
age('src', 'src/cli', 'src/core');

afterAll(() => {
  rmSync(root, { recursive: true });
});

it('programs that stay start with the flags that keep them small, unless somebody has decided otherwise', () => {
  expect(runs('server')).toBe('1 --expose-gc --max-semi-space-size=16');
  expect(runs('agent')).toBe('1 --max-semi-space-size=1');
  const own = { NODE_OPTIONS: '--max-semi-space-size=16', MALLOC_ARENA_MAX: '4' };
  expect(runs('agent', own)).toBe('4');
  expect(runs('server', own)).toBe('4 --expose-gc');
});

it('a checkout runs its build only while no source of it is newer', () => {
  expect(runs()).toBe('build');
  for (const file of ['src/core/rule.ts', 'package-lock.json', 'scripts/build-programs.ts']) {
    write(file, '', BUILT_AT + 1);
    expect(`${file}: ${runs()}`).toBe(`${file}: sources`);
    write(file);
  }
  expect(runs()).toBe('build');
  // One less, or an older one put there: the folder tells.
  rmSync(join(root, 'src/core/rule.ts'));
  expect(runs()).toBe('sources');
  age('src/core');
  expect(runs()).toBe('build');
  // Half a build has no mark.
  rmSync(join(root, 'dist/built.json'));
  expect(runs()).toBe('sources');
});

it('a command loads the modules of Node that it uses, not all that these can give', () => {
  const told = 'process.once("exit", () => process.stderr.write(process.moduleLoadList.join(" ")))';
  const [program, hook] = [join(ROOT, 'dist/cli/main.cjs'), join(root, 'told.cjs')];
  write('told.cjs', told);
  const of = (words: readonly string[]): string => {
    const { status, stderr } = spawnSync(process.execPath, ['-r', hook, program, ...words], {
      encoding: 'utf8',
      env: { ...env, BERTH_CLI_SERVER: 'http://127.0.0.1:9', BERTH_CLI_TOKEN: 'token' },
    });
    expect([0, 3]).toContain(status);
    return stderr;
  };
  const LARGE = ['child_process', 'worker_threads', 'internal/fs/promises', 'internal/deps/undici/undici'];
  const loaded = (list: string): readonly string[] =>
    [...LARGE, 'http'].filter((name) => list.split(' ').includes(name));
  expect(loaded(of(['version']))).toEqual([]);
  expect(loaded(of(['get', 'deployments']))).toEqual(['http']);
});

it('tries the Node of the package once, and again when it is another', () => {
  const home = join(root, 'home');
  const tries = join(root, 'tries');
  /** Notes that it was tried, and stands for the real one otherwise. */
  const node = (status: number): string =>
    `#!/bin/sh\n[ "$1" != --version ] || { echo >>${tries}; exit ${status}; }\nexec ${process.execPath} "$@"\n`;
  const install = (status: number): void => {
    for (const arch of ['x64', 'arm64']) {
      const folder = join(root, `node_modules/node-linux-${arch}/bin`);
      rmSync(folder, { recursive: true, force: true });
      write(`node_modules/node-linux-${arch}/bin/node`, node(status));
      chmodSync(join(folder, 'node'), 0o755);
    }
  };
  const seen = (): number => readFileSync(tries, 'utf8').length;
  const later = (): void => {
    const [at, note] = [Date.now() / 1000 + 60, join(home, '.cache/berth/node-starts')];
    utimesSync(note, at, at);
  };
  install(0);
  write('dist/built.json', '{}', BUILT_AT);
  expect(runs('--version', { HOME: home })).toBe('build');
  later();
  expect(runs('--version', { HOME: home })).toBe('build');
  expect(seen()).toBe(1);
  // Another machine noted it, with the same home.
  const note = join(home, '.cache/berth/node-starts');
  writeFileSync(note, `elsewhere.example ${readFileSync(note, 'utf8').split(' ')[1] ?? ''}`);
  later();
  expect(runs('--version', { HOME: home })).toBe('build');
  expect(seen()).toBe(2);
  // Without a place for the note it is tried each time.
  expect(runs()).toBe('build');
  expect(seen()).toBe(3);
  // Installed anew, for another C library: the one on the path takes over.
  utimesSync(note, BUILT_AT, BUILT_AT);
  install(127);
  expect(runs('--version', { HOME: home })).toBe('build');
  expect(seen()).toBe(4);
});
