import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { RotationState, SecretReference } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { splitSecretPath } from '../../core/model/secret-path.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import { createMemoryKv } from '../store/memory.ts';
import { rootKeyFrom } from './embedded/root-keys.ts';
import { createEmbeddedSecrets } from './embedded/store.ts';
import { failure, type SecretsStore } from './port.ts';
import { resolveEnvironment } from './resolve.ts';

const entry = (name: string, vault_path: string): SecretReference => ({
  name,
  vault_path,
  anchor: 'external',
  rotation: 'restart',
});
const DB = entry('DB', 'resources/db');

function opened() {
  const active = rootKeyFrom(randomBytes(32));
  const store = createEmbeddedSecrets({
    kv: createMemoryKv(),
    rootKeys: () => ({ sealed: false, active, retired: [] }),
  });
  const tenant = randomUUID() as TenantId;
  const put = (path: string, content: Record<string, string>) => {
    const values = new Map(Object.entries(content).map(([key, value]) => [key, new SecretValue(value)]));
    return store.write(tenant, splitSecretPath(path) ?? { namespace: '', label: '' }, values);
  };
  const resolve = async (
    secrets: readonly SecretReference[],
    rotation?: RotationState,
    from: SecretsStore = store,
  ) => {
    const resolved = await resolveEnvironment(from, tenant, { secrets }, { rotation });
    return resolved.ok
      ? Object.fromEntries([...resolved.env].map(([name, value]) => [name, value.reveal()]))
      : resolved;
  };
  return { store, tenant, put, resolve };
}

describe('resolution at container creation', () => {
  it('reads the newest documents', async () => {
    const { put, resolve } = opened();
    await put('resources/db', { password: 'one' });
    await put('resources/db', { password: 'two' });
    await put('deployments/web', { token: 't' });
    expect(await resolve([DB, entry('WEB', 'deployments/web')])).toEqual({
      DB_password: 'two',
      WEB_token: 't',
    });
    expect(await resolve([])).toEqual({});
  });

  it('follows the rotation phase by phase', async () => {
    const { put, resolve } = opened();
    await put('resources/db', { p: 'v1' });
    await put('resources/db', { p: 'v2' });
    await put('resources/db', { p: 'v3' });
    const at = (secrets: RotationState['secrets']) =>
      resolve([DB], { phase: 'stage', ...(secrets ? { secrets } : {}) });
    expect(await at({ DB: { current: 1, next: 2 } })).toEqual({ DB_p: 'v1', DB_p_NEXT: 'v2' });
    expect(await at({ DB: { current: 2, previous: 1 } })).toEqual({ DB_p: 'v2', DB_p_PREVIOUS: 'v1' });
    expect(await at({ DB: { current: 2 } })).toEqual({ DB_p: 'v3' });
    expect(await at({ OTHER: { current: 1, next: 2 } })).toEqual({ DB_p: 'v3' });
    expect(await at(undefined)).toEqual({ DB_p: 'v3' });
  });

  it('fails closed on whatever is missing, and names path and key', async () => {
    const { put, resolve, store, tenant } = opened();
    await put('resources/db', { p: 'marker-1' });
    expect(await resolve([DB, entry('X', 'resources/x')])).toMatchObject({
      ok: false,
      reason: 'missing_document',
      message: expect.stringContaining('resources/x'),
    });
    expect(await resolve([DB], { phase: 'stage', secrets: { DB: { current: 1, next: 9 } } })).toMatchObject({
      reason: 'missing_document',
    });
    expect(
      await resolve([DB], { phase: 'promote', secrets: { DB: { current: 1, previous: 9 } } }),
    ).toMatchObject({ reason: 'missing_document' });
    expect(await resolve([entry('Y', 'resources')])).toMatchObject({ ok: false, reason: 'missing_document' });
    const composed = { secrets: [DB], composedEnvironment: { U: '{{secret.db.user}}' } };
    const partial = await resolveEnvironment(store, tenant, composed);
    expect(partial).toMatchObject({
      ok: false,
      reason: 'missing_key',
      message: expect.stringContaining('resources/db lacks the key user'),
    });
    expect(JSON.stringify(partial)).not.toContain('marker');
  });

  it.each(['denied', 'sealed', 'unavailable'] as const)('passes on that the store is %s', async (reason) => {
    const { put, resolve, store } = opened();
    await put('resources/db', { p: 'x' });
    await put('resources/x', { p: 'x' });
    const failing: SecretsStore = {
      ...store,
      read: (tenant, path, version) =>
        path.label === 'x' ? Promise.resolve(failure(reason, 'no')) : store.read(tenant, path, version),
    };
    expect(await resolve([DB, entry('X', 'resources/x')], undefined, failing)).toMatchObject({
      ok: false,
      reason,
    });
  });

  it('reads a shared document once, and not many at the same time', async () => {
    const { put, resolve, store } = opened();
    const entries: SecretReference[] = [DB, entry('DB2', 'resources/db')];
    await put('resources/db', { p: 'x' });
    for (let n = 0; n < 30; n++) {
      await put(`resources/r${n}`, { p: 'x' });
      entries.push(entry(`R${n}`, `resources/r${n}`));
    }
    const read: string[] = [];
    let busy = 0;
    let most = 0;
    const counting: SecretsStore = {
      ...store,
      read: async (tenant, path, version) => {
        read.push(path.label);
        most = Math.max(most, ++busy);
        const document = await store.read(tenant, path, version);
        busy -= 1;
        return document;
      },
    };
    expect(Object.keys(await resolve(entries, undefined, counting))).toHaveLength(32);
    expect(read).toHaveLength(31);
    expect(most).toBeLessThanOrEqual(16);
  });
});
