import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import type { SecretPath } from '../../src/core/model/secret-path.ts';
import { SecretValue } from '../../src/core/model/secret-value.ts';
import type { SecretsStore, SecretValues } from '../../src/server/secrets/port.ts';

export interface OpenedSecrets {
  readonly store: SecretsStore;
  dispose(): Promise<void>;
}

const DB: SecretPath = { namespace: 'resources', label: 'db' };

export function secretValues(content: Record<string, string>): SecretValues {
  return new Map(Object.entries(content).map(([key, value]) => [key, new SecretValue(value)]));
}

export function revealed(values: SecretValues): Record<string, string> {
  return Object.fromEntries([...values].map(([key, value]) => [key, value.reveal()]));
}

/** The contract of the secrets port, declared as tests for one adapter. Every test has a tenant of its own. */
export function secretsContract(name: string, open: () => Promise<OpenedSecrets>): void {
  describe(`secrets contract: ${name}`, () => {
    let opened: OpenedSecrets;
    let store: SecretsStore;
    let tenant: TenantId;

    beforeEach(async () => {
      opened = await open();
      store = opened.store;
      tenant = randomUUID() as TenantId;
    });
    afterEach(async () => {
      await store.destroyTenant(tenant);
      await opened.dispose();
    });

    const write = (content: Record<string, string>, path = DB, expectedVersion?: number) =>
      store.write(
        tenant,
        path,
        secretValues(content),
        expectedVersion === undefined ? {} : { expectedVersion },
      );
    const read = async (path = DB, version?: number): Promise<Record<string, string> | string> => {
      const document = await store.read(tenant, path, version);
      return document.ok ? revealed(document.values) : document.reason;
    };

    it('answers a write with version and keys only', async () => {
      const written = await write({ password: 'p-1', host: 'db' });
      expect(written).toEqual({ ok: true, version: 1, keys: ['host', 'password'] });
    });

    it('gives back byte for byte what was written', async () => {
      const content = {
        newline: 'a\nb\r\n',
        nul: 'a\u0000b',
        template: '{{secret.db.password}} $HOME ${X} %s',
        quotes: `"'\\`,
        unicode: 'пароль 🔑 e\u0301',
        large: 'x'.repeat(65_536),
        constructor: 'c',
        spaces: '  ',
      };
      await write(content);
      const document = await store.read(tenant, DB);
      expect(document.ok && revealed(document.values)).toEqual(content);
      expect(document.ok && document.version).toBe(1);
      expect(document.ok && Number.isNaN(Date.parse(document.createdAt))).toBe(false);
    });

    it('keeps a key called __proto__ a key', async () => {
      await store.write(tenant, DB, new Map([['__proto__', new SecretValue('p')]]));
      const document = await store.read(tenant, DB);
      expect(document.ok && [...document.values.keys()]).toEqual(['__proto__']);
      expect(document.ok && document.values.get('__proto__')?.reveal()).toBe('p');
    });

    it('replaces the document whole and keeps the old version readable', async () => {
      await write({ password: 'one', user: 'app' });
      expect(await write({ password: 'two' })).toMatchObject({ version: 2, keys: ['password'] });
      expect(await read()).toEqual({ password: 'two' });
      expect(await read(DB, 1)).toEqual({ password: 'one', user: 'app' });
      expect(await read(DB, 2)).toEqual({ password: 'two' });
    });

    it('keeps ten versions', async () => {
      for (let version = 1; version <= 12; version++) await write({ n: String(version) });
      expect(await read(DB, 3)).toEqual({ n: '3' });
      expect(await read(DB, 12)).toEqual({ n: '12' });
      expect(await read(DB, 2)).toBe('missing');
      const metadata = await store.metadata(tenant, DB);
      expect(metadata.ok && metadata.exists && metadata.versions.map(({ version }) => version)).toEqual([
        3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
      ]);
    });

    it('checks and sets', async () => {
      expect(await write({ a: '1' }, DB, 1)).toMatchObject({ ok: false, reason: 'conflict' });
      expect(await write({ a: '1' }, DB, 0)).toMatchObject({ ok: true, version: 1 });
      expect(await write({ a: '2' }, DB, 0)).toMatchObject({ ok: false, reason: 'conflict' });
      expect(await write({ a: '2' }, DB, 1)).toMatchObject({ ok: true, version: 2 });
      expect(await read()).toEqual({ a: '2' });
    });

    it('lets one of eight racing check-and-set writers win', async () => {
      await write({ a: '0' });
      const racing = await Promise.all(Array.from({ length: 8 }, (_, n) => write({ a: `${n}` }, DB, 1)));
      expect(racing.filter((result) => result.ok)).toHaveLength(1);
      expect(racing.filter((result) => !result.ok && result.reason === 'conflict')).toHaveLength(7);
      const winner = racing.findIndex((result) => result.ok);
      expect(await read()).toEqual({ a: `${winner}` });
    });

    it('gives eight racing first writers a version each', async () => {
      const racing = await Promise.all(Array.from({ length: 8 }, (_, n) => write({ a: `${n}` })));
      const versions = racing.map((result) => (result.ok ? result.version : 0)).sort((a, b) => a - b);
      expect(versions).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      for (const [n, result] of racing.entries()) {
        expect(result.ok && (await read(DB, result.version))).toEqual({ a: `${n}` });
      }
    });

    it('tells metadata without values', async () => {
      expect(await store.metadata(tenant, DB)).toEqual({ ok: true, exists: false });
      await write({ password: 'marker-91', user: 'marker-92' });
      await write({ password: 'marker-93' });
      const metadata = await store.metadata(tenant, DB);
      expect(metadata).toMatchObject({ ok: true, exists: true, keys: ['password'], version: 2 });
      expect(metadata.ok && metadata.exists && metadata.versions.map(({ version }) => version)).toEqual([
        1, 2,
      ]);
      expect(inspect(metadata, { depth: 9 })).not.toContain('marker');
    });

    it('lists the labels of one namespace', async () => {
      expect(await store.list(tenant, 'resources')).toEqual({ ok: true, labels: [] });
      await write({ a: '1' }, { namespace: 'resources', label: 'web' });
      await write({ a: '1' }, DB);
      await write({ a: '1' }, { namespace: 'deployments', label: 'api' });
      expect(await store.list(tenant, 'resources')).toEqual({ ok: true, labels: ['db', 'web'] });
      expect(await store.list(tenant, 'deployments')).toEqual({ ok: true, labels: ['api'] });
      expect(await store.list(tenant, 'resource')).toEqual({ ok: true, labels: [] });
    });

    it('describes many documents of one namespace at once', async () => {
      expect(await store.describe(tenant, 'resources', ['db'])).toEqual({ ok: true, documents: new Map() });
      await write({ a: '1', b: '2' });
      await write({ a: '3' });
      await write({ c: '1' }, { namespace: 'resources', label: 'web' });
      await write({ d: '1' }, { namespace: 'deployments', label: 'db' });
      const described = await store.describe(tenant, 'resources', ['db', 'web', 'absent']);
      const found = described.ok
        ? [...described.documents].map(([label, { keys, version }]) => [label, keys, version])
        : [];
      expect(found.sort()).toEqual([
        ['db', ['a'], 2],
        ['web', ['c'], 1],
      ]);
      const some = await store.describe(tenant, 'resources', ['web']);
      expect(some.ok && [...some.documents.keys()]).toEqual(['web']);
    });

    it('removes a document with all its versions', async () => {
      await write({ a: '1' });
      await write({ a: '2' });
      await write({ a: 'kept' }, { namespace: 'resources', label: 'db-2' });
      expect(await store.remove(tenant, DB)).toEqual({ ok: true });
      expect(await read()).toBe('missing');
      expect(await read(DB, 1)).toBe('missing');
      expect(await store.metadata(tenant, DB)).toEqual({ ok: true, exists: false });
      expect(await read({ namespace: 'resources', label: 'db-2' })).toEqual({ a: 'kept' });
      expect(await store.remove(tenant, DB)).toEqual({ ok: true });
      expect(await write({ a: '3' }, DB, 0)).toMatchObject({ ok: true, version: 1 });
    });

    it('tells a missing document, version and tenant alike', async () => {
      expect(await read()).toBe('missing');
      await write({ a: '1' });
      expect(await read(DB, 7)).toBe('missing');
      expect(await read({ namespace: 'deployments', label: 'db' })).toBe('missing');
    });

    it('keeps tenants apart', async () => {
      const other = randomUUID() as TenantId;
      await write({ a: 'mine' });
      expect(await store.read(other, DB)).toMatchObject({ ok: false, reason: 'missing' });
      await store.write(other, DB, secretValues({ a: 'theirs' }));
      expect(await read()).toEqual({ a: 'mine' });
      await store.destroyTenant(other);
      expect(await store.read(other, DB)).toMatchObject({ ok: false, reason: 'missing' });
      expect(await read()).toEqual({ a: 'mine' });
    });

    it('starts anew after a tenant was destroyed', async () => {
      await write({ a: '1' });
      await write({ a: '1' }, { namespace: 'deployments', label: 'api' });
      expect(await store.destroyTenant(tenant)).toEqual({ ok: true });
      expect(await store.destroyTenant(tenant)).toEqual({ ok: true });
      expect(await read()).toBe('missing');
      expect(await store.list(tenant, 'deployments')).toEqual({ ok: true, labels: [] });
      expect(await write({ a: '2' })).toMatchObject({ version: 1 });
      expect(await read()).toEqual({ a: '2' });
    });

    it('takes the host of a registry as a label', async () => {
      const path = { namespace: 'registries', label: 'registry.internal:5000' };
      await write({ username: 'u', password: 'p' }, path);
      expect(await read(path)).toEqual({ username: 'u', password: 'p' });
      expect(await store.list(tenant, 'registries')).toEqual({
        ok: true,
        labels: ['registry.internal:5000'],
      });
    });

    it.each(['', '.', '..', 'a/b', '../x', 'a\\b', 'a\u0000b', 'a\nb', '\ud800'])(
      'refuses the segment %j before anything is asked',
      async (segment) => {
        const values = secretValues({ a: '1' });
        await expect(store.read(tenant, { namespace: 'resources', label: segment })).rejects.toThrow(
          TypeError,
        );
        await expect(store.read(tenant, { namespace: segment, label: 'db' })).rejects.toThrow(TypeError);
        await expect(store.write(tenant, { namespace: 'resources', label: segment }, values)).rejects.toThrow(
          TypeError,
        );
        await expect(store.list(segment as TenantId, 'resources')).rejects.toThrow(TypeError);
      },
    );

    it('says what it is', async () => {
      expect(await store.status()).toEqual({ kind: store.kind, connected: true, sealed: false });
    });
  });
}
