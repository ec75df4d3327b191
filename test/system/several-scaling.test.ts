import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import type { PlaneProcess, Tenant } from '../support/harness/plane-process.ts';
import { type Planes, startPlanes } from '../support/harness/planes.ts';
import { agentKey, NODE_FACTS, ScriptedAgent } from '../support/agents/scripted-agent.ts';
import { WorkingAgent } from '../support/agents/working-agent.ts';

/** The control plane that decides for a tenant scales by what agents measure that are connected to another one. */

let etcd: Etcd;
let planes: Planes;
const agents: ScriptedAgent[] = [];
const workers: WorkingAgent[] = [];

beforeAll(async () => {
  etcd = await startEtcd();
  planes = await startPlanes(etcd, 2, { BERTH_TIMERS_USAGE: '200ms' });
});
afterAll(async () => {
  for (const worker of workers) worker.stop();
  for (const agent of agents) agent.close();
  await planes.stop();
  await etcd.stop();
});

async function connected(plane: PlaneProcess, shop: Tenant, node: string): Promise<WorkingAgent> {
  const key = agentKey();
  const { body: join } = await shop.call('POST', '/api/v1/join-tokens', {});
  const body = { nodeName: node, ...NODE_FACTS, publicKey: key.publicKey };
  const made = await plane.as(join.token as string)('POST', '/api/v1/nodes', body);
  expect(made.status).toBe(201);
  const agent = new ScriptedAgent({ url: plane.url, node, token: made.body.nodeToken as string, key });
  agents.push(agent);
  await agent.welcome();
  const worker = new WorkingAgent(agent);
  workers.push(worker);
  return worker;
}

it('scales wherever the agents of the instances are connected', async () => {
  const shop = await planes.first.tenant('shop');
  const perPlane = await Promise.all(
    planes.members.map((plane, index) => connected(plane, shop, `n${index}`)),
  );
  const read = async () => (await shop.call('GET', '/api/v1/deployments/web')).body;
  const healthCheck = { type: 'exec', command: ['probe'], retries: 3 };
  const spec = { name: 'web', image: 'localhost:1/shop/web:1', replicas: 2, healthCheck };
  const body = { ...spec, placement: { antiAffinity: ['web'] } };
  await eventually(
    'created',
    () => shop.call('POST', '/api/v1/deployments', body),
    ({ status }) => status === 201,
  );
  await eventually('both run', read, ({ status }) => status.phase === 'Running');
  expect(perPlane.map(({ assigned }) => assigned.length)).toEqual([1, 1]);
  const policy = { minReplicas: 1, maxReplicas: 2, targetCpuPercent: 50, cooldown: '1s' };
  for (const worker of perPlane) worker.load = () => 1;
  // Going down takes a measurement of both: one of them is always connected to the other control plane.
  expect((await shop.call('PUT', '/api/v1/deployments/web/scaling-policy', policy)).status).toBe(201);
  await eventually('one runs', read, ({ status, replicas }) => replicas === 1 && status.phase === 'Running');
  for (const worker of perPlane) worker.load = () => 99;
  await eventually('two run', read, ({ status, replicas }) => replicas === 2 && status.phase === 'Running');
  const { body: events } = await shop.call('GET', '/api/v1/events?kind=deployment.scaled');
  expect(
    events.map(({ details }: { details: { from: number; to: number } }) => [details.from, details.to]),
  ).toEqual([
    [2, 1],
    [1, 2],
  ]);
});

it('carries a canary through its whole life, asked at either control plane', async () => {
  const shop = await planes.first.tenant('bank');
  const [here, there] = planes.members;
  if (here === undefined || there === undefined) throw new Error('two control planes');
  const token = await here.token('bank', 'tenant-admin');
  const other = there.as(token);
  await connected(there, shop, 'bank-1');
  const healthCheck = { type: 'exec', command: ['probe'], retries: 3 };
  const spec = { name: 'web', image: 'localhost:1/shop/web:1', replicas: 1, healthCheck };
  const secrets = [
    { name: 'DB', vault_path: 'resources/db', values: { password: 'a-value-of-some-length' } },
  ];
  expect((await shop.call('POST', '/api/v1/deployments', { ...spec, secrets })).status).toBe(201);
  const path = '/api/v1/deployments/web';
  const read = async () => (await shop.call('GET', path)).body;
  const canary = { spec: { environment: { MODE: 'fast' } }, replicas: 2 };
  expect((await other('POST', `${path}/canary`, canary)).status).toBe(201);
  await eventually('healthy', read, ({ status }) => status.canary?.healthy === 2);
  const backup = (await other('POST', '/api/v1/backups', { deploymentName: 'web' })).body;
  expect((await shop.call('POST', `${path}/canary/promote`)).status).toBe(200);
  await eventually(
    'promoted',
    read,
    ({ status }) => status.phase === 'Running' && status.instances.length === 1,
  );
  expect((await other('DELETE', path)).status).toBe(200);
  const restored = await shop.call('POST', `/api/v1/backups/${backup.id}/restore`);
  expect([restored.status, restored.body.code]).toEqual([201, undefined]);
  await eventually('restored', read, ({ status }) => status.canary?.healthy === 2);
  expect((await other('POST', `${path}/canary/abort`)).status).toBe(200);
  await eventually(
    'aborted',
    read,
    ({ status }) => status.canary === undefined && status.instances.length === 1,
  );
});
