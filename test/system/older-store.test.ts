import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  always,
  type Cluster,
  type ClusterNode,
  startCluster,
  type Tenant,
} from '../support/harness/cluster.ts';

/**
 * F-28: an older copy of the embedded store is put back under agents that live. They have containers that the copy knows nothing of,
 * and others in a newer version: nothing of it is touched until a person, who was told, has said so.
 */

/** Without the hold they go within a second or two of the first orders. */
const WATCHED_MS = 6_000;

const copies = mkdtempSync(join(tmpdir(), 'berth-older-'));
let cluster: Cluster;
let shop: Tenant;
let node: ClusterNode;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  node = await cluster.node('n1', shop);
});
afterAll(async () => {
  await cluster?.stop();
  rmSync(copies, { recursive: true, force: true });
});

const store = () => join(cluster.plane.dataDir, 'store');

async function stoppedFor(change: () => void): Promise<void> {
  await cluster.plane.end('SIGTERM');
  change();
  await cluster.plane.start();
}

const nodeRecord = async () => (await shop.call('GET', '/api/v1/nodes/n1')).body;

describe('an older copy of the store under a live agent', () => {
  it('ends and changes no container until the node is uncordoned, and says so', async () => {
    await cluster.deploy(shop, { name: 'kept' });
    await cluster.deploy(shop, { name: 'changed', environment: { VERSION: 'one' } });
    for (const name of ['kept', 'changed']) await cluster.phase(shop, name, 'Running');
    const copy = join(copies, 'store');
    await stoppedFor(() => cpSync(store(), copy, { recursive: true }));

    // A restart on the same store is none of this.
    await cluster.phase(shop, 'kept', 'Running');
    expect((await nodeRecord()).schedulable).toBe(true);
    await cluster.deploy(shop, { name: 'later' });
    await cluster.update(shop, 'changed', { environment: { VERSION: 'two' } });
    await cluster.phase(shop, 'later', 'Running');
    await eventually(
      'only the new version runs',
      () => cluster.containers('changed'),
      (all) => all.length === 1 && all[0]?.status === 'running',
    );
    await cluster.phase(shop, 'changed', 'Running');
    const before = await node.pids();
    expect(Object.keys(before)).toHaveLength(3);

    await stoppedFor(() => {
      rmSync(store(), { recursive: true });
      cpSync(copy, store(), { recursive: true });
    });
    expect((await shop.call('GET', '/api/v1/deployments/later')).status).toBe(404);
    const [told] = await eventually(
      'it is told',
      () => cluster.events(shop, 'node.orders_held', 'n1'),
      (events) => events.length > 0,
    );
    expect(told?.message).toContain('older copy');
    expect(Number(told?.details?.['told'])).toBeGreaterThan(Number(told?.details?.['found']));
    await always(
      'every container keeps its process',
      () => node.pids(),
      (pids) => JSON.stringify(pids) === JSON.stringify(before),
      WATCHED_MS,
    );
    // The node is alive and shown so: nothing is made elsewhere in its place, and nothing new goes there.
    expect(await nodeRecord()).toMatchObject({ status: 'ready', schedulable: false });

    // Also after another start, whose store may have grown past what the agent was told.
    await stoppedFor(() => undefined);
    await eventually('it is back', nodeRecord, ({ status }) => status === 'ready');
    expect(await node.pids()).toEqual(before);
    expect(await cluster.events(shop, 'node.orders_held', 'n1')).toHaveLength(1);

    // Told and accepted: the copy is what holds from here on.
    expect((await shop.call('POST', '/api/v1/nodes/n1/uncordon')).status).toBe(200);
    await eventually(
      'what the copy does not know of is gone',
      () => cluster.containers('later'),
      (all) => all.length === 0,
    );
    await eventually(
      'the earlier version runs again',
      async () => (await cluster.containers('changed')).map(({ status }) => status),
      (all) => all.length === 1 && all[0] === 'running',
    );
    const kept = Object.entries(await node.pids('kept'));
    expect(kept.map(([instance, pid]) => before[instance] === pid)).toEqual([true]);
    await cluster.deploy(shop, { name: 'next' });
    await cluster.phase(shop, 'next', 'Running');
    process.stdout.write(
      `older copy: ${JSON.stringify(told?.details)}; 0 containers touched until uncordoned\n`,
    );
  });
});
