import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  BOX,
  type Cluster,
  type ClusterNode,
  startCluster,
  type Tenant,
} from '../support/harness/cluster.ts';

/** Networks of a tenant on a real engine, through control plane and agent. */

let cluster: Cluster;
let shop: Tenant;
let node: ClusterNode;
beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  node = await cluster.node('n1', shop);
}, 60_000);
afterAll(() => cluster.stop());

const own = () => node.docker.listNetworks({ 'berth.io/network': 'backend' });

async function ready(name: string): Promise<void> {
  await eventually(
    `${name} is ready`,
    () => shop.call('GET', `/api/v1/networks/${name}`),
    ({ body }) => body.status?.phase === 'Ready',
  );
}

const gone = () => eventually('the network is gone', own, ({ length }) => length === 0);

describe('a network on a real engine', () => {
  it('is made as asked, under a name and labels of its tenant, and outlives its agent', async () => {
    const settings = { name: 'backend', internal: true, labels: { team: 'shop' } };
    expect((await shop.call('POST', '/api/v1/networks', settings)).status).toBe(201);
    await ready('backend');
    const [made] = await own();
    expect(made).toMatchObject({
      name: 'berth-shop.backend',
      driver: 'bridge',
      internal: true,
      labels: {
        team: 'shop',
        'berth.io/tenant': shop.id,
        'berth.io/node': 'n1',
        'berth.io/network': 'backend',
      },
    });
    await node.agent.kill9();
    await node.agent.start();
    await ready('backend');
    expect((await own()).map(({ id }) => id)).toEqual([made?.id]);
  });

  it('is made again when it was removed while the agent was away', async () => {
    const [before] = await own();
    await node.agent.kill9();
    await node.docker.removeNetwork(before?.id ?? '');
    await node.agent.start();
    const [after] = await eventually('it is back', own, ({ length }) => length === 1);
    expect(after?.id).not.toBe(before?.id);
  });

  it('stays while a container is attached, running or stopped, and goes afterwards', async () => {
    const [network] = await own();
    const id = await node.docker.createContainer({
      name: 'guest',
      image: BOX,
      command: ['sleep', '60'],
      env: [],
      labels: {},
      ownLabels: {},
      network: { name: 'berth-shop.backend', aliases: [] },
      restart: { name: 'no' },
      mounts: [],
      ports: [],
    });
    const refused = await shop.call('DELETE', '/api/v1/networks/backend');
    expect([refused.body.code, refused.body.why]).toEqual(['network_in_use', 'Attached on n1: guest.']);
    await node.docker.start(id);
    expect((await shop.call('DELETE', '/api/v1/networks/backend')).body.code).toBe('network_in_use');
    expect((await own())[0]?.id).toBe(network?.id);
    await node.docker.remove(id, { force: true });
    expect((await shop.call('DELETE', '/api/v1/networks/backend')).status).toBe(200);
    await gone();
  });

  it('is replaced by one of other settings under the same name, and removed after an absence of the agent', async () => {
    await shop.call('POST', '/api/v1/networks', { name: 'backend' });
    await ready('backend');
    const [first] = await own();
    await shop.call('DELETE', '/api/v1/networks/backend');
    await node.agent.kill9();
    await shop.call('POST', '/api/v1/networks', { name: 'backend', internal: true, nodeId: 'n1' });
    await node.agent.start();
    await eventually('it is internal', own, ([one]) => one?.internal === true && one.id !== first?.id);
    await ready('backend');
    await shop.call('DELETE', '/api/v1/networks/backend');
    await gone();
  });

  it('does not take over a foreign network of its name, says so, and is made when that is gone', async () => {
    const foreign = await node.docker.ensureNetwork({
      name: 'berth-shop.taken',
      driver: 'bridge',
      internal: false,
      labels: {},
    });
    await shop.call('POST', '/api/v1/networks', { name: 'taken' });
    const { body } = await eventually(
      'it failed',
      () => shop.call('GET', '/api/v1/networks/taken'),
      (answer) => answer.body.status?.phase === 'Failed',
    );
    expect(body.status.message).toContain('exists and differs');
    await node.docker.removeNetwork(foreign.id);
    // Any new assignment makes the agent look at once; without one it does so every ten seconds.
    await shop.call('POST', '/api/v1/networks', { name: 'another' });
    await ready('taken');
  });

  it('meets none of another tenant, though both would spell the same words', async () => {
    const other = await cluster.plane.tenant('shop-taken');
    const second = await cluster.node('n2', other);
    await other.call('POST', '/api/v1/networks', { name: 'backend' });
    await eventually(
      'made on its node',
      () => second.docker.listNetworks({ 'berth.io/network': 'backend' }),
      ([one]) => one?.name === 'berth-shop-taken.backend',
    );
    expect(await own()).toEqual([]);
    expect((await other.call('GET', '/api/v1/networks/taken')).body.code).toBe('network_not_found');
  });
});
