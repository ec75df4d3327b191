import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { divergedIn, numbered } from './copy-folder.ts';
import { Discards } from './discards.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-discards-'));
  mkdirSync(join(folder, 'diverged-1', 'below'), { recursive: true });
  writeFileSync(join(folder, 'diverged-1', 'below', 'file'), 'bytes');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('is done with a tree before its files are deleted, and goes on with what was cut off', async () => {
  const discards = new Discards();
  await discards.discard(join(folder, 'diverged-1'));
  discards.end();
  const [left = '', ...others] = readdirSync(folder);
  expect([others, readdirSync(join(folder, left, 'below'))]).toEqual([[], ['file']]);
  expect(left).toMatch(/^discarded-/);
  expect([await divergedIn(folder), await numbered(folder, 'diverged')]).toEqual([[], []]);
  mkdirSync(join(folder, 'data-2'));
  await discards.resume(folder);
  await vi.waitFor(() => expect(readdirSync(folder)).toEqual(['data-2']));
});

it('ends what it deletes in one folder alone', async () => {
  const discards = new Discards();
  await discards.discard(join(folder, 'diverged-1'));
  discards.end(join(folder, 'another'));
  await vi.waitFor(() => expect(readdirSync(folder)).toEqual([]));
});

it('fails with what is not there', async () => {
  await expect(new Discards().discard(join(folder, 'diverged-2'))).rejects.toThrow('ENOENT');
});
