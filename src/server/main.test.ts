import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { shellFor } from '../../test/support/shell-line.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const folder = mkdtempSync(join(tmpdir(), 'berth-server-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const shell = shellFor('server', MAIN, folder);

describe('what a command of the server prints', () => {
  it.each(['server --help', 'server verify --help'])('%s ends with 1 where the disk is full', (line) => {
    const { status, err } = shell(`${line} > /dev/full`);
    expect(err).toMatch(/^berth server: standard output: ENOSPC[^\n]*\n$/);
    expect(status).toBe(1);
  });

  // What wrote before leaves the pipe nearly full, and without waiting: it is killed, and cannot put that back.
  it('waits for a pipe that is full', () => {
    const filler = `process.stdout.write('x'.repeat(65000), () => process.kill(process.pid, 'SIGKILL'))`;
    const lines = `{ "${process.execPath}" -e "${filler}"; server --help; echo $? >&2; } | (sleep 2; cat > piped)`;
    expect(shell(lines).err.replace('Killed\n', '')).toBe('0\n');
    expect(shell('server --help > whole').status).toBe(0);
    const whole = readFileSync(join(folder, 'whole'), 'utf8');
    expect(whole.length).toBeGreaterThan(1000);
    expect(readFileSync(join(folder, 'piped'), 'utf8')).toBe(`${'x'.repeat(65_000)}${whole}`);
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
