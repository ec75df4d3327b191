import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isRejection } from '../core/rejections/reject.ts';
import { authenticate, platformTenantId, ProvenTokens } from './access/authenticate.ts';
import { parseToken } from './access/token.ts';
import { bootstrap, readOrCreateKey } from './bootstrap.ts';
import { systemClock } from './clock.ts';
import { ConfigError } from './config-values.ts';
import { createIds } from './ids.ts';
import type { Kv } from './store/kv.ts';
import { createMemoryKv } from './store/memory.ts';
import { Store } from './store/store.ts';
import { Transaction } from './store/transaction.ts';
import { StoreView } from './store/view.ts';

const KEY = Buffer.alloc(32, 3);
let folder: string;
let kv: Kv;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-bootstrap-'));
  kv = createMemoryKv();
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('a key file', () => {
  it('names the setting when its folder cannot be made', () => {
    expect(() => readOrCreateKey('/proc/nosuch/token.key')).toThrow(
      /the folder \/proc\/nosuch cannot be made: .*\(keys\.tokenKeyFile\)/,
    );
  });

  it('is made once, readable by its owner only', () => {
    const path = join(folder, 'keys', 'token.key');
    const key = readOrCreateKey(path);
    expect(key).toHaveLength(32);
    expect(modeOf(path)).toBe(0o600);
    expect(modeOf(join(folder, 'keys'))).toBe(0o700);
    expect(readOrCreateKey(path)).toEqual(key);
  });

  it.each([0o640, 0o604, 0o660, 0o644])('that others can read (%o) is refused', (mode) => {
    const path = join(folder, 'token.key');
    readOrCreateKey(path);
    chmodSync(path, mode);
    expect(() => readOrCreateKey(path)).toThrow(ConfigError);
  });

  it.each([
    '',
    'zz',
    'ab'.repeat(31),
    'ab'.repeat(33),
    `${'ab'.repeat(32)}c`,
    `${'ab'.repeat(32)} x`,
    'ä'.repeat(64),
  ])('that holds %j is refused, and its content not shown', (text) => {
    const path = join(folder, 'token.key');
    writeFileSync(path, text, { mode: 0o600 });
    let message = '';
    try {
      readOrCreateKey(path);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain(path);
    // The folder's name is random, and may contain a short one.
    if (text !== '') expect(message.replace(path, '')).not.toContain(text);
  });
});

async function start(bootstrapToken?: string, dataDir = folder) {
  const view = await StoreView.open(kv, { onProblem: () => undefined });
  const store = new Store(kv, view);
  const said: string[] = [];
  await bootstrap({
    store,
    clock: systemClock,
    ids: createIds(systemClock),
    tokenKey: KEY,
    dataDir,
    bootstrapToken,
    say: (message) => said.push(message),
  });
  const access = { store, tokenKey: KEY, clock: systemClock, proven: new ProvenTokens() };
  return { store, said, enter: (token: string) => !isRejection(authenticate(access, `Bearer ${token}`)) };
}

const tokenIn = (dataDir: string) => readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();

describe('the first start', () => {
  it('makes the platform and writes a token that opens it', async () => {
    const { store, said, enter } = await start();
    expect(platformTenantId(store)).toBeDefined();
    const token = tokenIn(folder);
    expect(enter(token)).toBe(true);
    expect(modeOf(join(folder, 'admin-token'))).toBe(0o600);
    expect(said.join('\n')).toContain(join(folder, 'admin-token'));
    expect(said.join('\n')).not.toContain(token);
    expect(JSON.stringify((await kv.range('')).entries)).not.toContain(parseToken(token)?.secret);
  });

  it('replaces a file that others could read', async () => {
    writeFileSync(join(folder, 'admin-token'), 'old', { mode: 0o644 });
    await start();
    expect(modeOf(join(folder, 'admin-token'))).toBe(0o600);
    expect(tokenIn(folder)).not.toBe('old');
  });

  it('leaves the written token valid when the process ends right after the commit', async () => {
    const commit = kv.commit.bind(kv);
    let written = '';
    kv = {
      ...kv,
      commit: async (parts) => {
        written = tokenIn(folder);
        return commit(parts);
      },
    };
    const { enter } = await start();
    expect(enter(written)).toBe(true);
  });

  it('of several processes at once makes one platform; the others leave no token', async () => {
    const folders = ['a', 'b', 'c'].map((name) => join(folder, name));
    const starts = await Promise.all(folders.map((dataDir) => start(undefined, dataDir)));
    expect(new Set(starts.map(({ store }) => platformTenantId(store))).size).toBe(1);
    const winners = folders.filter((dataDir) => existsSync(join(dataDir, 'admin-token')));
    expect(winners).toHaveLength(1);
    expect(starts.every(({ enter }) => enter(tokenIn(winners[0] ?? '')))).toBe(true);
  });

  it('happens once', async () => {
    await start();
    const token = tokenIn(folder);
    rmSync(join(folder, 'admin-token'));
    const { enter } = await start();
    expect(enter(token)).toBe(true);
    expect(existsSync(join(folder, 'admin-token'))).toBe(false);
  });
});

describe('BERTH_BOOTSTRAP_TOKEN', () => {
  const FIRST = 'first-'.padEnd(32, 'x');
  const SECOND = 'second-'.padEnd(40, 'y');

  it('opens the platform, and no file is written', async () => {
    const { enter, said } = await start(FIRST);
    expect(enter(FIRST)).toBe(true);
    expect(existsSync(join(folder, 'admin-token'))).toBe(false);
    expect(said.join('')).not.toContain(FIRST);
  });

  it('changed, takes the place of the old one', async () => {
    await start(FIRST);
    const { enter, said } = await start(SECOND);
    expect([enter(FIRST), enter(SECOND)]).toEqual([false, true]);
    expect(said).toHaveLength(1);
    expect((await start(SECOND)).said).toEqual([]);
  });

  it('added later, opens a platform that began without it', async () => {
    await start();
    const { enter } = await start(FIRST);
    expect([enter(FIRST), enter(tokenIn(folder))]).toEqual([true, true]);
  });

  it('revoked, does not come back by a restart', async () => {
    const { store } = await start(FIRST);
    const stored = store.getGlobal('tokens', 'bootstrap');
    if (stored === undefined) throw new Error('no bootstrap token');
    const revoked = { ...stored.record, revokedAt: '2026-01-01T00:00:00Z' };
    await store.commit(new Transaction(revoked.tenantId).putGlobal('tokens', 'bootstrap', revoked));
    expect((await start(FIRST)).enter(FIRST)).toBe(false);
  });

  it.each(['x'.repeat(31), '', `${'x'.repeat(32)} y`, `${'x'.repeat(32)}\n`])(
    '%j is refused',
    async (token) => {
      await expect(start(token)).rejects.toThrow(ConfigError);
      expect((await kv.range('')).entries).toEqual([]);
    },
  );
});
