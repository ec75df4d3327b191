import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InstanceRecord } from '../../src/core/model/instance.ts';
import { globalKey } from '../../src/server/store/keys.ts';
import { decodeRecord, encodeRecord } from '../../src/server/store/records.ts';
import { eventually } from '../support/eventually.ts';
import type { Answer } from '../support/harness/control-plane.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { LiveAgent } from '../support/agents/live-agent.ts';
import { joinToken, nodeFacts } from '../support/harness/node-flow.ts';
import type { PlaneProcess, Tenant } from '../support/harness/plane-process.ts';
import { type Planes, startPlanes } from '../support/harness/planes.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { agentKey } from '../support/agents/scripted-agent.ts';

/**
 * etcd takes 128 operations and 1.5 MiB in one transaction. Whatever is larger than that is done in several commits, each of which
 * leaves a true state, or refused with a reason and nothing stored; never answered with a fault.
 */

const TOKENS = 300;
const NETWORKS = 100;
const REPLICAS = 300;
const BY_CONTROLLERS = /\/(?:deployment-status|rollouts|specs)\//;

let etcd: Etcd;
let registry: PushedImageRegistry;
let planes: Planes;
let plane: PlaneProcess;
let shop: Tenant & { readonly token: string };
let agent: LiveAgent;

beforeAll(async () => {
  [etcd, registry] = await Promise.all([startEtcd(), startPushedImage()]);
  planes = await startPlanes(etcd, 1, {
    BERTH_REGISTRIES_ALLOW_PRIVATE: registry.config['registries.allowPrivate'].join(','),
    BERTH_MAX_REPLICAS_PER_DEPLOYMENT: String(REPLICAS),
  });
  plane = planes.first;
  shop = await plane.tenant('shop');
  const key = agentKey();
  const call = plane.as(await joinToken(shop.call));
  const facts = { ...nodeFacts('n1', key), capacity: { cpu: 1000, memoryBytes: 2 ** 40 } };
  const { body } = await call('POST', '/api/v1/nodes', facts);
  agent = new LiveAgent({ node: 'n1', key, token: body.nodeToken as string }, planes.addresses);
});

afterAll(async () => {
  await agent?.stop();
  await planes?.stop();
  await registry?.stop();
  await etcd?.stop();
});

function spec(name: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { kind: 'Deployment', name, image: registry.image, replicas: 0, ...more };
}

function text(bytes: number): Record<string, string> {
  const line = 'a plain sentence of a configuration that is far too long. ';
  return { TEXT: line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes) };
}

/** In each of the fields that a client fills at will. */
function long(bytes: number): Record<string, unknown> {
  const { TEXT = '' } = text(bytes);
  return {
    environment: { TEXT },
    command: ['/bin/web', TEXT],
    healthCheck: { type: 'exec', command: ['/bin/check', TEXT] },
  };
}

/** Keys that the name stands in, whatever they are of, except for what controllers write meanwhile. */
async function keysOf(name: string): Promise<readonly string[]> {
  const { entries } = await planes.kv.range('');
  return entries.flatMap(({ key }) => (key.includes(name) && !BY_CONTROLLERS.test(key) ? [key] : []));
}

async function expectRefusedWhole(name: string, request: () => Promise<Answer>): Promise<void> {
  const before = await keysOf(name);
  const { status, body } = await request();
  expect([status, body.code]).toEqual([413, 'body_too_large']);
  expect(body.why).toContain('nothing was stored');
  expect(await keysOf(name)).toEqual(before);
}

describe(`a tenant with ${TOKENS} tokens, more than fit into one transaction`, () => {
  async function tenantWithTokens(slug: string): Promise<{ id: string; keys: string[]; token: string }> {
    const { id, call } = await plane.tenant(slug);
    const made = await Promise.all(
      Array.from({ length: TOKENS }, (_, index) =>
        call('POST', '/api/v1/tokens', { name: `t${index}`, role: 'viewer' }),
      ),
    );
    const keys = made.map(({ body }) => globalKey('tokens', body.id as string));
    return { id, keys, token: made[0]?.body.token as string };
  }

  async function expectErased({
    id,
    keys,
    token,
  }: {
    id: string;
    keys: string[];
    token: string;
  }): Promise<void> {
    const { entries } = await planes.kv.range(globalKey('tokens', ''));
    expect(entries.filter(({ key }) => keys.includes(key))).toEqual([]);
    expect((await planes.kv.range(globalKey('tenant-erasures', ''))).entries).toEqual([]);
    expect((await planes.kv.range(`h/t/${id}/`)).entries).toEqual([]);
    expect((await planes.kv.range(`c/${id}/`)).entries).toEqual([]);
    expect((await plane.as(token)('GET', '/api/v1/deployments')).status).toBe(401);
  }

  it('goes with all of them', async () => {
    const doomed = await tenantWithTokens('doomed');
    expect((await plane.admin('DELETE', '/api/v1/tenants/doomed')).status).toBe(200);
    await expectErased(doomed);
    expect((await plane.admin('POST', '/api/v1/tenants', { slug: 'doomed' })).status).toBe(201);
  });

  it('is gone from the first commit on, and what a crash leaves is erased at the next start', async () => {
    const halved = await tenantWithTokens('halved');
    await plane.end('SIGKILL');
    // As after the first two commits: the tenant is deleted, and some of its tokens are erased.
    await planes.kv.commit({
      puts: [
        {
          key: globalKey('tenant-erasures', halved.id),
          value: encodeRecord({ requestedAt: new Date().toISOString() }),
        },
      ],
      deletes: [
        globalKey('tenants', halved.id),
        globalKey('tenant-slugs', 'halved'),
        ...halved.keys.slice(0, 100),
      ],
    });
    await plane.start();
    await expectErased(halved);
  });
});

describe('what is large', () => {
  it(`is placed, run and taken away: ${REPLICAS} instances of one deployment`, async () => {
    const running = async (): Promise<number> =>
      (
        (await shop.call('GET', '/api/v1/deployments/many/instances?limit=1000')).body as { state?: string }[]
      ).filter(({ state }) => state === 'running').length;
    await eventually(
      'it is taken',
      async () =>
        (await shop.call('POST', '/api/v1/deployments', spec('many', { replicas: REPLICAS }))).status,
      (status) => status === 201,
    );
    await eventually('all run', running, (count) => count === REPLICAS);
    expect((await shop.call('DELETE', '/api/v1/deployments/many')).status).toBe(200);
    // The agent of these tests never tells that it has stopped one; each of them is ordered to.
    await eventually(
      'all are to stop',
      async () =>
        (await planes.kv.range(`h/t/${shop.id}/instances/many/`)).entries.filter(
          ({ key, value }) => decodeRecord<InstanceRecord>(key, value).wanted === 'run',
        ).length,
      (count) => count === 0,
    );
  });

  it('is stored up to the limits of a spec, and refused beyond: a deployment with long fields', async () => {
    const post = (name: string, fields: Readonly<Record<string, unknown>>) =>
      shop.call('POST', '/api/v1/deployments', spec(name, fields), { 'idempotency-key': name });
    const fitting = await post('fits', long(60_000));
    expect(fitting.status, JSON.stringify(fitting.body).slice(0, 500)).toBe(201);
    expect((await post('large', { environment: text(900_000) })).body.code).toBe('field_too_large');
    // A refusal is no answer to be replayed: a smaller one under the same key is done.
    expect((await post('large', { environment: text(1000) })).status).toBe(201);
  });

  it('is stored up to what fits, and refused whole beyond: a deployment with many secret documents', async () => {
    const secrets = (count: number, prefix: string) =>
      Array.from({ length: count }, (_, index) => ({
        name: `S${index}`,
        vault_path: `resources/${prefix}-${index}`,
        generate: { keys: ['value'] },
      }));
    const post = (name: string, count: number) =>
      shop.call('POST', '/api/v1/deployments', spec(name, { secrets: secrets(count, name) }));
    const fitting = await post('some', 28);
    expect(fitting.status, JSON.stringify(fitting.body)).toBe(201);
    await expectRefusedWhole('too-many', () => post('too-many', 60));
  });

  it('is kept in versions and read back: a secret that is written more often than versions are kept', async () => {
    for (let version = 0; version < 15; version += 1) {
      const values = { value: `${version} `.padEnd(60_000, 'x') };
      const written = await shop.call('PUT', '/api/v1/secrets/resources/big', { values });
      expect(written.status, JSON.stringify(written.body)).toBeLessThan(300);
    }
  });

  it('is backed up with as much of its history as fits', async () => {
    for (let revision = 0; revision < 6; revision += 1) {
      const environment = { ...text(55_000), REVISION: String(revision) };
      const fields = { ...long(60_000), environment };
      expect((await shop.call('PUT', '/api/v1/deployments/fits', fields)).status).toBe(200);
    }
    const { status, body } = await shop.call('POST', '/api/v1/backups', { deploymentName: 'fits' });
    expect(status).toBe(201);
    expect((body.warnings as { code: string }[]).map(({ code }) => code)).toEqual(['backup_history_cut']);
  });

  it(`goes with its node: ${NETWORKS} networks on one`, async () => {
    await Promise.all(
      Array.from({ length: NETWORKS }, async (_, index) => {
        const made = await shop.call('POST', '/api/v1/networks', { name: `net-${index}`, nodeId: 'n1' });
        expect(made.status, JSON.stringify(made.body)).toBe(201);
      }),
    );
    expect((await shop.call('DELETE', '/api/v1/nodes/n1')).body.code).toBe('node_in_use');
    const { entries } = await planes.kv.range(`h/t/${shop.id}/networks/`);
    expect(entries).toHaveLength(NETWORKS);
    const gone = await shop.call('DELETE', '/api/v1/nodes/n1?force=true');
    expect(gone.status, JSON.stringify(gone.body)).toBe(200);
    expect((await planes.kv.range(`h/t/${shop.id}/networks/`)).entries).toEqual([]);
    const told = await shop.call('GET', '/api/v1/events?kind=network.deleted&limit=1000');
    expect(told.body).toHaveLength(NETWORKS);
  });
});
