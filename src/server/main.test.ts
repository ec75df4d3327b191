import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const MAIN = join(import.meta.dirname, 'main.ts');

/** The program as a line of a shell. */
function shell(line: string): { readonly status: number | null; readonly err: string } {
  const { status, stderr } = spawnSync(
    'sh',
    ['-c', line.replace('server', `"${process.execPath}" "${MAIN}"`)],
    { encoding: 'utf8' },
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
