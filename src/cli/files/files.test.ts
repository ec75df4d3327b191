import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { BLOCK, header, type TarEntry, tarOf } from '../up/tar.ts';
import { remotePath } from './remote-path.ts';
import { packed } from './tar-writer.ts';
import { unpack } from './unpack.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-files-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function* pieces(bytes: Buffer, size = 700): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function unpacked(target: string, archive: Buffer, maxBytes = 2 ** 20): Promise<readonly string[]> {
  const skipped: string[] = [];
  await unpack(pieces(archive), {
    target,
    maxBytes,
    onFile: () => undefined,
    onSkipped: (path) => void skipped.push(path),
  });
  return skipped;
}

function hostile(entry: TarEntry, type?: string): Buffer {
  const content = entry.content ?? Buffer.alloc(0);
  const block = header({ ...entry, path: entry.path.slice(0, 100) }, content.length);
  if (type !== undefined) {
    block.write(type, 156, 'latin1');
    block.fill(' ', 148, 156);
  }
  const fill = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
  return Buffer.concat([block, content, fill]);
}

describe('an archive that is unpacked', () => {
  it('is what was packed: files, modes, links, long names, empty folders', async () => {
    const source = join(folder, 'source');
    const deep = join(source, 'd'.repeat(80), 'e'.repeat(80));
    mkdirSync(deep, { recursive: true });
    mkdirSync(join(source, 'empty'));
    writeFileSync(join(deep, 'f'.repeat(80)), Buffer.alloc(70_000, 7));
    writeFileSync(join(source, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    symlinkSync('run.sh', join(source, 'link'));
    const parts: Buffer[] = [];
    for await (const { bytes } of packed(source, 'renamed', () => undefined)) parts.push(bytes);
    const archive = Buffer.concat(parts);
    const listed = execFileSync('tar', ['-tf', '-'], { input: archive }).toString();
    expect(listed.split('\n').filter((line) => line.startsWith('renamed/')).length).toBe(7);
    const target = join(folder, 'target');
    expect(await unpacked(target, archive)).toEqual([]);
    expect(readFileSync(join(target, 'd'.repeat(80), 'e'.repeat(80), 'f'.repeat(80)))).toHaveLength(70_000);
    expect(lstatSync(join(target, 'run.sh')).mode & 0o777).toBe(0o755);
    expect(readlinkSync(join(target, 'link'))).toBe('run.sh');
    expect(existsSync(join(target, 'empty'))).toBe(true);
  });

  it.each([
    ['a name with ..', tarOf([{ path: 'x/' }, { path: 'x/../../escaped', content: Buffer.from('!') }])],
    ['an absolute name', tarOf([{ path: `${folder}/escaped`, content: Buffer.from('!') }])],
    [
      'a file through a link of the archive',
      tarOf([
        { path: 'x/' },
        { path: 'x/out', linkTo: folder },
        { path: 'x/out/escaped', content: Buffer.from('!') },
      ]),
    ],
    [
      'a hard link to a file outside',
      Buffer.concat([
        hostile({ path: 'x/' }),
        hostile({ path: 'x/escaped', linkTo: '../secret' }, '1'),
        Buffer.alloc(2 * BLOCK),
      ]),
    ],
    [
      'a long name with ..',
      Buffer.concat([
        hostile({ path: 'long', content: Buffer.from('x/../../escaped\0') }, 'L'),
        hostile({ path: 'short', content: Buffer.from('!') }),
        Buffer.alloc(2 * BLOCK),
      ]),
    ],
  ])('never writes outside: %s', async (_what, archive) => {
    writeFileSync(join(folder, 'secret'), 'secret');
    const place = mkdtempSync(join(folder, 'place-'));
    await unpacked(join(place, 'x'), archive).catch(() => undefined);
    expect(existsSync(join(folder, 'escaped'))).toBe(false);
    expect(existsSync(join(place, 'escaped'))).toBe(false);
    expect(existsSync(join(place, 'x', 'escaped'))).toBe(false);
  });

  it('writes through no link that was here before, and leaves out links that lead away', async () => {
    const target = mkdtempSync(join(folder, 'linked-'));
    symlinkSync(folder, join(target, 'mine'));
    const through = tarOf([{ path: 'x/' }, { path: 'x/mine/escaped', content: Buffer.from('!') }]);
    await expect(unpacked(target, through)).rejects.toThrow('is a link');
    expect(existsSync(join(folder, 'escaped'))).toBe(false);
    const away = tarOf([
      { path: 'x/' },
      { path: 'x/passwd', linkTo: '/etc/passwd' },
      { path: 'x/up', linkTo: '../..' },
    ]);
    expect(await unpacked(target, away)).toEqual(['x/passwd', 'x/up']);
  });

  it.each([
    ['a file', [{ path: 'x', content: Buffer.from('!') }]],
    ['a folder', [{ path: 'x/' }, { path: 'x/y', content: Buffer.from('!') }]],
  ])('ends where no folder can be made: %s', async (_what, entries) => {
    await expect(unpacked('/proc/nosuch/x', tarOf(entries))).rejects.toThrow('takes no new folder');
  });

  it('ends at the bound', async () => {
    const large = tarOf([{ path: 'x', content: Buffer.alloc(2000) }]);
    await expect(unpacked(join(folder, 'bounded'), large, 1000)).rejects.toThrow('--max-size');
  });
});

describe('a remote path', () => {
  it.each([
    ['web:/etc/nginx', { name: 'web', instance: undefined, path: '/etc/nginx' }],
    ['web:data', { name: 'web', instance: undefined, path: '/data' }],
    ['web/ins_01m7:/a:b', { name: 'web', instance: 'ins_01m7', path: '/a:b' }],
    ['web/web-03ws8jag:/x', { name: 'web', instance: 'web-03ws8jag', path: '/x' }],
    ['./web:/x', undefined],
    ['./web/data:1', undefined],
    ['logs/today:1', undefined],
    ['/tmp/a:b', undefined],
    ['file', undefined],
  ])('%s', (text, found) => {
    expect(remotePath(text)).toEqual(found);
  });
});
