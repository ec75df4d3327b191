import { mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { OwnFiles } from './own-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-own-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = join(folder, 'main.js');

it.each([
  ['another file in its place', () => renameSync(join(folder, 'next.js'), program)],
  ['another content', () => writeFileSync(program, 'newer')],
  ['the same once more', () => utimesSync(program, new Date(0), new Date(0))],
  ['nothing', () => rmSync(program)],
])('%s is noticed before anything is loaded', async (_what, replace) => {
  writeFileSync(program, 'old');
  writeFileSync(join(folder, 'next.js'), 'old');
  const files = new OwnFiles(program);
  files.require('the reader of YAML');
  expect(files.replaced).toBe(false);
  const [before, after] = [1, 2].map((n) => files.loader('it', async () => n));
  expect(await before?.()).toBe(1);
  replace();
  expect(files.replaced).toBe(true);
  expect(await before?.()).toBe(1);
  await expect(after?.()).rejects.toThrow('it cannot be loaded');
  expect(() => files.require('the reader of YAML')).toThrow(
    'the reader of YAML cannot be loaded: the files of this release were replaced while it runs',
  );
});
