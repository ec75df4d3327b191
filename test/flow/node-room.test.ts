import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/core/protocol/agent-protocol.ts';
import type { ScriptedAgent } from '../support/agents/scripted-agent.ts';
import { eventually } from '../support/eventually.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { deploy, eventKinds, NodeFlow } from '../support/harness/node-flow.ts';

/** What a machine has left, and what is wrong with it: told by its agent, and what follows for placement. */

const GIB = 2 ** 30;
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

function tell(agent: ScriptedAgent, facts: NonNullable<Report['facts']>): void {
  agent.send({ type: 'report', epoch: agent.epoch, generation: 1, full: true, observations: [], facts });
}

const disk = (room: number) => ({ totalBytes: 100 * GIB, roomBytes: room * GIB });

describe('resources.requests.disk', () => {
  it('is a place that has so much left, and what is placed takes it from the next', async () => {
    const shop = await plane.tenant('disk-shop');
    const { agent } = await flow.connected('disk-1', shop, {}, { disk: disk(31) });
    await flow.connected('disk-2', shop, {}, {});
    await deploy(shop.call, 'cache', { resources: { requests: { disk: '40Gi' } } });
    const explain = async (name: string) =>
      (await shop.call('GET', `/api/v1/deployments/${name}/explain`)).body;
    const refused = await explain('cache');
    expect(refused.summary).toBe(
      '40 GiB of disk: 1 node has less free (disk-1 has 31 GiB); 40 GiB of disk: 1 node does not say what it has',
    );
    expect(JSON.stringify(refused)).toContain('disk_unknown');
    const status = await eventually(
      async () => (await shop.call('GET', '/api/v1/deployments/cache')).body.status,
      ({ message = '' }) => message.includes('of disk'),
    );
    expect(status.placed).toBe(0);

    tell(agent, { disk: disk(60) });
    const order = await agent.next('assignment', ({ instances }) => instances.length === 1);
    expect(order.instances[0]?.container?.diskBytes).toBe(40 * GIB);
    const node = (await shop.call('GET', '/api/v1/nodes/disk-1')).body;
    expect(node).toMatchObject({ disk: disk(60), requested: { diskBytes: 40 * GIB } });
    // A disk that fills and empties is no news.
    expect(await eventKinds(shop.call, 'Node/disk-1', ['node.updated'])).toEqual([]);

    await deploy(shop.call, 'index', { resources: { requests: { disk: '30Gi' } } });
    expect((await explain('index')).summary).toContain('disk-1 has 20 GiB');
  });

  it('is refused where it cannot be read, and of limits there is none', async () => {
    const shop = await plane.tenant('disk-forms');
    const body = { kind: 'Deployment', name: 'web', image: 'localhost:1/shop/web:1', replicas: 1 };
    for (const [resources, code, field] of [
      [{ requests: { disk: '3Mi' } }, 'resources_invalid', 'resources.requests.disk'],
      [{ requests: { disk: 5 } }, 'field_type_invalid', 'resources.requests.disk'],
      [{ limits: { disk: '10Gi' } }, 'field_unknown', 'resources.limits.disk'],
    ] as const) {
      const answer = await shop.call('POST', '/api/v1/deployments', { ...body, resources });
      expect([answer.status, answer.body.code, answer.body.field]).toEqual([422, code, field]);
    }
  });
});

describe('conditions of a machine', () => {
  const fault = (kind: 'clock' | 'engine', message = `the ${kind} is wrong`) => ({ kind, message });
  const figures = async (): Promise<readonly string[]> =>
    String((await plane.admin('GET', '/metrics')).body)
      .split('\n')
      .filter((line) => line.startsWith('berth_node_condition{'));

  it('keep new work away, in explain, the node, an event and a metric, until they are over', async () => {
    const shop = await plane.tenant('faulty');
    const { agent } = await flow.connected(
      'faulty-1',
      shop,
      {},
      { faults: [fault('clock'), fault('engine')] },
    );
    await flow.connected('faulty-2', shop, {}, { faults: [fault('engine', 'no answer')] });
    await flow.connected('faulty-3', shop, {}, { conditions: [{ kind: 'disk', message: 'full' }] });
    await deploy(shop.call, 'web');
    const explain = async () => (await shop.call('GET', '/api/v1/deployments/web/explain')).body;
    expect((await explain()).summary).toBe(
      '1 node has another time; 1 node has an engine that does not work; 1 node runs out of disk',
    );
    expect((await shop.call('GET', '/api/v1/nodes/faulty-1')).body).toMatchObject({
      status: 'ready',
      conditions: [fault('clock'), fault('engine')],
      problems: ['the clock is wrong', 'the engine is wrong'],
    });
    expect((await figures()).filter((line) => line.includes('tenant="faulty"'))).toHaveLength(4);
    tell(agent, {});
    await agent.next('assignment', ({ instances }) => instances.length === 1);
    const events = (await shop.call('GET', '/api/v1/events?kind=node.updated&subject=Node/faulty-1')).body;
    expect(events.at(-1).message).toContain('conditions of its machine (none any more)');
    expect((await figures()).filter((line) => line.includes('node="faulty-1"'))).toEqual([]);
  });

  it('of clocks keep nothing away where most nodes have another time', async () => {
    const shop = await plane.tenant('timeless');
    const { agent } = await flow.connected('timeless-1', shop, {}, { faults: [fault('clock')] });
    await deploy(shop.call, 'web');
    await agent.next('assignment', ({ instances }) => instances.length === 1);
  });

  it('of a hostile node are no more than they may be, and are its own tenant’s', async () => {
    const [shop, bank] = [await plane.tenant('hostile'), await plane.tenant('beside')];
    const many = Array.from({ length: 2 }, () => fault('engine', 'x'.repeat(5_000)));
    await flow.connected('hostile-1', shop, {}, { faults: many });
    const { agent } = await flow.connected('beside-1', bank, {});
    await deploy(bank.call, 'web');
    await agent.next('assignment', ({ instances }) => instances.length === 1);
    const { conditions } = (await shop.call('GET', '/api/v1/nodes/hostile-1')).body;
    expect(conditions[0].message.length).toBeLessThan(5_000);
    expect((await figures()).filter((line) => line.includes('tenant="hostile"'))).toEqual([
      'berth_node_condition{tenant="hostile",node="hostile-1",condition="engine"} 1',
    ]);
    const three = flow.dial(await flow.enrolled('hostile-2', shop));
    three.hello(await three.next('challenge'), { faults: [...many, ...many] });
    await three.closed;
  });
});

describe('cleaning up', () => {
  it('is not for viewers and strangers, not even to be looked at', async () => {
    const shop = await plane.tenant('tidy');
    const { agent } = await flow.connected('tidy-1', shop, {}, { features: ['cleaning'] });
    const { body } = await shop.call('POST', '/api/v1/tokens', { name: 'look', role: 'viewer' });
    const stranger = await plane.tenant('untidy');
    for (const dryRun of [true, false]) {
      const path = `/api/v1/nodes/tidy-1/clean?dryRun=${dryRun}`;
      expect((await plane.as(body.token)('POST', path)).status).toBe(403);
      expect((await stranger.call('POST', path)).body.code).toBe('node_not_found');
    }
    expect(agent.received.some(({ type }) => type === 'request')).toBe(false);
  });

  it('leaves the images of a canary and of what it is compared with, also while the node is drained', async () => {
    const shop = await plane.tenant('careful');
    const { agent } = await flow.connected('careful-1', shop);
    const [old, next, other] = ['old', 'next', 'other'].map((name) => `localhost:1/careful/${name}:1.0.0`);
    await deploy(shop.call, 'web', { image: old, replicas: 2 });
    await agent.next('assignment', ({ instances }) => instances.length === 2);
    const canary = await shop.call('POST', '/api/v1/deployments/web/canary', { image: next });
    expect(canary.body.code).toBeUndefined();
    let asked = 0;
    const needed = async () => {
      asked += 1;
      const images = [old ?? '', next ?? '', other ?? ''];
      agent.send({ type: 'ask-images', epoch: agent.epoch, requestId: `r${asked}`, images });
      return (await agent.next('images-needed', ({ requestId }) => requestId === `r${asked}`)).needed.map(
        ({ image }) => image,
      );
    };
    expect(await needed()).toEqual([old, next]);
    await shop.call('POST', '/api/v1/nodes/careful-1/drain');
    expect(await needed()).toEqual([old, next]);
  });
});
