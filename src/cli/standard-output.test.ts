import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { shellFor } from '../../test/support/shell-line.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const folder = mkdtempSync(join(tmpdir(), 'berth-output-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const shell = shellFor('berth', MAIN, folder);

describe('standard output', () => {
  it('that takes nothing ends the command with 1 and the reason', () => {
    const { status, err } = shell('berth explain image_not_found > /dev/full');
    expect(err).toMatch(/^berth: standard output: ENOSPC.*\n {2}.*not all there.*\n$/);
    expect(status).toBe(1);
  });

  // A limit in place of a small disk: the first write takes a part, without an error.
  it('that takes a part only does so, too', () => {
    const { status, err } = shell('ulimit -f 1; berth apply --help > cut');
    expect(err).toMatch(/^berth: standard output: EFBIG/);
    expect(status).toBe(1);
  });

  it('is no error when its reader goes away', () => {
    const { err } = shell('berth apply --help | true');
    expect(err).toBe('');
  });

  it('and standard error on a full disk leave the status', () => {
    expect(shell('berth explain image_not_found > /dev/full 2> /dev/full').status).toBe(1);
    expect(shell('berth explain nothing_of_this_name 2> /dev/full').status).toBe(2);
  });
});
