import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BindNotAllowedError, checkBindSource } from './bind-roots.ts';

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-binds-'));
  mkdirSync(join(root, 'shop/data'), { recursive: true });
  mkdirSync(join(root, 'other'));
  symlinkSync('/', join(root, 'shop/way-out'));
  symlinkSync(join(root, 'shop/data'), join(root, 'shop/link'));
  writeFileSync(join(root, 'shop/file'), '');
});

afterAll(() => rmSync(root, { recursive: true }));

describe('the source of a bind', () => {
  it.each(['shop/data', 'shop/new/deep'])('may be %s', async (path) => {
    expect(await checkBindSource(join(root, path), [root], 'shop')).toMatch(new RegExp(`/${path}$`));
    expect(existsSync(join(root, path))).toBe(true);
  });

  it.each([
    '/etc',
    '',
    'shop',
    'ROOT/shop',
    'ROOT/shop/',
    'ROOT/other/data',
    'ROOT/shop/../other',
    'ROOT/shop/./data',
    'ROOT/shop//data',
    'ROOT/shop/way-out',
    'ROOT/shop/way-out/etc',
    'ROOT/shop/link',
    'ROOT/shop/file',
    'ROOT/shop/data\0x',
    'ROOT/shopping/data',
  ])('may not be %j', async (path) => {
    const source = path.replace('ROOT', root);
    await expect(checkBindSource(source, [root], 'shop')).rejects.toBeInstanceOf(BindNotAllowedError);
  });

  it('is nowhere without a root', async () => {
    await expect(checkBindSource(join(root, 'shop/data'), [], 'shop')).rejects.toThrow('no bind root');
  });
});
