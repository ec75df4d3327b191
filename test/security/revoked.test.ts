import { afterAll, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';

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

attack('a revoked token', 'a command in a container that goes on', async () => {
  const shop = await plane.tenant('shop');
  const { agent } = await flow.connected('n1', shop);
  const { id } = await flow.placed(shop, 'web', 'n1');
  agent.report([{ id, phase: 'running' }]);
  await eventually(
    () => shop.call('GET', '/api/v1/deployments/web/instances'),
    ({ body }) => body[0].state === 'running',
  );
  const { body: minted } = await shop.call('POST', '/api/v1/tokens', { name: 'd', role: 'deployer' });
  const answer = plane.as(minted.token)('POST', '/api/v1/deployments/web/exec', {
    command: ['sleep', '600'],
    timeout: '10m',
  });
  const { streamId } = await agent.next('request');
  expect((await shop.call('DELETE', `/api/v1/tokens/${minted.id}`)).status).toBeLessThan(300);
  // Long before its ten minutes: the agent is told to end it, and the caller gets nothing of it.
  expect((await agent.next('cancel')).streamId).toBe(streamId);
  expect((await answer).body.code).toBe('unauthenticated');
});
