import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` };
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

cpSync(join(import.meta.dirname, '../../../bin/berth'), join(root, 'bin/berth'));
write('src/cli/main.ts', 'console.log("sources" as string);');
write('src/core/rule.ts');
write('src/dashboard/page.tsx', '', BUILT_AT + 60);
write('package-lock.json');
write('package.json', '{"type":"module"}');
write('scripts/build-programs.ts');
write('dist/cli/main.js', 'console.log("build");');
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
  expect(runs('server')).toBe('1 --expose-gc');
  expect(runs('agent')).toBe('1 --max-semi-space-size=1');
  const own = { NODE_OPTIONS: '--max-semi-space-size=16', MALLOC_ARENA_MAX: '4' };
  expect(runs('agent', own)).toBe('4');
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
