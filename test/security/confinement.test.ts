import { afterAll, beforeAll, describe, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';

const CONFINED = { user: '1000', readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
const IMAGE = 'localhost:1/shop/web:1.0.0';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

describe('what a workload gives up', () => {
  attack(
    'a container',
    'more rights than it was deployed with, from an agent that knows nothing of them',
    async () => {
      await flow.connected('old', shop);
      for (const [name, one] of Object.entries({
        user: { user: '1000' },
        root: { readOnlyRootFilesystem: true },
        drop: { capabilities: { drop: ['ALL'] } },
      })) {
        await deploy(shop.call, name, one);
        const { body } = await eventually(
          () => shop.call('GET', `/api/v1/events?kind=deployment.unschedulable&subject=${name}`),
          ({ body: events }) => events.length > 0,
        );
        expect(body[0].message).toContain('old: its agent knows nothing of user, readOnlyRootFilesystem');
        expect(body[0].details.nodes[0].reasons[0].code).toBe('agent_too_old');
      }
      const job = { name: 'once', image: IMAGE, ...CONFINED };
      expect((await shop.call('POST', '/api/v1/jobs', job)).status).toBe(201);
      await eventually(
        () => shop.call('GET', '/api/v1/events?kind=job.unschedulable&subject=once'),
        ({ body: events }) => events.length > 0,
      );

      // A newer one takes them, by what it is told of each.
      const { agent, identity: newer } = await flow.connected('new', shop, undefined, {
        features: ['confinement'],
      });
      const told = await agent.next('assignment', ({ instances }) => instances.length === 4);
      for (const { deployment, container } of told.instances)
        expect(Object.keys(container ?? {})).toEqual(
          expect.arrayContaining(
            { user: ['user'], root: ['readOnlyRootFilesystem'], drop: ['capabilities'] }[
              String(deployment)
            ] ?? Object.keys(CONFINED),
          ),
        );
      expect((await shop.call('GET', '/api/v1/nodes/new')).body.features).toEqual(['confinement']);

      // And is told nothing of them once an older one has taken its place.
      agent.close();
      await agent.closed;
      await deploy(shop.call, 'plain', { nodeId: 'new' });
      const older = flow.dial(newer);
      await older.welcome();
      const after = await older.next('assignment', ({ instances }) =>
        instances.some(({ deployment }) => deployment === 'plain'),
      );
      expect(after.instances.map(({ deployment }) => deployment)).toEqual(['plain']);
    },
  );
});
