import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import { SecretValue } from '../../src/core/model/secret-value.ts';
import { resolveEnvironment } from '../../src/server/secrets/resolve.ts';
import type { SecretsStore } from '../../src/server/secrets/port.ts';
import type { VaultAuth } from '../../src/server/secrets/vault/session.ts';
import { createVaultSecrets, type VaultSecretsOptions } from '../../src/server/secrets/vault/store.ts';
import { selfSigned } from '../support/harness/certificates.ts';
import { startVaultEndpoint, type VaultEndpoint } from '../support/harness/vault/endpoint.ts';
import { given } from '../support/harness/vault/given.ts';
import { revealed, secretValues } from './secrets-contract.ts';

const DB = { namespace: 'resources', label: 'db' };
const SPEC = {
  secrets: [{ name: 'DB', vault_path: 'resources/db', anchor: 'external', rotation: 'restart' }],
} as const;

let vault: VaultEndpoint;
let tenant: TenantId;
let stores: SecretsStore[];

beforeEach(async () => {
  vault = await startVaultEndpoint();
  tenant = randomUUID() as TenantId;
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  await vault.close();
});

function connect(auth?: VaultAuth, options: Partial<VaultSecretsOptions> = {}): SecretsStore {
  const store = createVaultSecrets({
    address: vault.address,
    auth: auth ?? { kind: 'token', token: given(vault.rootToken) },
    timeoutMs: 500,
    ...options,
  });
  stores.push(store);
  return store;
}

const approle = (): VaultAuth => ({
  kind: 'approle',
  roleId: vault.appRole.roleId,
  secretId: given(vault.appRole.secretId),
});
const seen = (pattern: RegExp): number => vault.requests.filter((request) => pattern.test(request)).length;

describe('vault: refusals told apart (F-22)', () => {
  const cases: readonly [string, () => void, string][] = [
    ['403', () => (vault.switches.denied = /\/data\//), 'denied'],
    ['sealed', () => (vault.switches.sealed = true), 'sealed'],
    ['429', () => (vault.switches.rateLimited = true), 'unavailable'],
    ['500', () => (vault.switches.broken = 500), 'unavailable'],
    ['503 of a proxy', () => (vault.switches.broken = 503), 'unavailable'],
    ['a standby (472)', () => (vault.switches.broken = 472), 'unavailable'],
    ['slow', () => (vault.switches.slowMs = 5_000), 'unavailable'],
  ];

  it.each(cases)('%s: fails closed, and recovers when it is over', async (_name, begin, reason) => {
    const store = connect();
    await store.write(tenant, DB, secretValues({ password: 'marker-77' }));
    begin();
    const started = performance.now();
    const failed = await store.read(tenant, DB);
    expect(failed).toMatchObject({ ok: false, reason });
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(JSON.stringify(failed)).not.toContain('marker-77');
    const unresolved = await resolveEnvironment(store, tenant, SPEC);
    expect(unresolved).toMatchObject({ ok: false, reason });
    expect('env' in unresolved).toBe(false);
    expect(await store.write(tenant, DB, secretValues({ password: 'x' }))).toMatchObject({ ok: false });

    Object.assign(vault.switches, {
      denied: undefined,
      sealed: false,
      rateLimited: false,
      broken: undefined,
      slowMs: 0,
    });
    const resolved = await resolveEnvironment(store, tenant, SPEC);
    expect(resolved.ok && revealed(resolved.env)).toEqual({ DB_password: expect.any(String) });
  });

  it('down: unavailable, and up again', async () => {
    const store = connect();
    const gone = connect(undefined, { address: 'http://127.0.0.1:1' });
    expect(await gone.read(tenant, DB)).toMatchObject({ ok: false, reason: 'unavailable' });
    expect(await gone.status()).toMatchObject({
      connected: false,
      sealed: false,
      problem: expect.any(String),
    });
    expect(await store.status()).toEqual({ kind: 'vault', connected: true, sealed: false });
  });

  it('404, a deleted version and a document that is not text are missing', async () => {
    const store = connect();
    await store.write(tenant, DB, secretValues({ password: 'x' }));
    vault.softDelete(`berth-${tenant}`, 'resources/db');
    expect(await store.read(tenant, DB)).toMatchObject({ ok: false, reason: 'missing' });
    expect(await store.metadata(tenant, DB)).toEqual({ ok: true, exists: false, currentVersion: 1 });
    vault.put(`berth-${tenant}`, 'resources/db', { password: 'x', port: 5432 });
    expect(await store.read(tenant, DB)).toMatchObject({ ok: false, reason: 'missing' });
    expect(await resolveEnvironment(store, tenant, SPEC)).toMatchObject({
      reason: 'missing_document',
    });
  });
});

describe('vault: calls', () => {
  it('repeats reads that fail in passing, and never a write', async () => {
    const store = connect();
    await store.write(tenant, DB, secretValues({ a: '1' }));
    vault.switches.failNext = 2;
    expect(await store.read(tenant, DB)).toMatchObject({ ok: true });
    const before = seen(/^POST .*\/data\//);
    vault.switches.failNext = 1;
    expect(await store.write(tenant, DB, secretValues({ a: '2' }))).toMatchObject({
      ok: false,
      reason: 'unavailable',
    });
    expect(seen(/^POST .*\/data\//)).toBe(before + 1);
  });

  it('makes the mount of a tenant on the first write, and waits until it is ready', async () => {
    vault.switches.upgradeAnswers = 3;
    const store = connect();
    expect(await store.write(tenant, DB, secretValues({ a: '1' }))).toMatchObject({ ok: true, version: 1 });
    expect(seen(new RegExp(`^POST /v1/sys/mounts/berth-${tenant}$`))).toBe(1);
  });

  it('is denied when it may not make the mount', async () => {
    vault.switches.denied = /^sys\/mounts/;
    expect(await connect().write(tenant, DB, secretValues({ a: '1' }))).toMatchObject({
      ok: false,
      reason: 'denied',
    });
  });

  it('learns keys without reading values, and by reading them from servers before subkeys', async () => {
    const store = connect();
    await store.write(tenant, DB, secretValues({ password: 'x', user: 'y' }));
    expect(await store.metadata(tenant, DB)).toMatchObject({ keys: ['password', 'user'] });
    expect(seen(/^GET .*\/data\//)).toBe(0);
    vault.switches.withoutSubkeys = true;
    expect(await store.metadata(tenant, DB)).toMatchObject({ keys: ['password', 'user'] });
  });

  it('asks for nothing outside the mount of the tenant', async () => {
    const store = connect();
    await store.write(tenant, DB, secretValues({ a: '1' }));
    for (const label of ['..%2f..%2fother', '%2e%2e', 'a%2fb', '..', 'a/../b']) {
      const path = { namespace: 'resources', label };
      await store.read(tenant, path).catch(() => undefined);
      await store.metadata(tenant, path).catch(() => undefined);
    }
    const foreign = vault.requests.filter((request) => {
      const path = new URL(request.split(' ')[1] ?? '', 'http://localhost').pathname;
      return (
        !path.startsWith(`/v1/berth-${tenant}/`) &&
        !path.startsWith('/v1/auth/') &&
        !path.startsWith('/v1/sys/mounts/berth-') &&
        !path.startsWith(`/v1/sys/internal/ui/mounts/berth-${tenant}`)
      );
    });
    expect(foreign).toEqual([]);
  });
});

describe('vault: token', () => {
  it('logs in by AppRole once for many callers', async () => {
    const store = connect(approle());
    await store.write(tenant, DB, secretValues({ a: '1' }));
    await Promise.all(Array.from({ length: 10 }, () => store.read(tenant, DB)));
    expect(seen(/approle\/login/)).toBe(1);
  });

  it('does not hammer a login that is refused', async () => {
    const store = connect({
      kind: 'approle',
      roleId: vault.appRole.roleId,
      secretId: given('wrong'),
    });
    for (let attempt = 0; attempt < 5; attempt++) {
      expect(await store.read(tenant, DB)).toMatchObject({ ok: false, reason: 'denied' });
    }
    expect(seen(/approle\/login/)).toBe(1);
    expect(await store.status()).toMatchObject({
      connected: false,
      sealed: false,
      problem: expect.stringContaining('AppRole'),
    });
  });

  it('logs in anew when its token was revoked, and not when the policy refuses', async () => {
    const store = connect(approle());
    await store.write(tenant, DB, secretValues({ a: '1' }));
    for (const token of vault.tokens.keys()) vault.revoke(token);
    expect(await store.write(tenant, DB, secretValues({ a: '2' }))).toMatchObject({ ok: true, version: 2 });
    expect(seen(/approle\/login/)).toBe(2);
    vault.switches.denied = /\/data\//;
    expect(await store.read(tenant, DB)).toMatchObject({ ok: false, reason: 'denied' });
    expect(seen(/approle\/login/)).toBe(2);
  });

  it('renews a token at two thirds of its life, and so outlives it', async () => {
    const token = vault.issueToken(1);
    const store = connect({ kind: 'token', token: given(token) });
    await store.write(tenant, DB, secretValues({ a: '1' }));
    await vi.waitFor(() => expect(vault.tokens.get(token)?.renewals).toBeGreaterThanOrEqual(2), {
      timeout: 5_000,
      interval: 20,
    });
    expect(await store.read(tenant, DB)).toMatchObject({ ok: true });
  });

  it('denies when a plain token is refused, and says so', async () => {
    const store = connect({ kind: 'token', token: given('hvs.marker-token') });
    const failed = await store.read(tenant, DB);
    expect(failed).toMatchObject({ ok: false, reason: 'denied' });
    expect(await store.status()).toMatchObject({ connected: false, problem: expect.stringContaining('403') });
    expect(JSON.stringify([failed, await store.status()])).not.toContain('marker-token');
  });
});

describe('vault: credentials that change while it runs', () => {
  const told: string[] = [];
  const warn = (_details: unknown, message: string): void => void told.push(message);
  beforeEach(() => void told.splice(0));

  it('takes up a token that was put in place of the old one', async () => {
    let token = vault.issueToken(3600);
    const store = connect({ kind: 'token', token: () => new SecretValue(token) });
    await store.write(tenant, DB, secretValues({ a: '1' }));
    vault.revoke(token);
    expect(await store.read(tenant, DB)).toMatchObject({
      ok: false,
      reason: 'denied',
      message: expect.stringContaining('token'),
    });
    token = vault.issueToken(3600);
    expect(await store.read(tenant, DB)).toMatchObject({ ok: true });
    expect(await store.status()).toMatchObject({ connected: true });
  });

  it('takes up a token that changed although the old one is good', async () => {
    const old = vault.issueToken(3600);
    let token = old;
    const store = connect({ kind: 'token', token: () => new SecretValue(token) });
    await store.write(tenant, DB, secretValues({ a: '1' }));
    token = vault.issueToken(3600);
    const looked = () => seen(/lookup-self/);
    const before = looked();
    await vi.waitFor(
      async () => {
        await store.read(tenant, DB);
        expect(looked()).toBeGreaterThan(before);
      },
      { timeout: 10_000, interval: 100 },
    );
    vault.revoke(old);
    expect(await store.read(tenant, DB)).toMatchObject({ ok: true });
  });

  it('takes up a secret id that was renewed', async () => {
    const first = vault.appRole.secretId;
    let secretId = first;
    const store = connect({
      kind: 'approle',
      roleId: vault.appRole.roleId,
      secretId: () => new SecretValue(secretId),
    });
    await store.write(tenant, DB, secretValues({ a: '1' }));
    vault.appRole.secretId = 'another';
    for (const token of vault.tokens.keys()) vault.revoke(token);
    expect(await store.read(tenant, DB)).toMatchObject({ ok: false, reason: 'denied' });
    secretId = 'another';
    // The refused login is held back for 5 s, unless there is another credential to try.
    await vi.waitFor(async () => expect(await store.read(tenant, DB)).toMatchObject({ ok: true }), {
      timeout: 4_000,
      interval: 100,
    });
  });

  it('logs in where the AppRole is mounted, and says where it looked', async () => {
    vault.appRole.mount = 'berth/role';
    const store = connect({ ...approle(), mount: 'berth/role' } as VaultAuth);
    expect(await store.write(tenant, DB, secretValues({ a: '1' }))).toMatchObject({ ok: true });
    const elsewhere = connect(approle());
    expect(await elsewhere.read(tenant, DB)).toMatchObject({
      ok: false,
      reason: 'unusable',
      message: expect.stringContaining('secrets.vault.appRoleMount'),
    });
  });

  it('warns once before a token ends that cannot be renewed', async () => {
    const store = connect({ kind: 'token', token: given(vault.issueToken(1, false)) }, { warn });
    await store.write(tenant, DB, secretValues({ a: '1' }));
    await vi.waitFor(() => expect(told).toHaveLength(1), { timeout: 5_000, interval: 20 });
    expect(told[0]).toContain('cannot be renewed');
    await vi.waitFor(async () => expect(await store.read(tenant, DB)).toMatchObject({ reason: 'denied' }), {
      timeout: 5_000,
      interval: 50,
    });
    expect(told).toHaveLength(1);
  });

  it('says once that the store is lost, and once that it is back', async () => {
    const store = connect(undefined, { warn });
    await store.status();
    vault.switches.sealed = true;
    for (let look = 0; look < 3; look += 1) await store.status();
    vault.switches.sealed = false;
    for (let look = 0; look < 3; look += 1) await store.status();
    expect(told).toEqual(['the secrets store is lost', 'the secrets store is back']);
  });
});

describe('vault: a policy that grants less', () => {
  it.each<readonly [string, RegExp, (store: SecretsStore) => Promise<unknown>, string]>([
    ['a read', /\/data\//, (store) => store.read(tenant, DB), 'read on berth-'],
    [
      'a write',
      /\/data\//,
      (store) => store.write(tenant, DB, secretValues({ a: '2' })),
      'create and update on berth-',
    ],
    ['metadata', /\/metadata\//, (store) => store.metadata(tenant, DB), 'read on berth-'],
    ['keys', /\/subkeys\//, (store) => store.metadata(tenant, DB), 'subkeys/resources/db'],
    ['a list', /\/metadata\//, (store) => store.list(tenant, 'resources'), 'list on berth-'],
    ['a removal', /\/metadata\//, (store) => store.remove(tenant, DB), 'delete on berth-'],
    ['the mount', /^sys\/mounts/, (store) => store.destroyTenant(tenant), 'delete on sys/mounts/berth-'],
  ])('names path and capability of %s', async (_what, denied, ask, words) => {
    const store = connect();
    await store.write(tenant, DB, secretValues({ a: '1' }));
    vault.switches.denied = denied;
    expect(await ask(store)).toMatchObject({
      ok: false,
      reason: 'denied',
      message: expect.stringContaining(words),
    });
  });

  it('tells one denied path by itself', async () => {
    const store = connect();
    await store.write(tenant, DB, secretValues({ a: '1' }));
    await store.write(tenant, { ...DB, label: 'cache' }, secretValues({ a: '1' }));
    vault.switches.denied = /\/metadata\/resources\/db/;
    const described = await store.describe(tenant, 'resources', ['db', 'cache']);
    expect(described.ok && [...described.documents.keys()]).toEqual(['cache']);
    expect(described.ok && [...(described.denied ?? [])].map(([label]) => label)).toEqual(['db']);
  });

  it('takes a mount for removed that its operator removed', async () => {
    vault.switches.denied = /^sys\/mounts/;
    expect(await connect().destroyTenant(tenant)).toEqual({ ok: true });
  });
});

describe('vault: many references', () => {
  it('cost one deadline when the store hangs', async () => {
    const store = connect();
    const secrets = Array.from({ length: 20 }, (_, n) => ({
      name: `S${n}`,
      vault_path: `resources/s${n}`,
      anchor: 'external',
      rotation: 'restart' as const,
    }));
    for (const { vault_path } of secrets) vault.put(`berth-${tenant}`, vault_path, { a: 'x' });
    expect(await resolveEnvironment(store, tenant, { secrets }, undefined)).toMatchObject({ ok: true });
    vault.switches.slowMs = 60_000;
    const started = performance.now();
    expect(await resolveEnvironment(store, tenant, { secrets }, undefined)).toMatchObject({
      ok: false,
      reason: 'unavailable',
    });
    // One after another they took 20 deadlines of half a second.
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe('vault: status', () => {
  it('tells sealed, not initialised and reachable apart', async () => {
    const store = connect();
    vault.switches.sealed = true;
    expect(await store.status()).toMatchObject({ connected: true, sealed: true });
    Object.assign(vault.switches, { sealed: false, initialized: false });
    expect(await store.status()).toMatchObject({
      connected: true,
      sealed: true,
      problem: expect.stringContaining('initialised'),
    });
    vault.switches.initialized = true;
    expect(await store.status()).toEqual({ kind: 'vault', connected: true, sealed: false });
    vault.switches.slowMs = 5_000;
    expect(await store.status()).toMatchObject({ connected: false });
  });
});

describe('vault: TLS', () => {
  it('trusts the configured authority, and sends nothing to another', async () => {
    const { key, cert } = selfSigned(['IP:127.0.0.1']);
    const secure = await startVaultEndpoint({ key, cert });
    const auth = { kind: 'token', token: given(secure.rootToken) } as const;
    try {
      const trusting = connect(auth, { address: secure.address, ca: cert });
      expect(await trusting.write(tenant, DB, secretValues({ a: '1' }))).toMatchObject({ ok: true });
      const asked = secure.requests.length;
      const strict = connect(auth, { address: secure.address });
      expect(await strict.read(tenant, DB)).toMatchObject({ ok: false, reason: 'unavailable' });
      expect(await strict.status()).toMatchObject({ connected: false });
      expect(secure.requests).toHaveLength(asked);
    } finally {
      await secure.close();
    }
  });
});
