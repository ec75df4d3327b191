import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { idOf } from '../../src/server/store/record-ids.ts';
import { Transaction } from '../../src/server/store/transaction.ts';
import type { Answer } from '../support/harness/api-client.ts';
import { nodeFacts } from '../support/harness/node-flow.ts';
import { agentKey } from '../support/agents/scripted-agent.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';

/** What each deployment relies on that the second start of the control plane no longer allows. */
const RELIES_ON = {
  pinned: { nodeId: 'here' },
  orphan: { nodeId: 'gone' },
  legacy: { secrets: [{ name: 'DB', vault_path: 'legacy/db', anchor: 'external', rotation: 'restart' }] },
  region: { placement: { residency: { region: 'orbit' } } },
  database: { environment: { A: '1' } },
  crowd: { replicas: 5 },
} as const;
const NAMES = Object.keys(RELIES_ON);

const dataDir = mkdtempSync(join(tmpdir(), 'berth-judged-'));
let plane: ControlPlane;
let shop: TestTenant;

const by = () => ({ token: shop.tokens['tenant-admin'] });
const put = (name: string, body: unknown): Promise<Answer> =>
  plane.api.put(`/api/v1/deployments/${name}`, body, by());

async function enrol(nodeName: string): Promise<void> {
  const join = await plane.api.post('/api/v1/join-tokens', {}, by());
  const facts = nodeFacts(nodeName, agentKey());
  const enrolled = await plane.api.post('/api/v1/nodes', facts, { token: join.body['token'] as string });
  expect(enrolled.status, enrolled.text).toBe(201);
}

beforeAll(async () => {
  plane = await startControlPlane({
    dataDir,
    config: {
      'secrets.namespaces': ['deployments', 'resources', 'legacy'],
      regions: [{ name: 'orbit', countries: ['DE'] }],
    },
  });
  shop = await plane.tenant('shop');
  await enrol('here');
  await enrol('gone');
  for (const [name, more] of Object.entries(RELIES_ON)) {
    const body = { name, image: UNREACHABLE_IMAGE, replicas: 1, ...more };
    const made = await plane.api.post('/api/v1/deployments', body, by());
    expect(made.status, made.text).toBe(201);
  }
  const removed = await plane.api.delete('/api/v1/nodes/gone?force=true', by());
  expect(removed.status, removed.text).toBeLessThan(300);
  await plane.close();
  plane = await startControlPlane({
    dataDir,
    config: { nodeName: 'here', reservedNames: ['database'], maxReplicasPerDeployment: 3 },
  });
  shop = await plane.tenant('shop');
});

afterAll(async () => {
  await plane.close();
  rmSync(dataDir, { recursive: true, force: true });
});

describe('an update is judged by what it sends', () => {
  it.each(NAMES)('%s takes a change of something else', async (name) => {
    const changed = await put(name, { labels: { team: 'shop' } });
    expect(changed.status, changed.text).toBe(200);
  });

  it.each([
    ['pinned', 'node_not_a_placement_candidate', 'nodeId'],
    ['orphan', 'node_not_a_placement_candidate', 'nodeId'],
    ['legacy', 'secret_path_namespace', 'secrets[0].vault_path'],
    ['region', 'residency_region_undeclared', 'placement.residency.region'],
    ['crowd', 'replicas_out_of_range', 'replicas'],
  ] as const)('%s does not take the same again', async (name, code, field) => {
    const refused = await put(name, RELIES_ON[name]);
    expect(refused.body, refused.text).toMatchObject({ code, field });
  });

  it.each(NAMES)('%s stops, alone and with the whole record sent back', async (name) => {
    const stopped = await put(name, { replicas: 0 });
    expect(stopped.status, stopped.text).toBe(200);
    const { body } = await plane.api.get(`/api/v1/deployments/${name}`, by());
    const again = await put(name, body);
    expect(again.status, again.text).toBe(200);
    expect(again.body['replicas']).toBe(0);
  });

  it('a stop does not carry anything in that is refused otherwise', async () => {
    const refused = await put('crowd', { replicas: 0, environment: { DB_PASSWORD: 'hunter2-Zq81xPw0' } });
    expect(refused.body['code']).toBe('plaintext_credential_in_environment');
    expect((await put('crowd', { replicas: 0, nodeId: 'gone' })).body['code']).toBe(
      'node_not_a_placement_candidate',
    );
  });

  it('is selected by a name that was reserved meanwhile, in the body too', async () => {
    const changed = await plane.api.put('/api/v1/deployments', { name: 'database', replicas: 0 }, by());
    expect(changed.status, changed.text).toBe(200);
  });

  it('stops although its volume is no more', async () => {
    const tenant = plane.store.forTenant(shop.id);
    const id = idOf('deployments', 'crowd');
    const stored = tenant.get('deployments', id);
    if (stored === undefined) throw new Error('no deployment');
    const volumes = [{ volumeId: 'vol_gone', mountPath: '/data', readOnly: false }];
    const record = { ...stored.record, spec: { ...stored.record.spec, volumes } };
    await plane.store.commit(new Transaction(shop.id).put('deployments', id, record));
    const stopped = await put('crowd', { replicas: 0 });
    expect(stopped.status, stopped.text).toBe(200);
    expect((await put('crowd', { volumes })).body['code']).toBe('volume_not_found');
  });
});

describe("the control plane's own node", () => {
  it('is no node that a tenant can name', async () => {
    const body = { name: 'near', image: UNREACHABLE_IMAGE, nodeId: 'here' };
    const refused = await plane.api.post('/api/v1/deployments', body, by());
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({ code: 'node_not_a_placement_candidate', field: 'nodeId' });
    expect(refused.body['expected']).toBe('omit nodeId');
    expect(refused.body['why']).toContain('control plane');
  });
});
