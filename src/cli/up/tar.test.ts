import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { tarOf } from './tar.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-tar-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('an archive', () => {
  it('is what tar itself unpacks', () => {
    const archive = tarOf([
      { path: 'bin/' },
      { path: 'tmp/', mode: 0o1777 },
      { path: 'bin/box', mode: 0o755, content: Buffer.alloc(1500, 'x') },
      { path: 'bin/sh', linkTo: 'box' },
      { path: 'empty' },
    ]);
    expect(archive.length % 512).toBe(0);
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    expect(readFileSync(join(folder, 'bin/box'), 'utf8')).toBe('x'.repeat(1500));
    expect(statSync(join(folder, 'bin/box')).mode & 0o777).toBe(0o755);
    expect(statSync(join(folder, 'tmp')).mode & 0o7777).toBe(0o1777);
    expect(readlinkSync(join(folder, 'bin/sh'))).toBe('box');
    expect(statSync(join(folder, 'empty')).size).toBe(0);
  });

  it('has the same bytes each time', () => {
    const entries = [{ path: 'a', content: Buffer.from('a') }];
    expect(tarOf(entries).equals(tarOf(entries))).toBe(true);
  });

  it('refuses a name that does not fit', () => {
    expect(() => tarOf([{ path: 'x'.repeat(101) }])).toThrow('too long');
  });
});
