import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { versionIn } from './caddy.ts';
import { takenPort } from './caddy-keeper.ts';
import { LogTail, troubleIn } from './caddy-log.ts';

const REFUSED = {
  level: 'error',
  logger: 'tls.obtain',
  msg: 'could not get certificate from issuer',
  identifier: 'a.example',
  error: 'HTTP 429 urn:ietf:params:acme:error:rateLimited - too many certificates',
};

describe('what Caddy says', () => {
  it('of an authority is told in its words, bounded', () => {
    expect(troubleIn(JSON.stringify(REFUSED))).toEqual({ host: 'a.example', problem: REFUSED.error });
    const long = troubleIn(JSON.stringify({ ...REFUSED, error: 'x'.repeat(5_000) }));
    expect(long?.problem).toHaveLength(500);
  });

  it.each([
    'no JSON',
    JSON.stringify({ ...REFUSED, level: 'warn' }),
    JSON.stringify({ ...REFUSED, logger: 'admin.api' }),
    JSON.stringify({ ...REFUSED, identifier: undefined }),
    JSON.stringify({ ...REFUSED, error: 'a.example: no solvers available for remaining challenges (…)' }),
  ])('of other things is not: %s', (line) => {
    expect(troubleIn(line)).toBeUndefined();
  });

  it('of a port names the port', () => {
    const words =
      'loading new config: http app module: start: listening on :80: listen tcp :80: bind: address already in use';
    expect(takenPort(words)).toContain('tcp port 80 is in use');
    expect(takenPort('another thing')).toBeUndefined();
  });

  it.each([
    ['2.6.2\n', '2.6.2'],
    ['v2.8.4 h1:q3pe0wpBj1OcHFZ3n/1nl4V4bxBrYoSoab7rL9BMYNk=', '2.8.4'],
    ['(devel)', undefined],
  ])('of its version: %s', (output, expected) => {
    expect(versionIn(output)).toBe(expected);
  });

  it('is read once, also over the change to another file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-tail-'));
    try {
      const path = join(folder, 'log');
      const tail = new LogTail(path);
      expect(await tail.lines()).toEqual([]);
      writeFileSync(path, 'one\ntw');
      expect(await tail.lines()).toEqual(['one']);
      writeFileSync(path, 'o\n', { flag: 'a' });
      expect(await tail.lines()).toEqual(['two']);
      renameSync(path, `${path}.1`);
      writeFileSync(path, 'three\n');
      expect(await tail.lines()).toEqual(['three']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
