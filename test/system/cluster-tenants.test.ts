import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';

let cluster: Cluster;
let shop: Tenant;
let bank: Tenant;
let vault: ClusterNode;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  bank = await cluster.plane.tenant('bank');
  await cluster.node('shop-de', shop, { labels: { 'berth.io/country': 'DE', disk: 'ssd' } });
  await cluster.node('shop-fr', shop, { labels: { 'berth.io/country': 'FR', disk: 'hdd' } });
  vault = await cluster.node('bank-1', bank, { labels: { 'berth.io/country': 'CH' } });
});

afterAll(async () => {
  await cluster.stop();
});

const nodesOf = async (name: string, tenant: Tenant): Promise<readonly string[]> =>
  (await cluster.containers(name))
    .filter(({ labels }) => labels['berth.io/tenant'] === tenant.id)
    .map(({ labels }) => labels['berth.io/node'] ?? '')
    .toSorted();

describe('tenants', () => {
  it('never share a node, whatever the need, and may use one name', async () => {
    await cluster.deploy(shop, { name: 'web', replicas: 6 });
    await cluster.deploy(bank, { name: 'web', replicas: 2, environment: { WHOSE: 'bank' } });
    await cluster.phase(shop, 'web', 'Running');
    await cluster.phase(bank, 'web', 'Running');
    expect(await nodesOf('web', shop)).toEqual([
      'shop-de',
      'shop-de',
      'shop-de',
      'shop-fr',
      'shop-fr',
      'shop-fr',
    ]);
    expect(await nodesOf('web', bank)).toEqual(['bank-1', 'bank-1']);
    // A stop of one leaves the other alone.
    const before = await vault.pids();
    await cluster.remove(shop, 'web');
    expect(await vault.pids()).toEqual(before);
  });

  it("cannot name, see, read or run anything of each other's", async () => {
    const { body: theirs } = await bank.call('GET', '/api/v1/deployments/web/instances');
    const theirInstance = theirs[0].id as string;
    await cluster.deploy(bank, { name: 'ledger' });
    await cluster.phase(bank, 'ledger', 'Running');
    await cluster.deploy(shop, { name: 'own' });
    await cluster.phase(shop, 'own', 'Running');

    const refused: readonly (readonly [string, string, string, unknown?])[] = [
      ['GET', '/api/v1/nodes/bank-1', '/api/v1/nodes/no-such'],
      ['GET', '/api/v1/nodes/bank-1/containers', '/api/v1/nodes/no-such/containers'],
      ['POST', '/api/v1/nodes/bank-1/drain', '/api/v1/nodes/no-such/drain'],
      ['DELETE', '/api/v1/nodes/bank-1', '/api/v1/nodes/no-such'],
      ['GET', '/api/v1/deployments/ledger', '/api/v1/deployments/no-such'],
      ['GET', '/api/v1/deployments/ledger/logs', '/api/v1/deployments/no-such/logs'],
      ['GET', '/api/v1/deployments/ledger/instances', '/api/v1/deployments/no-such/instances'],
      ['POST', '/api/v1/deployments/ledger/exec', '/api/v1/deployments/no-such/exec', { command: ['id'] }],
      [
        'GET',
        `/api/v1/deployments/own/logs?instance=${theirInstance}`,
        '/api/v1/deployments/own/logs?instance=ins_0',
      ],
      ['DELETE', '/api/v1/deployments/ledger', '/api/v1/deployments/no-such'],
    ];
    for (const [method, foreign, missing, sent] of refused) {
      const [there, nowhere] = [
        await shop.call(method, foreign, sent),
        await shop.call(method, missing, sent),
      ];
      expect([foreign, there.status, there.body.code]).toEqual([foreign, 404, nowhere.body.code]);
    }
    const exec = await cluster.exec(shop, 'own', ['id'], theirInstance);
    expect(exec.body.code).toBe('instance_not_found');
    const named = await shop.call('POST', '/api/v1/deployments', {
      name: 'intruder',
      image: 'berth.test/box:1',
      nodeId: 'bank-1',
    });
    expect(named.body.code).toBe('node_not_a_placement_candidate');
    for (const path of ['/api/v1/nodes', '/api/v1/deployments', '/api/v1/events?limit=1000']) {
      const text = JSON.stringify((await shop.call('GET', path)).body);
      for (const mark of ['bank-1', 'ledger', bank.id, theirInstance]) expect(text).not.toContain(mark);
    }
    await cluster.remove(shop, 'own');
    await cluster.remove(bank, 'ledger', 'web');
  });

  it('keep their networks apart', async () => {
    expect((await vault.docker.listNetworks({})).map(({ name }) => name)).toContain('berth-bank');
    expect((await vault.docker.listNetworks({})).map(({ name }) => name)).not.toContain('berth-shop');
  });
});

describe('placement', () => {
  it('that residency forbids is told with both values, once, and happens as soon as it may', async () => {
    const { body } = await cluster.deploy(shop, {
      name: 'swiss',
      placement: { residency: { country: 'CH' } },
    });
    expect(body.warnings.map(({ code }: { code: string }) => code)).toContain('residency_no_matching_node');
    const { placed } = await cluster.phase(shop, 'swiss', 'Waiting');
    expect(placed).toBe(0);
    const events = await eventually(
      'the event',
      () => cluster.events(shop, 'deployment.unschedulable', 'swiss'),
      (all) => all.length > 0,
    );
    expect(events).toHaveLength(1);
    for (const word of ['shop-de', 'shop-fr', 'CH', 'DE', 'FR']) expect(events[0]?.message).toContain(word);
    expect(events[0]?.message).not.toContain('bank-1');
    await cluster.update(shop, 'swiss', { placement: { residency: { country: 'FR' } } });
    await cluster.phase(shop, 'swiss', 'Running');
    expect(await nodesOf('swiss', shop)).toEqual(['shop-fr']);
    await cluster.remove(shop, 'swiss');
  });

  it('by a label that no node has lists the labels that are near', async () => {
    await cluster.deploy(shop, { name: 'typo', placement: { constraints: { disc: 'ssd' } } });
    const [event] = await eventually(
      'the event',
      () => cluster.events(shop, 'deployment.unschedulable', 'typo'),
      (all) => all.length > 0,
    );
    expect(event?.message).toContain('disc');
    expect(event?.message).toContain('disk');
    expect(await cluster.containers('typo')).toEqual([]);
    await cluster.update(shop, 'typo', { placement: { constraints: { disk: 'ssd' } } });
    await cluster.phase(shop, 'typo', 'Running');
    expect(await nodesOf('typo', shop)).toEqual(['shop-de']);
    await cluster.remove(shop, 'typo');
  });

  it('leaves a cordoned node alone, empties a drained one, and a node in use cannot be deleted', async () => {
    await cluster.deploy(shop, { name: 'web', replicas: 2 });
    await cluster.phase(shop, 'web', 'Running');
    const before = await cluster.pids('web');
    expect((await shop.call('POST', '/api/v1/nodes/shop-fr/cordon')).body).toMatchObject({
      schedulable: false,
    });
    await cluster.update(shop, 'web', { replicas: 4 });
    await cluster.phase(shop, 'web', 'Running');
    expect(await nodesOf('web', shop)).toEqual(['shop-de', 'shop-de', 'shop-de', 'shop-fr']);
    expect(await cluster.pids('web')).toMatchObject(before);
    expect((await shop.call('DELETE', '/api/v1/nodes/shop-fr')).body.code).toBe('node_in_use');
    const drained = await shop.call('POST', '/api/v1/nodes/shop-fr/drain');
    expect(drained.body.movable).toHaveLength(1);
    await eventually(
      'empty',
      () => nodesOf('web', shop),
      (nodes) => nodes.length === 4 && !nodes.includes('shop-fr'),
    );
    await cluster.phase(shop, 'web', 'Running');
    expect((await shop.call('POST', '/api/v1/nodes/shop-fr/uncordon')).body).toMatchObject({
      schedulable: true,
    });
    expect((await shop.call('DELETE', '/api/v1/nodes/shop-de')).body.code).toBe('node_in_use');
    await cluster.remove(shop, 'web');
  });

  it('of what fits on no single node stays away, and says how much is free', async () => {
    await cluster.deploy(shop, { name: 'huge', resources: { requests: { cpu: 1_000 } } });
    const { phase } = await cluster.status(shop, 'huge', 'is judged', (status) =>
      status.message.includes('no node'),
    );
    expect(phase).toBe('Pending');
    const [event] = await cluster.events(shop, 'deployment.unschedulable', 'huge');
    expect(event?.message).toMatch(/shop-de.*1000.*shop-fr.*1000/s);
    await cluster.remove(shop, 'huge');
  });
});
