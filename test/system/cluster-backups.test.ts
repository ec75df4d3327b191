import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';

/** A backup outlives its control plane: what was exported from one runs under another, on an engine of its own. */

let home: Cluster;
let away: Cluster;
let shop: Tenant;
let branch: Tenant;
let node: ClusterNode;
let farNode: ClusterNode;

beforeAll(async () => {
  [home, away] = await Promise.all([startCluster(), startCluster()]);
  shop = await home.plane.tenant('shop');
  branch = await away.plane.tenant('branch');
  node = await home.node('n1', shop);
  farNode = await away.node('far-1', branch);
}, 90_000);
afterAll(() => Promise.all([home.stop(), away.stop()]));

const SECRET = 'resources/db';

async function running(where: ClusterNode, count: number): Promise<void> {
  await eventually(
    `${count} containers run on ${where.name}`,
    async () => Object.keys(await where.pids('kept')),
    ({ length }) => length === count,
  );
}

describe('a backup', () => {
  it('taken, its deployment deleted, is restored in a second control plane and runs there', async () => {
    await shop.call('PUT', `/api/v1/secrets/${SECRET}`, { values: { password: 'of-the-first' } });
    await branch.call('PUT', `/api/v1/secrets/${SECRET}`, { values: { password: 'of-the-second' } });
    const secrets = [{ name: 'DB', vault_path: SECRET, anchor: 'external' }];
    await home.deploy(shop, { name: 'kept', replicas: 2, environment: { LEVEL: 'debug' }, secrets });
    await home.phase(shop, 'kept', 'Running');
    const taken = await shop.call('POST', '/api/v1/backups', { deploymentName: 'kept' });
    expect(taken.status, JSON.stringify(taken.body)).toBe(201);
    const exported = await shop.call('GET', `/api/v1/backups/${taken.body.id}/export`);
    expect(exported.status).toBe(200);
    expect(JSON.stringify(exported.body)).not.toContain('of-the-first');
    await home.remove(shop, 'kept');
    await running(node, 0);

    const imported = await branch.call('POST', '/api/v1/backups/import', exported.body);
    expect(imported.status, JSON.stringify(imported.body)).toBe(201);
    const restored = await branch.call('POST', `/api/v1/backups/${imported.body.id}/restore`);
    expect(restored.status, JSON.stringify(restored.body)).toBe(201);
    await away.phase(branch, 'kept', 'Running');
    await running(farNode, 2);
    const [container] = await farNode.containers('kept');
    const { Config } = await farNode.inspect(container?.id ?? '');
    // References travel, values do not: it runs with what the second control plane keeps under the same path.
    expect(Config.Env).toEqual(expect.arrayContaining(['LEVEL=debug', 'DB_password=of-the-second']));
    const events = await away.events(branch, 'deployment.restored', 'kept');
    expect(events).toHaveLength(1);
    await running(node, 0);
  }, 120_000);
});
