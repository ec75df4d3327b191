import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import type { SecretsStore } from '../../src/server/secrets/port.ts';
import { resolveEnvironment } from '../../src/server/secrets/resolve.ts';
import { createVaultSecrets, type VaultSecretsOptions } from '../../src/server/secrets/vault/store.ts';
import { startVaultEndpoint } from '../support/harness/vault/endpoint.ts';
import { given, realVault } from '../support/harness/vault/given.ts';
import { VaultOperator } from '../support/harness/vault/operator.ts';
import { revealed, secretValues } from './secrets-contract.ts';

// What the store does when its operator uses it as well: on the endpoint of the tests, or on a real server (CONTRIBUTING.md).

const DB = { namespace: 'resources', label: 'db' };
const SPEC = {
  secrets: [{ name: 'DB', vault_path: 'resources/db', anchor: 'external', rotation: 'restart' }],
} as const;
const real = realVault();

let options: VaultSecretsOptions;
let operator: VaultOperator;
let stopServer: () => Promise<void> = () => Promise.resolve();
let store: SecretsStore;
let tenant: TenantId;
let mount: string;
const opened: SecretsStore[] = [];

beforeAll(async () => {
  if (real !== undefined) {
    options = real;
    operator = new VaultOperator({
      address: real.address,
      token: real.token,
      ...(real.ca === undefined ? {} : { ca: real.ca }),
    });
    return;
  }
  const endpoint = await startVaultEndpoint();
  options = { address: endpoint.address, auth: { kind: 'token', token: given(endpoint.rootToken) } };
  operator = new VaultOperator({ address: endpoint.address, token: endpoint.rootToken });
  stopServer = () => endpoint.close();
});

function connect(more: Partial<VaultSecretsOptions> = {}): SecretsStore {
  const made = createVaultSecrets({ ...options, ...more });
  opened.push(made);
  return made;
}

beforeEach(() => {
  tenant = randomUUID() as TenantId;
  mount = `berth-${tenant}`;
  store = connect();
});

afterEach(async () => {
  await operator.call('DELETE', `sys/mounts/${mount}`);
  for (const one of opened.splice(0)) await one.close();
});

afterAll(() => stopServer());

const expected = async (): Promise<number | undefined> => {
  const found = await store.read(tenant, DB);
  return found.ok ? found.version : found.currentVersion;
};

describe(`a document that its operator changed (${real === undefined ? 'endpoint' : 'real server'})`, () => {
  const changes: readonly [string, () => Promise<unknown>][] = [
    ['was deleted', () => operator.must('DELETE', `${mount}/data/resources/db`)],
    ['was destroyed', () => operator.must('POST', `${mount}/destroy/resources/db`, { versions: [2] })],
  ];

  it.each(changes)('and that %s is missing, and can be written again', async (_what, change) => {
    await store.write(tenant, DB, secretValues({ a: '1' }));
    await store.write(tenant, DB, secretValues({ a: '2' }));
    await change();
    expect(await store.read(tenant, DB)).toMatchObject({ ok: false, reason: 'missing', currentVersion: 2 });
    expect(await store.metadata(tenant, DB)).toEqual({ ok: true, exists: false, currentVersion: 2 });
    const next = { expectedVersion: (await expected()) ?? 0 };
    expect(await store.write(tenant, DB, secretValues({ a: '3' }), next)).toMatchObject({ version: 3 });
    const again = await store.read(tenant, DB);
    expect(again.ok && revealed(again.values)).toEqual({ a: '3' });
  });

  it('and that holds a number is missing, and can be written again', async () => {
    await store.write(tenant, DB, secretValues({ port: '1' }));
    await operator.must('POST', `${mount}/data/resources/db`, { data: { port: 5432 } });
    expect(await store.read(tenant, DB)).toMatchObject({ ok: false, reason: 'missing', currentVersion: 2 });
    const next = { expectedVersion: (await expected()) ?? 0 };
    expect(await store.write(tenant, DB, secretValues({ port: '5432' }), next)).toMatchObject({ version: 3 });
  });

  it('and that is to be deleted in an hour is there', async () => {
    await store.write(tenant, { namespace: 'resources', label: 'other' }, secretValues({ a: '1' }));
    await operator.must('POST', `${mount}/config`, { delete_version_after: '3600s' });
    await store.write(tenant, DB, secretValues({ a: '1' }));
    expect(await store.metadata(tenant, DB)).toMatchObject({ exists: true, version: 1, keys: ['a'] });
    const { body } = await operator.must('GET', `${mount}/metadata/resources/db`);
    expect(body.data.versions['1'].deletion_time).not.toBe('');
  });

  it('and that keeps one version says so', async () => {
    await store.write(tenant, DB, secretValues({ a: '1' }));
    await operator.must('POST', `${mount}/metadata/resources/db`, { max_versions: 1 });
    await store.write(tenant, DB, secretValues({ a: '2' }));
    const metadata = await store.metadata(tenant, DB);
    expect(metadata.ok && metadata.exists && metadata.versions.map(({ version }) => version)).toEqual([2]);
    expect(await store.read(tenant, DB, 1)).toMatchObject({ ok: false, reason: 'missing' });
  });

  it('and that holds what no container can take is refused when it is delivered', async () => {
    await store.write(tenant, DB, secretValues({ a: 'x' }));
    await operator.must('POST', `${mount}/data/resources/db`, { data: { a: 'with a \u0000 inside' } });
    expect(await resolveEnvironment(store, tenant, SPEC, undefined)).toMatchObject({
      reason: 'undeliverable',
      message: expect.stringContaining('NUL'),
    });
    await operator.must('POST', `${mount}/data/resources/db`, { data: { a: 'x'.repeat(131_072) } });
    expect(await resolveEnvironment(store, tenant, SPEC, undefined)).toMatchObject({
      reason: 'undeliverable',
      message: expect.stringContaining('DB_a'),
    });
    await operator.must('POST', `${mount}/data/resources/db`, { data: { a: 'x'.repeat(131_066) } });
    expect(await resolveEnvironment(store, tenant, SPEC, undefined)).toMatchObject({ ok: true });
  });
});

describe('a mount', () => {
  it('of KV version 1 is said, and nothing is written to it', async () => {
    await operator.must('POST', `sys/mounts/${mount}`, { type: 'kv', options: { version: '1' } });
    const unusable = { ok: false, reason: 'unusable', message: expect.stringContaining('version 1') };
    expect(await store.write(tenant, DB, secretValues({ a: '1' }), { expectedVersion: 0 })).toMatchObject(
      unusable,
    );
    expect(await store.read(tenant, DB)).toMatchObject(unusable);
    expect(await store.metadata(tenant, DB)).toMatchObject(unusable);
    expect((await operator.call('GET', `${mount}/data/resources/db`)).status).toBe(404);
    expect((await operator.call('GET', `${mount}/data/?list=true`)).status).toBe(404);
  });

  it('goes with the tenant, and so does one that is not there', async () => {
    await store.write(tenant, DB, secretValues({ a: '1' }));
    expect(await store.destroyTenant(tenant)).toEqual({ ok: true });
    expect((await operator.call('GET', `${mount}/data/resources/db`)).status).toBe(404);
    expect(await store.destroyTenant(tenant)).toEqual({ ok: true });
    expect(await store.destroyTenant(randomUUID() as TenantId)).toEqual({ ok: true });
  });

  it('finds a document too large, which is no outage', async () => {
    const large = secretValues({ a: 'x'.repeat(600_000), b: 'y'.repeat(600_000) });
    expect(await store.write(tenant, DB, large)).toMatchObject({ ok: false, reason: 'too_large' });
    expect(await store.write(tenant, DB, secretValues({ a: '1' }))).toMatchObject({ ok: true, version: 1 });
  });
});

describe('a namespace', () => {
  const name = `berth-test-${randomUUID().slice(0, 8)}`;
  afterEach(() => operator.call('DELETE', `sys/namespaces/${name}`));

  it('holds the mounts, and the health of the server is asked outside of it', async () => {
    await operator.must('POST', `sys/namespaces/${name}`, {});
    const inside = connect({ namespace: name });
    expect(await inside.status()).toEqual({ kind: 'vault', connected: true, sealed: false });
    expect(await inside.write(tenant, DB, secretValues({ a: '1' }))).toMatchObject({ ok: true, version: 1 });
    expect(await store.read(tenant, DB)).toMatchObject({ ok: false, reason: 'missing' });
    expect((await operator.must('GET', `${mount}/data/resources/db`, undefined, name)).status).toBe(200);
    expect(await inside.destroyTenant(tenant)).toEqual({ ok: true });
  });

  it('that is not there is said, and takes nothing for removed', async () => {
    const lost = connect({ namespace: 'no-such-namespace' });
    expect(await lost.status()).toMatchObject({
      connected: false,
      problem: expect.stringContaining('secrets.vault.namespace'),
    });
    for (const answer of [
      await lost.read(tenant, DB),
      await lost.metadata(tenant, DB),
      await lost.write(tenant, DB, secretValues({ a: '1' })),
      await lost.destroyTenant(tenant),
      await lost.list(tenant, 'resources'),
    ])
      expect(answer).toMatchObject({ ok: false, reason: 'unusable' });
  });
});
