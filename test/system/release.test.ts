import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** `npm run release` in a repository of its own, with a stand-in for the build, which packaging.test.ts has. */
const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'berth-release-'));
const copy = join(folder, 'repository');
const out = join(folder, 'out');
const PACK = `import { readFileSync, writeFileSync } from 'node:fs';
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
writeFileSync(\`\${process.argv[2]}/berth-\${version}.tgz\`, 'a package');
`;
/** Of the package that it is given, as the real one. */
const DEB = `import { copyFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
const options = { package: { type: 'string' }, architecture: { type: 'string', multiple: true } };
const { values, positionals } = parseArgs({ allowPositionals: true, options });
for (const name of values.architecture) copyFileSync(values.package, \`\${positionals[0]}/berth_\${name}.deb\`);
`;

function git(...args: readonly string[]): string {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  return execFileSync('git', [...identity, ...args], { cwd: copy, encoding: 'utf8' }).trim();
}

function release(...args: readonly string[]): { readonly status: number | null; readonly said: string } {
  const environment = { GIT_AUTHOR_NAME: 'test', GIT_AUTHOR_EMAIL: 'test@example.com' };
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.ts', ...args], {
    cwd: copy,
    encoding: 'utf8',
    env: {
      ...process.env,
      ...environment,
      GIT_COMMITTER_NAME: environment.GIT_AUTHOR_NAME,
      GIT_COMMITTER_EMAIL: environment.GIT_AUTHOR_EMAIL,
    },
  });
  return { status, said: stdout + stderr };
}

beforeAll(() => {
  mkdirSync(join(copy, 'scripts'), { recursive: true });
  for (const file of [
    'package.json',
    'package-lock.json',
    '.gitignore',
    'scripts/release.ts',
    'scripts/run.ts',
  ])
    cpSync(join(ROOT, file), join(copy, file));
  writeFileSync(join(copy, 'scripts/pack.ts'), PACK);
  writeFileSync(join(copy, 'scripts/deb.ts'), DEB);
  writeFileSync(
    join(copy, 'CHANGELOG.md'),
    '# Changelog\n\n## Unreleased\n\n- something\n\n## 0.0.1\n\n- before\n',
  );
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  writeFileSync(join(copy, '.gitignore'), 'node_modules\n');
  git('init', '--quiet', '--initial-branch', 'main');
  git('add', '.');
  git('commit', '--quiet', '--message', 'all');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a release', () => {
  it('is refused where it could not be made again from what is committed', () => {
    expect(release('0.9.0')).toMatchObject({
      status: 1,
      said: expect.stringMatching('usage: npm run release'),
    });
    expect(release('v9', '--to', out).said).toContain('usage:');
    expect(release('0.9.0', '--to', join(copy, 'out')).said).toContain(
      'expected a folder outside the repository',
    );
    expect(release('0.0.1', '--to', out).said).toMatch(/0\.0\.1 is earlier than \d+\.\d+\.\d+/);
    writeFileSync(join(copy, 'new.txt'), 'x');
    expect(release('0.9.0', '--to', out)).toMatchObject({
      status: 1,
      said: expect.stringMatching(/not committed:\n\?\? new\.txt/),
    });
    rmSync(join(copy, 'new.txt'));
    expect(existsSync(out)).toBe(false);
  });

  it('changes nothing in a dry run', () => {
    const before = git('rev-parse', 'HEAD');
    expect(release('0.9.0', '--to', out, '--dry-run')).toMatchObject({ status: 0 });
    expect([git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag')]).toEqual([before, '', '']);
    expect(existsSync(join(out, 'SHA256SUMS'))).toBe(true);
    rmSync(out, { recursive: true });
  });

  it('is a version, a section of the changelog, a commit, a tag, packages and their checksums', () => {
    const { status, said } = release('0.9.0', '--to', out);
    expect(said).toContain('next: git push origin HEAD v0.9.0');
    expect(status).toBe(0);
    expect(git('status', '--porcelain')).toBe('');
    expect(git('log', '-1', '--format=%s %D')).toBe('release: 0.9.0 HEAD -> main, tag: v0.9.0');
    const date = new Date().toISOString().slice(0, 10);
    expect(readFileSync(join(copy, 'CHANGELOG.md'), 'utf8')).toBe(
      `# Changelog\n\n## Unreleased\n\n## 0.9.0 (${date})\n\n- something\n\n## 0.0.1\n\n- before\n`,
    );
    for (const file of ['package.json', 'package-lock.json'])
      expect(JSON.parse(readFileSync(join(copy, file), 'utf8'))).toMatchObject({ version: '0.9.0' });
    expect(git('diff', '--stat', 'HEAD~1', '--', 'package-lock.json')).toContain(
      '2 insertions(+), 2 deletions(-)',
    );
    expect(execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: out, encoding: 'utf8' })).toBe(
      'berth-0.9.0.tgz: OK\nberth_amd64.deb: OK\nberth_arm64.deb: OK\n',
    );
    expect(release('0.9.0', '--to', out).said).toContain('the tag v0.9.0 exists already');
    expect(release('0.9.1', '--to', out).said).toContain('there is nothing to release');
  });
});
