import { afterAll, beforeAll, expect } from 'vitest';
import { STOPPING_MOST } from '../../src/core/scheduler/filters/backlog.ts';
import { attack } from '../support/attack.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, NodeFlow } from '../support/harness/node-flow.ts';

const REPLICAS = 100;
const WORKLOADS = 3;
const CHANGES = 20;
const UPDATES = STOPPING_MOST + 40;

let plane: ControlPlane;
let flow: NodeFlow;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

attack(
  'deployer',
  'so many replicas of large workloads that the orders for a node are megabytes',
  async () => {
    const tenant = await plane.tenant('shop');
    await flow.connected('berlin-1', tenant);
    const environment = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`V${at}`, 'x'.repeat(1000)]),
    );
    for (let at = 0; at < WORKLOADS; at += 1)
      await deploy(tenant.call, `large-${at}`, { replicas: REPLICAS, environment });
    for (let at = 0; at < WORKLOADS; at += 1) await flow.instances(tenant, `large-${at}`, REPLICAS);
    await deploy(tenant.call, 'small');
    await flow.instances(tenant, 'small', 1);
    const used = process.cpuUsage();
    for (let at = 1; at <= CHANGES; at += 1) {
      await tenant.call('PUT', '/api/v1/deployments/small', { replicas: 1 + (at % 2) });
      await flow.instances(tenant, 'small', 1 + (at % 2));
    }
    const { user, system } = process.cpuUsage(used);
    const each = (user + system) / 1000 / CHANGES;
    console.log(`${each.toFixed(0)} ms of processor time for a change on that node`);
    expect(each).toBeLessThan(60);
  },
);

attack('deployer', 'updates without end, of a node that never removes anything', async () => {
  const tenant = await plane.tenant('mill');
  const { agent } = await flow.connected('idle-1', tenant);
  await deploy(tenant.call, 'churned', { nodeId: 'idle-1' });
  const path = '/api/v1/deployments/churned';
  for (let at = 0; at < UPDATES; at += 1) {
    const { status } = await tenant.call('PUT', path, { labels: { at: `${at}` } });
    expect(status).toBe(200);
    agent.send({ type: 'report', epoch: agent.epoch, generation: 0, full: false, observations: [] });
    // Updates that come faster than they are looked at replace nothing.
    await eventually(
      () => tenant.call('GET', path),
      ({ body }) => !body.status.message.endsWith('not reconciled yet'),
    );
  }
  const { body } = await eventually(
    () => tenant.call('GET', `${path}/explain`),
    ({ body: { nodes } }) => nodes?.[0]?.reasons?.[0]?.code === 'node_backlog',
  );
  expect(body.nodes[0].reasons[0].message).toContain('still to be removed');
  // What serves is not given up for what cannot start.
  const { instances } = (await tenant.call('GET', path)).body.status;
  expect(instances.length).toBeLessThanOrEqual(STOPPING_MOST + 2);
  expect(instances.filter(({ state }: { readonly state: string }) => state !== 'stopping')).toHaveLength(1);
});
