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
  await running();
});
afterAll(async () => {
  agent.stop();
  flow.close();
  await plane.close();
});

const ids = async (): Promise<readonly string[]> =>
  (await shop.call('GET', `${WEB}/instances`)).body.map(({ id }: { id: string }) => id);

async function running(): Promise<void> {
  await eventually(
    async () => (await shop.call('GET', WEB)).body,
    ({ status }) => status.phase === 'Running' && status.instances.length === 2,
  );
}

describe('one instance', () => {
  it('is shown with its node and what it runs', async () => {
    const [first = ''] = await ids();
    const { status, body } = await shop.call('GET', `${WEB}/instances/${first}`);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({
      id: first,
      name: `web-${first.slice(-8)}`,
      deployment: 'web',
      state: 'running',
      health: 'healthy',
      current: true,
      image: 'localhost:1/shop/web:1.0.0',
      node: { name: 'n1', status: 'ready', connected: true },
      secrets: [],
      failures: [],
    });
    const query = `subject=Instance/${first}&since=${body.createdAt}`;
    const events = (await shop.call('GET', `/api/v1/events?${query}`)).body;
    expect(events.map(({ kind }: { kind: string }) => kind)).toEqual([
      'instance.created',
      'instance.started',
    ]);
  });

  it('is not found under another name, nor by another tenant', async () => {
    const [first = ''] = await ids();
    const none = await shop.call('GET', `${WEB}/instances/ins_none`);
    expect([none.status, none.body.code, none.body.field]).toEqual([404, 'instance_not_found', 'instance']);
    const other = await shop.call('GET', `/api/v1/deployments/none/instances/${first}`);
    expect(other.body.code).toBe('deployment_not_found');
    const stranger = await plane.tenant('rival');
    expect((await stranger.call('GET', `${WEB}/instances/${first}`)).body.code).toBe('deployment_not_found');
  });
});
