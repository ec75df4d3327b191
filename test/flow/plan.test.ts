import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import { WorkingAgent } from '../support/agents/working-agent.ts';

const DEPLOYMENTS = '/api/v1/deployments';
const image = (tag: string) => `localhost:1/shop/web:${tag}`;

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
const agents: WorkingAgent[] = [];

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  for (const name of ['n1', 'n2']) agents.push(new WorkingAgent((await flow.connected(name, shop)).agent));
});
afterAll(async () => {
  for (const agent of agents) agent.stop();
  flow.close();
  await plane.close();
});

async function running(body: Readonly<Record<string, unknown>> & { readonly name: string }) {
  const answer = await shop.call('POST', DEPLOYMENTS, { image: image('1.0.0'), ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return eventually(
    async () => (await shop.call('GET', `${DEPLOYMENTS}/${body.name}`)).body,
    ({ status }) => status.phase === 'Running',
  );
}

async function planned(name: string, body: object) {
  const answer = await shop.call('PUT', `${DEPLOYMENTS}/${name}?dryRun=true`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.plan;
}

describe('the plan of a change', () => {
  it('says of each instance what becomes of it, and why', async () => {
    await running({ name: 'web', replicas: 3, environment: { LEVEL: 'info' } });
    const same = await planned('web', { replicas: 3 });
    expect(same.actions.map(({ action }: { action: string }) => action)).toEqual(['keep', 'keep', 'keep']);
    const fewer = await planned('web', { replicas: 1 });
    expect(fewer.actions.filter(({ action }: { action: string }) => action === 'stop')).toMatchObject([
      { why: 'replicas 3 → 1' },
      { why: 'replicas 3 → 1' },
    ]);
    const more = await planned('web', { replicas: 4 });
    expect(more.actions.at(-1)).toMatchObject({
      action: 'create',
      to: expect.any(String),
      why: 'replicas 3 → 4',
    });
    const other = await planned('web', {
      image: image('2.0.0'),
      environment: { LEVEL: 'debug' },
      replicas: 4,
    });
    expect(other.actions).toMatchObject([
      { action: 'replace', how: 'start-first', why: 'environment.LEVEL, image changed' },
      { action: 'replace', to: expect.any(String) },
      { action: 'replace' },
      { action: 'create' },
    ]);
    const none = await planned('web', { replicas: 0 });
    expect(none.actions.every(({ action }: { action: string }) => action === 'stop')).toBe(true);
  });

  it('says that a host port is given up before it is taken again, and which', async () => {
    await running({ name: 'front', replicas: 2, ports: [{ container: 80, host: 8080 }] });
    const { actions } = await planned('front', { image: image('2.0.0') });
    expect(actions).toHaveLength(2);
    for (const one of actions)
      expect(one).toMatchObject({
        action: 'replace',
        how: 'stop-first',
        why: 'image changed; it stops first: old instances hold host port 8080 on every node that would take a new one',
      });
  });

  it('says that an update waits where there is room beside none and none may stop', async () => {
    await running({
      name: 'large',
      replicas: 1,
      nodeId: 'n2',
      resources: { limits: { memory: '5Gi' }, requests: { memory: '5Gi' } },
    });
    const { actions, unplaced } = await planned('large', { image: image('2.0.0') });
    expect(actions).toEqual([
      {
        action: 'replace',
        instance: expect.any(String),
        node: 'n2',
        why: 'image changed; it stays until a node takes its successor',
      },
    ]);
    expect(unplaced).toMatchObject({ count: 1 });
  });

  it('has one id for one world, which a beat of health does not change', async () => {
    const first = await planned('web', { image: image('3.0.0') });
    expect((await planned('web', { image: image('3.0.0') })).id).toBe(first.id);
    expect((await planned('web', { image: image('3.0.1') })).id).not.toBe(first.id);
  });

  it('is applied by its id, once', async () => {
    const body = { environment: { LEVEL: 'warn' } };
    const { id } = await planned('web', body);
    expect((await shop.call('PUT', `${DEPLOYMENTS}/web?plan=${id}`, body)).status).toBe(200);
    const again = await shop.call('PUT', `${DEPLOYMENTS}/web?plan=${id}`, body);
    expect(again.status).toBe(412);
    expect(again.body).toMatchObject({ code: 'plan_outdated', field: 'plan', received: id });
    expect(again.body.why).toContain('the record was changed since');
  });

  it('is refused for another document, and when a node that it chose takes nothing any more', async () => {
    const body = { name: 'late', image: image('1.0.0'), replicas: 2 };
    const dry = await shop.call('POST', `${DEPLOYMENTS}?dryRun=true`, body);
    const { id, instances } = dry.body.plan;
    const other = await shop.call('POST', `${DEPLOYMENTS}?plan=${id}`, { ...body, replicas: 1 });
    expect(other.body.why).toContain('the document');
    const node = instances[0].node;
    expect((await shop.call('POST', `/api/v1/nodes/${node}/cordon`)).status).toBe(200);
    const moved = await shop.call('POST', `${DEPLOYMENTS}?plan=${id}`, body);
    expect([moved.status, moved.body.code]).toEqual([412, 'plan_outdated']);
    expect(moved.body.why).toContain('instances or nodes moved');
    expect((await shop.call('GET', `${DEPLOYMENTS}/late`)).status).toBe(404);
    expect((await shop.call('POST', `/api/v1/nodes/${node}/uncordon`)).status).toBe(200);
    expect((await shop.call('POST', `${DEPLOYMENTS}?plan=${id}`, body)).status).toBe(201);
  });

  it('names a drained node as the reason', async () => {
    await running({ name: 'moving', replicas: 1, nodeId: 'n1' });
    expect((await shop.call('POST', '/api/v1/nodes/n1/drain')).status).toBe(200);
    const { actions } = await planned('moving', { replicas: 1 });
    expect(actions).toMatchObject([
      {
        action: 'replace',
        node: 'n1',
        why: 'node n1 is being drained; it stays until a node takes its successor',
      },
    ]);
    expect((await shop.call('POST', '/api/v1/nodes/n1/uncordon')).status).toBe(200);
  });

  it('of a job says where it runs, and is applied by its id', async () => {
    const body = { name: 'dump', image: image('1.0.0') };
    const { plan } = (await shop.call('POST', '/api/v1/jobs?dryRun=true', body)).body;
    expect(plan.actions).toMatchObject([{ action: 'create', to: expect.any(String) }]);
    const stale = await shop.call('POST', `/api/v1/jobs?plan=${plan.id}`, { ...body, image: image('2.0.0') });
    expect(stale.body.code).toBe('plan_outdated');
    expect((await shop.call('POST', `/api/v1/jobs?plan=${plan.id}`, body)).status).toBe(201);
  });
});
