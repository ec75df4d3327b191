import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readPassphrase } from './passphrase.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-passphrase-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const isRoot = process.getuid?.() === 0;
const credentials = join(folder, 'credentials');
mkdirSync(credentials);

/** Of a group that is not root's, unless it says so. */
function file(name: string, mode: number, gid = 12_345): string {
  const path = join(folder, name);
  writeFileSync(path, 'correct horse battery\n');
  if (isRoot) chownSync(path, 0, gid);
  chmodSync(path, mode);
  return path;
}

const read = (path: string, given: string | undefined = credentials) => readPassphrase(path, 'open', given);

describe('the file of a passphrase', () => {
  it.each([0o400, 0o600])('is taken with mode %o', async (mode) => {
    expect(await read(file(`own-${mode}`, mode))).toBe('correct horse battery');
  });

  it.each([0o440, 0o640, 0o604, 0o644, 0o660])('is not taken with mode %o', async (mode) => {
    await expect(read(file(`open-${mode}`, mode))).rejects.toThrow('chmod 600');
  });

  it('is taken as systemd gives it to a service, from its own folder alone', async () => {
    const given = file('credentials/backup', 0o440);
    expect(await read(given)).toBe('correct horse battery');
    await expect(readPassphrase(given, 'open', undefined)).rejects.toThrow('chmod 600');
    await expect(read(file('credentials/wide', 0o444))).rejects.toThrow('chmod 600');
    await expect(read(file('credentials/written', 0o460))).rejects.toThrow('chmod 600');
    symlinkSync(file('elsewhere', 0o440), join(credentials, 'link'));
    await expect(read(join(credentials, 'link'))).rejects.toThrow('chmod 600');
    mkdirSync(`${credentials}-too`);
    await expect(read(file('credentials-too/backup', 0o440))).rejects.toThrow('chmod 600');
  });

  it.runIf(isRoot)("is taken when its group is root's and only reads", async () => {
    expect(await read(file('of-root', 0o440, 0))).toBe('correct horse battery');
    await expect(read(file('written-by-root', 0o460, 0))).rejects.toThrow('chmod 600');
  });
});
