import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import { WorkingAgent } from '../support/agents/working-agent.ts';

const WEB = '/api/v1/deployments/web';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
let agent: WorkingAgent;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  agent = new WorkingAgent((await flow.connected('n1', shop)).agent);
  const body = {
    name: 'web',
    image: 'localhost:1/shop/web:1.0.0',
    replicas: 2,
    healthCheck: { type: 'exec', command: ['probe'] },
  };
  expect((await shop.call('POST', '/api/v1/deployments', body)).status).toBe(201);
  await eventually(ids, (now) => now.length === 2);
  await eventually(
    async () => (await shop.call('GET', WEB)).body,
    ({ status }) => status.phase === 'Running',
  );
});
afterAll(async () => {
  agent.stop();
  flow.close();
  await plane.close();
});

const ids = async (): Promise<readonly string[]> =>
  (await shop.call('GET', `${WEB}/instances`)).body.map(({ id }: { id: string }) => id);

describe('a restart', () => {
  it('replaces every instance, changes nothing else, and is on record', async () => {
    const before = await ids();
    const stored = (await shop.call('GET', WEB)).body;
    const answer = await shop.call('POST', `${WEB}/restart`);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    await eventually(ids, (now) => now.length === 2 && now.every((id) => !before.includes(id)));
    const after = (await shop.call('GET', WEB)).body;
    expect([after.specHash, after.version, after.replicas]).toEqual([stored.specHash, stored.version, 2]);
    const events = (await shop.call('GET', '/api/v1/events?kind=deployment.restart_requested')).body;
    expect(events).toHaveLength(1);
    expect(JSON.stringify((await shop.call('GET', '/api/v1/audit')).body)).toContain(
      'deployment.restart-requested',
    );
  });

  it('is of one instance where one is named', async () => {
    const [first = '', second = ''] = await ids();
    expect((await shop.call('POST', `${WEB}/restart`, { instance: first })).status).toBe(200);
    const now = await eventually(ids, (list) => list.length === 2 && !list.includes(first));
    expect(now).toContain(second);
  });

  it('is refused for what is not there', async () => {
    const before = await ids();
    const unknown = await shop.call('POST', `${WEB}/restart`, { instance: 'ins_none' });
    expect(unknown.body).toMatchObject({ code: 'instance_not_found', field: 'instance' });
    expect((await shop.call('POST', '/api/v1/deployments/none/restart')).body.code).toBe(
      'deployment_not_found',
    );
    expect(await ids()).toEqual(before);
  });

  it('is kept by an update: what was replaced is not replaced again', async () => {
    const before = await ids();
    expect((await shop.call('PUT', WEB, { replicas: 3 })).status).toBe(200);
    const after = await eventually(ids, (now) => now.length === 3);
    expect(after).toEqual(expect.arrayContaining([...before]));
  });
});
