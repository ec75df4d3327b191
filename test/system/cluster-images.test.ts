import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  always,
  type Cluster,
  type ClusterNode,
  startCluster,
  type Tenant,
} from '../support/harness/cluster.ts';
import { pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';

let cluster: Cluster;
let shop: Tenant;
let node: ClusterNode;
let registry: Registry;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  node = await cluster.node('image-1', shop);
  registry = await startRegistry({ address: node.engine.namespace?.hostAddress ?? '' });
});

afterAll(async () => {
  await registry.stop();
  await cluster.stop();
});

describe('an image', () => {
  it('that is not in the registry is told, and runs by itself once it was pushed', async () => {
    // The control plane may not look there, so it cannot refuse; the node can pull from it.
    const { body } = await cluster.deploy(shop, { name: 'late', image: `${registry.host}/shop/late:1.0` });
    expect(body.warnings.map(({ code }: { code: string }) => code)).toContain('registry_unreachable');
    const { message } = await cluster.phase(shop, 'late', 'Degraded');
    expect(message).toContain('cannot be pulled');
    expect(message).toContain(`${registry.host}/shop/late:1.0`);
    const { body: instances } = await shop.call('GET', '/api/v1/deployments/late/instances');
    expect(instances[0]).toMatchObject({ reason: 'image_pull_failed' });
    expect(await cluster.containers('late')).toEqual([]);
    await pushImage(registry, 'shop/late:1.0');
    await cluster.phase(shop, 'late', 'Running', 60_000);
    await cluster.remove(shop, 'late');
  });

  it('of an update that cannot be pulled leaves the old instances running', async () => {
    await cluster.deploy(shop, { name: 'web', replicas: 2 });
    await cluster.phase(shop, 'web', 'Running');
    const before = await cluster.pids('web');
    await cluster.update(shop, 'web', { image: `${registry.host}/shop/missing:2.0` });
    await cluster.status(
      shop,
      'web',
      'tells',
      ({ phase, message }) => phase === 'Degraded' && message.includes('pulled'),
    );
    await always(
      'the old ones run',
      () => cluster.pids('web'),
      (now) => Object.keys(now).length === 2 && Object.entries(before).every(([id, pid]) => now[id] === pid),
      2_000,
    );
    await cluster.remove(shop, 'web');
  });

  it('is pulled once for a deployment that is restarted on its node', async () => {
    await pushImage(registry, 'shop/kept:1.0');
    await cluster.deploy(shop, { name: 'kept', image: `${registry.host}/shop/kept:1.0` });
    await cluster.phase(shop, 'kept', 'Running');
    await registry.stop();
    await cluster.update(shop, 'kept', { environment: { AGAIN: '1' } });
    await cluster.phase(shop, 'kept', 'Running');
    await cluster.remove(shop, 'kept');
  });
});
