import { afterAll, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { eventually, NodeFlow } from '../support/node-flow.ts';
import { ObligingAgent } from '../support/obliging-agent.ts';
import { pushImage, type Registry, startRegistry } from '../support/registry.ts';

let plane: ControlPlane;
let flow: NodeFlow;
let registry: Registry;

beforeAll(async () => {
  [plane, registry] = await Promise.all([startControlPlane(), startRegistry()]);
  flow = new NodeFlow(plane);
});
afterAll(async () => {
  flow.close();
  await plane.close();
  await registry.stop();
});

const push = async (name: string, build: number): Promise<string> =>
  (await pushImage(registry, name, { busybox: false, env: [`BUILD=${build}`] })).digest;

attack('whoever pushes to a tag', 'a tag that moves after admission', async () => {
  const shop = await plane.tenant('shop');
  const { agent } = await flow.connected('n1', shop);
  const obliging = new ObligingAgent(agent, {});
  const image = `${registry.host}/shop/web:1`;
  const seen = await push('shop/web:1', 1);
  await flow.placed(shop, 'web', 'n1', { image });
  await push('shop/web:1', 666);
  await shop.call('PUT', '/api/v1/deployments/web', { replicas: 3 });
  const ordered = await eventually(
    async () => obliging.images('web'),
    (images) => images.length === 3,
  );
  // What every node is told to run is what was admitted, whatever the tag is by now.
  expect(new Set(ordered)).toEqual(new Set([`${registry.host}/shop/web@${seen}`]));
});
