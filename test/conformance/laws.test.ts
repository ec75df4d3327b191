import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import { ROLES } from '../../src/core/model/tenant.ts';
import type { Kv } from '../../src/server/store/kv.ts';
import { createMemoryKv } from '../../src/server/store/memory.ts';
import { encodeRecord } from '../../src/server/store/records.ts';
import {
  type ControlPlane,
  startControlPlane,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';
import type { RecordKind } from '../../src/server/store/owners.ts';
import { COLD_OWNERS, GLOBAL_OWNERS, TENANT_OWNERS } from '../../src/server/store/owners.ts';
import { coldKey, globalKey, tenantKey } from '../../src/server/store/keys.ts';
import { alterationProblem, LawBroken, Laws, recordProblem } from '../support/laws.ts';

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(() => plane.close());

/** The laws are only worth something when they see a breach. */
describe('the harness', () => {
  it('has a tenant with a token of every role', async () => {
    const { tokens } = await plane.tenant('shop');
    expect(Object.keys(tokens).sort()).toEqual([...ROLES].sort());
    const seen = await plane.api.get('/api/v1/deployments', { token: tokens.viewer });
    expect(seen.status).toBe(200);
  });

  it('passes a write that is announced, over JSON and YAML', async () => {
    const { tokens } = await plane.tenant('shop');
    const created = await plane.api.post(
      '/api/v1/deployments',
      { name: 'web', image: UNREACHABLE_IMAGE, placement: { residency: { country: 'de' } } },
      { token: tokens.deployer },
    );
    expect(created.status, created.text).toBe(201);
    const updated = await plane.api.call('PUT', '/api/v1/deployments/web', {
      token: tokens.deployer,
      yaml: 'replicas: 3\nsecretsVersion: 4\nplacement: null\n',
    });
    expect(updated.status, updated.text).toBe(200);
    expect(updated.body['replicas']).toBe(3);
  });

  it('sees a rejection behind which something was stored', async () => {
    const { tokens, id } = await plane.tenant('shop');
    const planted = plane.laws.before('GET', '/api/v1/deployments/none', {});
    const memory = await planted;
    await plane.mintToken({ tenantId: id, role: 'viewer' });
    const answer = await plane.api.send('GET', '/api/v1/deployments/none', { token: tokens.viewer });
    await expect(plane.laws.after('GET', '/api/v1/deployments/none', {}, answer, memory)).rejects.toThrow(
      LawBroken,
    );
  });

  describe('a key planted behind a rejection is noticed', () => {
    const TENANT = '00000000-0000-7000-8000-000000000000' as TenantId;

    function keysOf(tenant: TenantId): readonly (readonly [RecordKind, string])[] {
      const kinds = <K extends string>(owners: Readonly<Record<K, unknown>>) => Object.keys(owners) as K[];
      return [
        ...kinds(GLOBAL_OWNERS).map((kind) => [kind, globalKey(kind, 'planted')] as const),
        ...kinds(TENANT_OWNERS).map((kind) => [kind, tenantKey(tenant, kind, 'planted/1')] as const),
        ...kinds(COLD_OWNERS).map((kind) => [kind, coldKey(tenant, kind, 'planted/1')] as const),
      ];
    }

    /** A store of its own, where no controller tidies up what was planted. */
    async function noticed(
      key: string,
      record: object,
      beside: Readonly<Record<string, object>> = {},
    ): Promise<void> {
      const kv = createMemoryKv();
      const puts = Object.entries(beside).map(([at, one]) => ({ key: at, value: encodeRecord(one) }));
      if (puts.length > 0) await kv.commit({ puts });
      const { api, adminToken } = plane;
      const laws = new Laws({ kv, api, adminToken, tenantOf: () => undefined });
      const path = '/api/v1/deployments/none';
      const answer = await api.send('GET', path, {});
      await laws.after('GET', path, {}, answer, await laws.before('GET', path, {}));
      const memory = await laws.before('GET', path, {});
      await kv.commit({ puts: [{ key, value: encodeRecord(record) }] });
      await expect(laws.after('GET', path, {}, answer, memory), key).rejects.toThrow(key);
    }

    it.each(keysOf(TENANT))('of the kind %s', async (kind, key) => {
      await noticed(
        key,
        kind === 'events' ? { kind: 'deployment.created' } : { owner: 'none', nodeName: 'none' },
      );
    });

    it('of the kind specs also beside its deployment, and what a volume or a node is asked to be', async () => {
      const deployment = { [tenantKey(TENANT, 'deployments', 'web')]: { spec: { name: 'web' } } };
      await noticed(tenantKey(TENANT, 'specs', 'web/0123'), { name: 'web' }, deployment);
      const volume = tenantKey(TENANT, 'volumes', 'vol_1');
      const small = { name: 'data', sizeBytes: 1, phase: 'Pending' };
      await noticed(volume, { ...small, phase: 'Ready', sizeBytes: 2 }, { [volume]: small });
      const node = tenantKey(TENANT, 'nodes', 'berlin-1');
      await noticed(node, { claims: ['a', 'b'] }, { [node]: { claims: ['a'] } });
    });
  });

  it('sees in the end what was stored without a revision', async () => {
    const kv = createMemoryKv();
    const key = globalKey('tenants', 'planted');
    await kv.commit({ puts: [{ key, value: encodeRecord({ slug: 'one' }) }] });
    let planted = false;
    const around: Kv = {
      ...kv,
      range: async (prefix, options) => {
        const range = await kv.range(prefix, options);
        const entries = range.entries.map((entry) => ({ ...entry, value: encodeRecord({ slug: 'two' }) }));
        return planted ? { ...range, entries } : range;
      },
    };
    const { api, adminToken } = plane;
    const ended = async (): Promise<void> => {
      const laws = new Laws({ kv: around, api, adminToken, tenantOf: () => undefined });
      planted = false;
      await laws.before('GET', '/api/v1/deployments/none', {});
      planted = true;
      await laws.end();
    };
    await expect(ended()).rejects.toThrow(key);
  });

  it('sees a silent alteration and a false announcement', () => {
    const announced = [{ field: 'replicas', from: '(absent)', to: '1', why: 'default' }];
    expect(
      alterationProblem(undefined, { name: 'a' }, { name: 'a', replicas: 1 }, announced),
    ).toBeUndefined();
    expect(alterationProblem(undefined, { name: 'a' }, { name: 'a', replicas: 1 }, [])).toContain('replicas');
    expect(alterationProblem(undefined, { name: 'a' }, { name: 'a', replicas: 2 }, announced)).toContain('2');
    expect(
      alterationProblem({ name: 'a', labels: { x: '1' } }, { replicas: 1 }, { name: 'a', replicas: 1 }, []),
    ).toContain('labels');
  });

  it('sees a malformed record', async () => {
    const good = await plane.api.get('/api/v1/deployments/none');
    expect(recordProblem(good, plane.url)).toBeUndefined();
    expect(recordProblem({ ...good, body: { ...good.body, extra: '1' } }, plane.url)).toBeDefined();
    expect(recordProblem({ ...good, body: { ...good.body, code: 'no_such_code' } }, plane.url)).toBeDefined();
    expect(recordProblem({ ...good, status: 400 }, plane.url)).toBeDefined();
    expect(recordProblem({ ...good, body: { ...good.body, doc: '/docs' } }, plane.url)).toBeDefined();
  });
});
