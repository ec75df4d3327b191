import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { FolderError, makeFolder } from './folders.ts';

const root = mkdtempSync(join(tmpdir(), 'berth-folders-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const file = join(root, 'file');
writeFileSync(file, '');
const dangling = join(root, 'dangling');
symlinkSync(join(root, 'nowhere'), dangling);

function problemOf(path: string): string {
  try {
    makeFolder(path, '--data-dir');
  } catch (error) {
    if (error instanceof FolderError) return error.message;
    throw error;
  }
  return 'made';
}

describe('a folder', () => {
  it('is made with those above it, for its owner alone, and is fine when it is there', () => {
    const deep = join(root, 'a/b/c');
    expect([problemOf(deep), problemOf(deep), problemOf(`${deep}/`)]).toEqual(['made', 'made', 'made']);
    for (const path of ['a', 'a/b', 'a/b/c']) expect(statSync(join(root, path)).mode & 0o777).toBe(0o700);
  });

  it('is fine behind a link', () => {
    symlinkSync(root, join(root, 'link'));
    expect(problemOf(join(root, 'link'))).toBe('made');
    expect(problemOf(join(root, 'link/below/it'))).toBe('made');
    expect(statSync(join(root, 'below/it')).isDirectory()).toBe(true);
  });

  it.each([
    ['/proc/nosuch', 'the file system of /proc takes no new folder'],
    ['/proc/nosuch/x/y', 'the file system of /proc takes no new folder'],
    ['/sys/nosuch/x', 'permission denied in /sys'],
    [file, `${file} is there and is no folder`],
    [dangling, `${dangling} is there and is no folder`],
    [join(file, 'x/y'), `${file} is no folder`],
    [join(root, 'x'.repeat(300)), 'ENAMETOOLONG'],
  ])('that cannot be made ends, and says why: %s', (path, message) => {
    const said = problemOf(path);
    expect(said).toContain(`the folder ${path} cannot be made: `);
    expect(said).toContain(message);
    expect(said).toContain('choose another place (--data-dir)');
  });
});
