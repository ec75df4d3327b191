import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRootKeyFile, readRootKeys, rootKeyFrom } from './root-keys.ts';

describe('root key file', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'root-key-'));
    file = join(folder, 'root-key');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is made with 32 random bytes for its owner only, and never overwritten', async () => {
    const made = await createRootKeyFile(file);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const bytes = await readFile(file);
    expect(bytes).toHaveLength(32);
    await expect(createRootKeyFile(file)).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await readFile(file)).toEqual(bytes);
    const keys = await readRootKeys({ file });
    expect(!keys.sealed && keys.active.id).toBe(made.id);
  });

  it.each([0o640, 0o604, 0o660, 0o620, 0o666, 0o610])('is refused with mode %o', async (mode) => {
    await createRootKeyFile(file);
    await chmod(file, mode);
    expect(await readRootKeys({ file })).toMatchObject({
      sealed: true,
      problem: expect.stringContaining('0600'),
    });
  });

  it('may be read-only', async () => {
    await createRootKeyFile(file);
    await chmod(file, 0o400);
    expect(await readRootKeys({ file })).toMatchObject({ sealed: false });
  });

  it('missing, short, long or a folder leaves the store sealed', async () => {
    expect(await readRootKeys({ file })).toMatchObject({
      sealed: true,
      problem: expect.stringContaining('ENOENT'),
    });
    for (const size of [0, 31, 33]) {
      await writeFile(file, Buffer.alloc(size, 7), { mode: 0o600 });
      expect(await readRootKeys({ file })).toMatchObject({
        sealed: true,
        problem: expect.stringContaining(`${size} bytes`),
      });
    }
    expect(await readRootKeys({ file: folder })).toMatchObject({ sealed: true });
  });

  it('is known beside the retired one during a rotation', async () => {
    const old = await createRootKeyFile(file);
    const active = await createRootKeyFile(join(folder, 'next'));
    const keys = await readRootKeys({ file: join(folder, 'next'), retiredFile: file });
    expect(!keys.sealed && [keys.active.id, ...keys.retired.map((key) => key.id)]).toEqual([
      active.id,
      old.id,
    ]);
    const later = await readRootKeys({ file, retiredFile: join(folder, 'gone') });
    expect(later).toMatchObject({ sealed: false, retired: [] });
  });

  it('does not print its bytes', () => {
    const bytes = Buffer.from('0123456789abcdef0123456789abcdef');
    const printed =
      inspect(rootKeyFrom(bytes), { depth: 9, showHidden: true }) + JSON.stringify(rootKeyFrom(bytes));
    expect(printed).not.toContain('0123456789abcdef0');
    expect(printed).not.toContain(bytes.toString('hex'));
  });
});
