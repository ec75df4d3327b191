import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ensureResolvConf } from './resolv-conf.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-resolv-'));
const path = join(folder, 'resolv.conf');
afterAll(() => rmSync(folder, { recursive: true }));

const written = () => statSync(path, { bigint: true }).mtimeNs;

describe('the resolv.conf of containers', () => {
  it('is not touched while it is right', async () => {
    await ensureResolvConf(path, '10.211.255.254');
    const before = written();
    await ensureResolvConf(path, '10.211.255.254');
    expect(written()).toBe(before);
  });

  it('is changed in the same file, and names a resolver all the time', async () => {
    const { ino } = statSync(path);
    const seen = new Set<string>();
    let over = false;
    const watch = (): void => {
      if (over) return;
      seen.add(readFileSync(path, 'utf8').split('\n')[0] ?? '');
      setImmediate(watch);
    };
    watch();
    for (const resolver of ['10.9.255.254', '10.211.255.254', '10.9.255.254'])
      await ensureResolvConf(path, resolver);
    over = true;
    expect(statSync(path).ino).toBe(ino);
    expect([...seen].toSorted()).toEqual(['nameserver 10.211.255.254', 'nameserver 10.9.255.254']);
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(4);
  });
});
