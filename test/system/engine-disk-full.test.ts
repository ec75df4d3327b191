import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';
import { SmallDisk } from '../support/harness/small-disk.ts';
import { lookSteadily } from '../support/steady-look.ts';

/**
 * F-18: the disk of an engine is full. An image cannot be pulled and a container cannot be made: both are told with the reason, tried
 * a few times only, and there by themselves once there is space. What runs goes on.
 */

const DISK_BYTES = 192 * 2 ** 20;
const COUNTED_MS = 300_000;
const MOST_TRIES = 6;
/** A try is made again five seconds after the first, and ten after that. */
const AGAIN_WITHIN_MS = LONG_TIER ? 320_000 : 40_000;

let disk: SmallDisk;
let cluster: Cluster;
let shop: Tenant;
let node: ClusterNode;
let registry: Registry;

beforeAll(async () => {
  disk = new SmallDisk(DISK_BYTES);
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  node = await cluster.node('full-engine', shop, { engine: { args: [`--data-root=${disk.path}`] } });
  registry = await startRegistry({ address: node.engine.namespace?.hostAddress ?? '' });
  await pushImage(registry, 'shop/late:1.0');
  await cluster.deploy(shop, { name: 'steady', replicas: 2 });
  await cluster.phase(shop, 'steady', 'Running');
});

afterAll(async () => {
  disk?.free();
  await registry?.stop();
  try {
    await cluster?.stop();
  } finally {
    disk?.remove();
  }
});

/** Of steps of the kind that had no success so far. */
function tries(step: string): number {
  return node.agent
    .log()
    .split('\n')
    .filter((line) => line.includes('a step failed') && line.includes(`"step":"${step}"`)).length;
}

it('a full disk of an engine', { timeout: 600_000 + COUNTED_MS }, async () => {
  const pids = lookSteadily(() => cluster.pids('steady'), await cluster.pids('steady'));
  disk.fill();
  const begunMs = performance.now();
  await cluster.deploy(shop, { name: 'late', image: `${registry.host}/shop/late:1.0` });
  await cluster.deploy(shop, { name: 'made' });
  for (const [name, reason] of [
    ['late', 'image_pull_failed'],
    ['made', 'container_create_failed'],
  ] as const) {
    const { message } = await cluster.phase(shop, name, 'Degraded');
    expect(message).toContain('no space left on device');
    const { body } = await shop.call('GET', `/api/v1/deployments/${name}/instances`);
    expect(body).toMatchObject([{ reason }]);
  }
  if (LONG_TIER) await delay(COUNTED_MS - (performance.now() - begunMs));
  const tried = { pull: tries('pull'), create: tries('create') };
  const countedS = Math.round((performance.now() - begunMs) / 1000);
  disk.free();
  const freedMs = performance.now();
  for (const name of ['late', 'made']) await cluster.phase(shop, name, 'Running', AGAIN_WITHIN_MS);
  const againS = ((performance.now() - freedMs) / 1000).toFixed(1);
  const seen = await pids.end();
  console.log(
    `full for ${countedS} s: ${tried.pull} tries to pull, ${tried.create} to create (at most ${MOST_TRIES} in 300 s); running ${againS} s after space was free; 0 of 2 containers touched in ${seen.looks} looks`,
  );
  expect(seen).toMatchObject({ changes: [], failures: [] });
  for (const times of Object.values(tried)) {
    expect(times).toBeGreaterThan(0);
    expect(times).toBeLessThanOrEqual(MOST_TRIES);
  }
});
