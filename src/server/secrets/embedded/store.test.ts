import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { TenantId } from '../../../core/model/ids.ts';
import { SecretValue } from '../../../core/model/secret-value.ts';
import type { Kv, KvEntry } from '../../store/kv.ts';
import { KvUnavailableError } from '../../store/kv.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { headKey, tenantKeyKey, versionKey } from '../embedded-keys.ts';
import type { SecretValues } from '../port.ts';
import { type RootKey, type RootKeys, rootKeyFrom } from './root-keys.ts';
import { createEmbeddedSecrets } from './store.ts';

const DB = { namespace: 'resources', label: 'db' };
const WEB = { namespace: 'resources', label: 'web' };
const MARKER = 'marker-2c41d9aa';

const tenantId = (): TenantId => randomUUID() as TenantId;
const newRoot = (): RootKey => rootKeyFrom(randomBytes(32));
const values = (text: string): SecretValues => new Map([['password', new SecretValue(text)]]);

function opened(root: RootKey = newRoot()) {
  const kv = createMemoryKv();
  let keys: RootKeys = { sealed: false, active: root, retired: [] };
  const store = createEmbeddedSecrets({ kv, rootKeys: () => keys });
  return { kv, store, setKeys: (next: RootKeys) => (keys = next) };
}

async function entryOf(kv: Kv, key: string): Promise<KvEntry> {
  const entry = await kv.get(key);
  if (entry === undefined) throw new Error(`no ${key}`);
  return entry;
}

/** Puts the stored text of one key under another, as a tampering writer of the store would. */
async function copy(kv: Kv, from: string, to: string): Promise<void> {
  await kv.commit({ puts: [{ key: to, value: (await entryOf(kv, from)).value }] });
}

describe('embedded secrets at rest', () => {
  it('stores no material in clear, nor in the usual encodings', async () => {
    const { kv, store } = opened();
    await store.write(tenantId(), DB, values(MARKER));
    const stored = (await kv.range('')).entries.map((entry) => entry.key + entry.value).join('\n');
    for (const form of [
      MARKER,
      Buffer.from(MARKER).toString('hex'),
      Buffer.from(MARKER).toString('base64').slice(0, 12),
    ]) {
      expect(stored).not.toContain(form);
    }
    expect(stored).not.toContain('password');
  });

  it('seals equal values differently', async () => {
    const { kv, store } = opened();
    const tenant = tenantId();
    await store.write(tenant, DB, values('same'));
    await store.write(tenant, DB, values('same'));
    const [one, two] = [
      await entryOf(kv, versionKey(tenant, DB, 1)),
      await entryOf(kv, versionKey(tenant, DB, 2)),
    ];
    expect(one.value).not.toBe(two.value);
  });

  it('keeps to the key range of the tenant', async () => {
    const { kv, store } = opened();
    const tenant = tenantId();
    await store.write(tenant, DB, values('x'));
    const keys = (await kv.range('')).entries.map((entry) => entry.key);
    expect(keys).toHaveLength(3);
    expect(keys.every((key) => key.startsWith(`c/${tenant}/secret-`))).toBe(true);
  });

  it('does not open bytes under another version, path or tenant', async () => {
    const { kv, store } = opened();
    const [tenant, other] = [tenantId(), tenantId()];
    await store.write(tenant, DB, values('v1'));
    await store.write(tenant, DB, values('v2'));
    await store.write(tenant, WEB, values('web'));
    await store.write(other, DB, values('other'));
    const swapped = [
      [versionKey(tenant, DB, 1), versionKey(tenant, DB, 2)],
      [versionKey(tenant, DB, 1), versionKey(tenant, WEB, 1)],
      [versionKey(tenant, DB, 1), versionKey(other, DB, 1)],
    ] as const;
    for (const [from, to] of swapped) await copy(kv, from, to);
    for (const read of [store.read(tenant, DB), store.read(tenant, WEB), store.read(other, DB)]) {
      expect(await read).toMatchObject({ ok: false, reason: 'unavailable' });
    }
    expect(await store.read(tenant, DB, 1)).toMatchObject({ ok: true });
  });

  it("does not open another tenant's documents after the keys are swapped too", async () => {
    const { kv, store } = opened();
    const [tenant, other] = [tenantId(), tenantId()];
    await store.write(tenant, DB, values('mine'));
    await store.write(other, DB, values('theirs'));
    await copy(kv, tenantKeyKey(tenant), tenantKeyKey(other));
    await copy(kv, headKey(tenant, DB), headKey(other, DB));
    await copy(kv, versionKey(tenant, DB, 1), versionKey(other, DB, 1));
    expect(await store.read(other, DB)).toMatchObject({ ok: false, reason: 'unavailable' });
    expect(await store.metadata(other, DB)).toMatchObject({ ok: false, reason: 'unavailable' });
  });

  it('notices every changed character of every stored record', async () => {
    const { kv, store } = opened();
    const tenant = tenantId();
    await store.write(tenant, DB, values('secret-text'));
    let flips = 0;
    for (const key of [tenantKeyKey(tenant), headKey(tenant, DB), versionKey(tenant, DB, 1)]) {
      const { value } = await entryOf(kv, key);
      for (let at = 0; at < value.length; at += 3) {
        const changed = String.fromCharCode(value.charCodeAt(at) ^ 1);
        await kv.commit({ puts: [{ key, value: value.slice(0, at) + changed + value.slice(at + 1) }] });
        const document = await store.read(tenant, DB);
        expect(document.ok ? 'read' : document.reason, `${key} at ${at}`).toMatch(/^(unavailable|sealed)$/);
        flips++;
      }
      await kv.commit({ puts: [{ key, value }] });
    }
    expect(flips).toBeGreaterThan(150);
    expect(await store.read(tenant, DB)).toMatchObject({ ok: true });
  });
});

describe('sealed', () => {
  const sealed: RootKeys = { sealed: true, problem: 'the root key file is missing' };

  it('refuses every operation and says why, until the key is there', async () => {
    const root = newRoot();
    const { store, kv, setKeys } = opened(root);
    const tenant = tenantId();
    await store.write(tenant, DB, values('x'));
    const before = await kv.head();
    setKeys(sealed);
    // Tenants read this: no path of a file on the control plane.
    const refused = {
      ok: false,
      reason: 'sealed',
      message: 'the secrets store is sealed: its root key is not there',
    };
    expect(await store.write(tenant, DB, values('y'))).toEqual(refused);
    expect(await store.planWrites(tenant, [{ path: DB, values: values('y') }])).toEqual(refused);
    expect(await store.read(tenant, DB)).toEqual(refused);
    expect(await store.metadata(tenant, DB)).toEqual(refused);
    expect(await store.list(tenant, 'resources')).toEqual(refused);
    expect(await store.remove(tenant, DB)).toEqual(refused);
    expect(await store.status()).toEqual({
      kind: 'embedded',
      connected: true,
      sealed: true,
      problem: sealed.problem,
    });
    expect(await kv.head()).toBe(before);
    setKeys({ sealed: false, active: root, retired: [] });
    expect(await store.read(tenant, DB)).toMatchObject({ ok: true });
  });

  it('is sealed for a tenant whose root key is another one', async () => {
    const { store, setKeys } = opened();
    const tenant = tenantId();
    await store.write(tenant, DB, values('x'));
    setKeys({ sealed: false, active: newRoot(), retired: [] });
    expect(await store.read(tenant, DB)).toMatchObject({ ok: false, reason: 'sealed' });
    expect(await store.write(tenant, DB, values('y'))).toMatchObject({ ok: false, reason: 'sealed' });
  });
});

describe('root key rotation', () => {
  it('rewraps tenant keys only, and can be stopped and run again', async () => {
    const [old, next] = [newRoot(), newRoot()];
    const { kv, store, setKeys } = opened(old);
    const tenants = [tenantId(), tenantId(), tenantId()];
    for (const tenant of tenants) await store.write(tenant, DB, values(`of ${tenant}`));
    const documents = async () =>
      (await kv.range('')).entries.filter((entry) => entry.key.includes('secret-docs'));
    const before = await documents();

    setKeys({ sealed: false, active: next, retired: [old] });
    const [first] = tenants;
    expect(await store.rewrapTenantKeys(first === undefined ? [] : [first])).toMatchObject({ rewrapped: 1 });
    // Half way: both keys are known, every tenant can be read and written.
    for (const tenant of tenants) expect(await store.read(tenant, DB)).toMatchObject({ ok: true });
    const absent = tenantId();
    expect(await store.rewrapTenantKeys([...tenants, absent])).toEqual({
      rewrapped: 2,
      current: 1,
      absent: 1,
      blocked: [],
    });
    expect(await store.rewrapTenantKeys(tenants)).toEqual({
      rewrapped: 0,
      current: 3,
      absent: 0,
      blocked: [],
    });
    expect(await documents()).toEqual(before);

    setKeys({ sealed: false, active: next, retired: [] });
    for (const tenant of tenants) {
      const document = await store.read(tenant, DB);
      expect(document.ok && document.values.get('password')?.reveal()).toBe(`of ${tenant}`);
    }
    setKeys({ sealed: false, active: old, retired: [] });
    for (const tenant of tenants) expect(await store.read(tenant, DB)).toMatchObject({ reason: 'sealed' });
  });

  it('names the tenants it could not rewrap', async () => {
    const { store, setKeys } = opened();
    const tenant = tenantId();
    await store.write(tenant, DB, values('x'));
    setKeys({ sealed: false, active: newRoot(), retired: [newRoot()] });
    const summary = await store.rewrapTenantKeys([tenant]);
    expect(summary).toMatchObject({ rewrapped: 0, blocked: [{ tenant }] });
  });
});

describe('planned writes', () => {
  it('become part of the commit of the caller, the first key of the tenant included', async () => {
    const { kv, store } = opened();
    const tenant = tenantId();
    const plan = await store.planWrites(tenant, [
      { path: DB, values: values('db') },
      { path: WEB, values: values('web'), expectedVersion: 0 },
    ]);
    if (!plan.ok) throw new Error(plan.message);
    expect(await store.read(tenant, DB)).toMatchObject({ reason: 'missing' });
    expect(plan.written).toEqual([
      { path: DB, version: 1, keys: ['password'] },
      { path: WEB, version: 1, keys: ['password'] },
    ]);
    const { guards, puts, deletes } = plan.parts;
    const mine = { key: `t/${tenant}/deployments/web`, value: '{}' };
    expect(await kv.commit({ guards, puts: [...puts, mine], deletes })).toMatchObject({ ok: true });
    expect(await store.read(tenant, DB)).toMatchObject({ ok: true, version: 1 });
    expect(await store.read(tenant, WEB)).toMatchObject({ ok: true, version: 1 });
  });

  it('fail as a whole when a document, or the key, moved meanwhile', async () => {
    const { kv, store } = opened();
    const tenant = tenantId();
    await store.write(tenant, DB, values('1'));
    const moved = await store.planWrites(tenant, [{ path: DB, values: values('2') }]);
    await store.write(tenant, DB, values('other'));
    expect(moved.ok && (await kv.commit(moved.parts)).ok).toBe(false);
    const destroyed = await store.planWrites(tenant, [{ path: WEB, values: values('first') }]);
    await store.destroyTenant(tenant);
    expect(destroyed.ok && (await kv.commit(destroyed.parts)).ok).toBe(false);
    expect((await kv.range(`c/${tenant}/`)).entries).toEqual([]);
  });

  it('are refused for the same document twice', async () => {
    const { store } = opened();
    const twice = { path: DB, values: values('x') };
    await expect(store.planWrites(tenantId(), [twice, twice])).rejects.toThrow('same secret document twice');
  });
});

describe('a key-value store that is away', () => {
  it('is a value, without the words of the fault', async () => {
    const kv = createMemoryKv();
    const failing: Kv = {
      ...kv,
      get: () => Promise.reject(new KvUnavailableError('disk full', true)),
      range: () => Promise.reject(new KvUnavailableError('disk full', true)),
    };
    const active = newRoot();
    const store = createEmbeddedSecrets({
      kv: failing,
      rootKeys: () => ({ sealed: false, active, retired: [] }),
    });
    const unavailable = { ok: false, reason: 'unavailable' };
    expect(await store.read(tenantId(), DB)).toMatchObject(unavailable);
    expect(await store.write(tenantId(), DB, values('x'))).toMatchObject(unavailable);
    expect(await store.list(tenantId(), 'resources')).toMatchObject(unavailable);
  });
});
