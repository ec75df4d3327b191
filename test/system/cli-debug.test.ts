import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { specimen } from '../../src/core/rules/credentials/specimen.ts';
import { BOOTSTRAP } from '../support/harness/caller.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';

const BERTH = join(import.meta.dirname, '../../bin/berth');
const folder = mkdtempSync(join(tmpdir(), 'berth-debug-'));
/** In the environment of the control plane and in that of the command. */
const CANARY = specimen('', 20);
const plane = new PlaneProcess({ BERTH_TEST_PASSWORD: CANARY });
let token = '';

interface Outcome {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

function berth(words: readonly string[], changes: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    NO_COLOR: '1',
    BERTH_CLI_SERVER: plane.url,
    BERTH_CLI_TOKEN: token,
    ...changes,
  };
  return new Promise((resolve) => {
    execFile(BERTH, words, { cwd: folder, env }, (error, out, err) => {
      resolve({ status: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

function unpacked(archive: string): Map<string, string> {
  const to = mkdtempSync(join(folder, 'out-'));
  execFileSync('tar', ['-xzf', join(folder, archive), '-C', to]);
  const files = readdirSync(to, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(to.length + 1).replace(/^[^/]*\//, ''), readFileSync(path, 'utf8')];
    }),
  );
}

beforeAll(async () => {
  await plane.start();
  token = BOOTSTRAP;
});
afterAll(async () => {
  await plane.dispose();
  rmSync(folder, { recursive: true, force: true });
});

describe('berth debug', () => {
  it('makes one archive that holds no credential', async () => {
    const { status, out, err } = await berth(['debug', '--for', '1s', '--to', 'whole.tar.gz']);
    expect([status, err]).toEqual([0, expect.stringContaining('sampling')]);
    expect(out).toMatch(/^whole\.tar\.gz: \d+ files, .*, \d+ redactions\n$/);
    const files = unpacked('whole.tar.gz');
    expect([...files.keys()]).toEqual(
      expect.arrayContaining(['report.json', 'server/versions.json', 'server/log.jsonl', 'local/doctor.txt']),
    );
    const text = [...files.values()].join('\n');
    for (const secret of [token, CANARY]) expect(text.includes(secret)).toBe(false);
    expect(statSync(join(folder, 'whole.tar.gz')).mode & 0o777).toBe(0o600);
    expect((await berth(['debug', '--for', '1s', '--to', 'whole.tar.gz'])).err).toContain('exists already');
  });

  it('has what can be had without a control plane, and says what is missing', async () => {
    writeFileSync(join(folder, 'other.yaml'), `dataDir: /srv/berth\npassword: ${CANARY}\n`);
    const away = { BERTH_CLI_SERVER: 'http://127.0.0.1:1' };
    const { status, err } = await berth(['debug', '--to', 'away.tgz', '--config', 'other.yaml'], away);
    expect([status, err]).toEqual([3, expect.stringContaining('missing: server:')]);
    const files = unpacked('away.tgz');
    expect([...files.keys()].sort()).toEqual([
      'local/configuration.yaml',
      'local/doctor.txt',
      'local/versions.json',
      'report.json',
    ]);
    expect(files.get('local/configuration.yaml')).toBe(
      'dataDir: /srv/berth\n<redacted: embedded_assignment>\n',
    );
    const local = await berth(['debug', '--local', '--to', 'local.tgz'], away);
    expect([local.status, local.err]).toEqual([0, expect.stringContaining('not asked (--local)')]);
  });

  it('writes nothing when it is refused', async () => {
    const { status } = await berth(['debug', '--to', 'refused.tgz', '--member', 'nobody']);
    expect([status, existsSync(join(folder, 'refused.tgz'))]).toEqual([1, false]);
  });
});

describe('berth server logs', () => {
  it('prints the last lines, and follows for a while', async () => {
    const last = await berth(['server', 'logs', '--tail', '3']);
    expect([last.status, last.out]).toEqual([0, expect.stringContaining('"program":"berth-server"')]);
    const followed = await berth(['server', 'logs', '-f', '--level', 'debug', '--for', '1s']);
    expect([followed.status, followed.err]).toEqual([0, 'ended: the time is over\n']);
  });
});
