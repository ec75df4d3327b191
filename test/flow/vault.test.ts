import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import { globalKey } from '../../src/server/store/keys.ts';
import { type Caller, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { startVaultEndpoint, type VaultEndpoint } from '../support/harness/vault/endpoint.ts';
import { VaultOperator } from '../support/harness/vault/operator.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-vault-'));
let vault: VaultEndpoint;
let plane: ControlPlane;

beforeAll(async () => {
  vault = await startVaultEndpoint();
  writeFileSync(join(folder, 'token'), vault.rootToken, { mode: 0o600 });
  plane = await startControlPlane([], {
    BERTH_SECRETS_KIND: 'vault',
    BERTH_SECRETS_VAULT_ADDRESS: vault.address,
    BERTH_SECRETS_VAULT_TOKEN_FILE: join(folder, 'token'),
  });
});
afterEach(() => {
  Object.assign(vault.switches, { denied: undefined, sealed: false, lost: undefined, slowMs: 0 });
});
afterAll(async () => {
  await plane.close();
  await vault.close();
  rmSync(folder, { recursive: true, force: true });
});

const deployment = (name: string, secrets: readonly unknown[] = []) => ({
  name,
  image: 'registry.invalid/shop/web:1',
  replicas: 0,
  secrets,
});
const DB = { name: 'DB', vault_path: 'resources/db', anchor: 'external' };

describe('a deleted tenant', () => {
  it('takes its mount with it', async () => {
    const { id, call } = await plane.tenant('gone');
    await call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'x' } });
    expect(vault.hasMount(`berth-${id}`)).toBe(true);
    const { status, body } = await plane.admin('DELETE', '/api/v1/tenants/gone');
    expect([status, body.warnings]).toEqual([200, []]);
    expect(vault.hasMount(`berth-${id}`)).toBe(false);
  });

  it('is tried again until its material is gone, and says so meanwhile', async () => {
    const { id, call } = await plane.tenant('held');
    await call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'x' } });
    vault.switches.denied = /^sys\/mounts/;
    const { status, body } = await plane.admin('DELETE', '/api/v1/tenants/held');
    expect(status).toBe(200);
    expect(body.warnings).toMatchObject([
      { code: 'tenant_erasure_waiting', why: expect.stringContaining(`delete on sys/mounts/berth-${id}`) },
    ]);
    for (const name of ['held', id]) {
      const asked = await plane.admin('GET', `/api/v1/tenants/${name}`);
      expect(asked.body.code).toBe('tenant_not_found');
      expect(asked.body.why).toContain('still in the secrets store');
    }
    const events = await plane.admin('GET', '/api/v1/events?kind=tenant.erasure_waiting');
    expect(JSON.stringify(events.body)).toContain('the tenant held was deleted');
    expect((await plane.admin('GET', '/metrics')).body).toMatch(/berth_tenant_erasures [1-9]/);
    expect(vault.hasMount(`berth-${id}`)).toBe(true);
    vault.switches.denied = undefined;
    await vi.waitFor(() => expect(vault.hasMount(`berth-${id}`)).toBe(false), {
      timeout: 60_000,
      interval: 50,
    });
  });

  it('leaves nothing behind when a write was under way: its material is removed again later', async () => {
    const { id } = await plane.tenant('late');
    await plane.admin('DELETE', '/api/v1/tenants/late');
    // As a write that was sent before and arrives after.
    vault.put(`berth-${id}`, 'resources/db', { password: 'late' });
    const key = globalKey('tenant-erasures', id);
    await vi.waitFor(
      async () => {
        expect(vault.hasMount(`berth-${id}`)).toBe(false);
        expect(await plane.store.kv.get(key)).toBeDefined();
      },
      { timeout: 60_000, interval: 50 },
    );
  });
});

describe('a policy that grants less', () => {
  it('without the credentials of registries stops no deployment that needs none', async () => {
    const { call } = await plane.tenant('narrow');
    vault.switches.denied = /\/registries\//;
    const made = await call('POST', '/api/v1/deployments', deployment('web'));
    expect([made.status, made.body.code]).toEqual([201, undefined]);
  });

  it('is told with path and capability, without a time to come back', async () => {
    const { id, call } = await plane.tenant('forbidden');
    await call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'x' } });
    vault.switches.denied = /\/data\//;
    const { status, body, headers } = await call('PUT', '/api/v1/secrets/resources/db', {
      values: { password: 'y' },
    });
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'secrets_store_forbidden', null]);
    expect(body.why).toContain(`the capability read on berth-${id}/data/resources/db`);
  });

  it('of one path is told in its row, and the others are listed', async () => {
    const { call } = await plane.tenant('listed');
    for (const name of ['db', 'cache'])
      await call('PUT', `/api/v1/secrets/resources/${name}`, { values: { password: 'x' } });
    const secrets = [DB, { name: 'CACHE', vault_path: 'resources/cache', anchor: 'external' }];
    await call('POST', '/api/v1/deployments', deployment('web', secrets));
    vault.switches.denied = /\/metadata\/resources\/db/;
    const { status, body } = await call('GET', '/api/v1/secrets/resources');
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { name: 'cache', exists: true, version: 1 },
      { name: 'db', exists: null, problem: expect.stringContaining('read on berth-') },
    ]);
    expect(body[0]).not.toHaveProperty('problem');
  });
});

describe('stage refuses what can never be delivered', () => {
  const stage = (call: Caller, body: Readonly<Record<string, unknown>> = {}) =>
    call('POST', '/api/v1/deployments/web/secrets/rotate', { phase: 'stage', ...body });

  it('a version of another hand that lacks a key in use, by its number', async () => {
    const { id, call } = await plane.tenant('partial');
    await call('PUT', '/api/v1/secrets/resources/db', { values: { user: 'app', password: 'x' } });
    await call('POST', '/api/v1/deployments', deployment('web', [DB]));
    vault.put(`berth-${id}`, 'resources/db', { password: 'y' });
    const refused = await stage(call);
    expect([refused.status, refused.body.code]).toEqual([409, 'rotation_transition_invalid']);
    expect(refused.body.why).toContain('Version 2 of resources/db lacks the key user');
    vault.put(`berth-${id}`, 'resources/db', { user: 'app', password: 'z' });
    expect((await stage(call)).status).toBe(200);
  });

  it('where the store keeps one version only', async () => {
    const { id, call } = await plane.tenant('single');
    await call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'x' } });
    await call('POST', '/api/v1/deployments', deployment('web', [DB]));
    const operator = new VaultOperator({ address: vault.address, token: vault.rootToken });
    await operator.must('POST', `berth-${id}/metadata/resources/db`, { max_versions: 1 });
    const refused = await stage(call, { values: { password: 'y' } });
    expect([refused.status, refused.body.code]).toEqual([409, 'rotation_transition_invalid']);
    expect(refused.body.why).toContain('keeps one version');
    expect(vault.contents(`berth-${id}`, 'resources/db').map(([version]) => version)).toEqual([1]);
  });
});

describe('a document that its operator deleted', () => {
  it('is written again through Berth', async () => {
    const { id, call } = await plane.tenant('again');
    await call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'x' } });
    vault.softDelete(`berth-${id}`, 'resources/db');
    const written = await call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'y' } });
    expect([written.status, written.body.version]).toEqual([201, 2]);
    const brought = await call(
      'POST',
      '/api/v1/deployments',
      deployment('web', [{ ...DB, values: { user: 'app' } }]),
    );
    expect(brought.status).toBe(201);
  });
});

describe('a document that is deleted through Berth', () => {
  const PATH = '/api/v1/secrets/resources/db';
  const kept = (id: string) => vault.contents(`berth-${id}`, 'resources/db');
  const told = async (call: Caller) =>
    (await call('GET', '/api/v1/events?kind=secret.deleted')).body.map(
      ({ details }: { details: object }) => details,
    );
  async function written(slug: string) {
    const tenant = await plane.tenant(slug);
    for (const password of ['x', 'y'])
      expect((await tenant.call('PUT', PATH, { values: { password } })).body.code).toBeUndefined();
    return tenant;
  }

  it('is gone with all its versions, and may be made again', async () => {
    const { id, call } = await written('del');
    const gone = await call('DELETE', PATH);
    expect([gone.status, gone.body.version, kept(id)]).toEqual([200, 2, []]);
    expect((await call('DELETE', PATH)).body.code).toBe('secret_not_found');
    expect((await call('GET', '/api/v1/secrets')).body).toEqual([]);
    expect((await call('PUT', PATH, { values: { password: 'z' } })).body.version).toBe(1);
  });

  it('stays while anybody refers to it', async () => {
    const { id, call } = await written('del-used');
    await call('POST', '/api/v1/deployments', deployment('web', [DB]));
    expect((await call('DELETE', PATH)).body.code).toBe('secret_in_use');
    expect(kept(id)).toHaveLength(2);
  });

  it.each([
    ['forbids it', { denied: /\/metadata\/resources\/db$/ }, 'secrets_store_forbidden'],
    ['is sealed', { sealed: true }, 'secrets_sealed'],
  ] as const)('stays where the store %s, and hinders nobody afterwards', async (what, fault, code) => {
    const { id, call } = await written(`del-${what.replace(/\W/g, '')}`);
    Object.assign(vault.switches, fault);
    const refused = await call('DELETE', PATH);
    expect([refused.status, refused.body.code]).toEqual([503, code]);
    Object.assign(vault.switches, { denied: undefined, sealed: false });
    expect(kept(id)).toHaveLength(2);
    const label = plane.store.forTenant(id as TenantId).get('secret-labels', 'db')?.record;
    expect(label).toEqual({ namespace: 'resources' });
    expect((await call('POST', '/api/v1/deployments', deployment('web', [DB]))).status).toBe(201);
    expect((await call('DELETE', PATH)).body.code).toBe('secret_in_use');
  });

  it('and went without an answer: asked again, it is told and over', async () => {
    const { id, call } = await written('del-lost');
    vault.switches.lost = /^DELETE .*\/metadata\//;
    const unsure = await call('DELETE', PATH);
    expect([unsure.status, unsure.body.code, kept(id)]).toEqual([503, 'secrets_store_unavailable', []]);
    vault.switches.lost = undefined;
    const again = await call('DELETE', PATH);
    expect([again.status, again.body.code, again.body.version]).toEqual([200, undefined, 2]);
    expect(await told(call)).toEqual([{ version: 2, keys: [] }]);
    expect((await call('DELETE', PATH)).body.code).toBe('secret_not_found');
    expect((await call('PUT', PATH, { values: { password: 'z' } })).body.version).toBe(1);
  });

  it('and was removed by its operator: Berth forgets it too', async () => {
    const { id, call } = await written('del-removed');
    const operator = new VaultOperator({ address: vault.address, token: vault.rootToken });
    await operator.must('DELETE', `berth-${id}/metadata/resources/db`);
    expect((await call('DELETE', PATH)).status).toBe(200);
    expect((await call('DELETE', PATH)).body.code).toBe('secret_not_found');
  });

  it('in the middle of which the process ended: what it left is not waited for twice', async () => {
    const { call } = await written('del-mark');
    vault.switches.lost = /^DELETE .*\/metadata\//;
    await call('DELETE', PATH);
    vault.switches.lost = undefined;
    // Referred to meanwhile: it is missing, which is said, and can be made again.
    const made = await call('POST', '/api/v1/deployments', deployment('web', [DB]));
    expect(made.body.warnings.map(({ code }: { code: string }) => code)).toContain('secret_missing');
    expect((await call('DELETE', PATH)).body.code).toBe('secret_in_use');
    expect((await call('PUT', PATH, { values: { password: 'z' } })).body.version).toBe(1);
  });
});
