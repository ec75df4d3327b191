import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const MAIN = join(import.meta.dirname, 'main.ts');
const folder = mkdtempSync(join(tmpdir(), 'berth-server-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The program as a line of a shell. */
function shell(line: string): { readonly status: number | null; readonly err: string } {
  const { status, stderr } = spawnSync(
    'sh',
    ['-c', line.replace('server', `"${process.execPath}" "${MAIN}"`)],
    { cwd: folder, encoding: 'utf8' },
  );
  return { status, err: stderr };
}

describe('what a command of the server prints', () => {
  it.each(['server --help', 'server verify --help'])('%s ends with 1 where the disk is full', (line) => {
    const { status, err } = shell(`${line} > /dev/full`);
    expect(err).toMatch(/^berth server: standard output: ENOSPC[^\n]*\n$/);
    expect(status).toBe(1);
  });

  it('is no error when its reader goes away', () => {
    expect(shell('server --help | true').err).toBe('');
  });
});

describe('a setting that cannot be used', () => {
  it.each([
    ['--tls-cert nosuch --tls-key nosuch --data-dir data', 'tls.cert: nosuch cannot be read (ENOENT)'],
    [
      '--tls-cert text --tls-key text --data-dir data',
      'tls.cert and tls.key: text and text cannot be used (',
    ],
    ['--data-dir text', `the folder ${join(folder, 'text')} cannot be made: `],
  ])('%s ends the start before anything is made', (flags, message) => {
    writeFileSync(join(folder, 'text'), 'no certificate\n');
    const { status, err } = shell(`server --listen 127.0.0.1:0 ${flags}`);
    expect(err.startsWith(`berth server: ${message}`), err).toBe(true);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
    expect(status).toBe(2);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });
});
