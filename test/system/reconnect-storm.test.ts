import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { inTier, LONG_TIER } from '../support/fault-tier.ts';
import { lookSteadily, percentile } from '../support/steady-look.ts';
import { startStorm, type StormAgent } from '../support/agents/storm-agent.ts';

/**
 * F-12: the control plane is killed and is away for a while; hundreds of agents and some with real containers come back to it. The timers
 * are those of a product that nobody configured.
 */

const AGENTS = inTier({ usual: 200, long: 300 });
const REAL_AGENTS = inTier({ usual: 1, long: 3 });
const ROUNDS = inTier({ usual: 1, long: 3 });
const AWAY_MS = inTier({ usual: 3_000, long: 60_000 });
const GRACE_MS = 30_000;
const BACK_WITHIN_MS = 40_000;
const ACCEPTS_PER_SECOND = 50;
/** The bar on an idle machine is 1 s and is printed; a busy one gets more before it counts as a failure. */
const API_BAR_MS = 1_000;
const API_LIMIT_MS = 5_000;
/** Accepts are counted over this time: they are noticed here a little closer together, or further apart, than they were made. */
const COUNTED_SECONDS = 3;
const NOTICED = 1.2;

let cluster: Cluster;
let shop: Tenant;
let herd: Tenant;
let agents: StormAgent[] = [];

beforeAll(async () => {
  cluster = await startCluster({
    BERTH_TIMERS_HEARTBEAT: '5s',
    BERTH_TIMERS_FAILED_AFTER: '15s',
    BERTH_TIMERS_REPLACE_AFTER: '60s',
    BERTH_TIMERS_START_GRACE: `${GRACE_MS / 1000}s`,
  });
  shop = await cluster.plane.tenant('shop');
  herd = await cluster.plane.tenant('herd');
  for (let index = 0; index < REAL_AGENTS; index += 1) await cluster.node(`real-${index}`, shop);
  await cluster.deploy(shop, { name: 'web', replicas: 2 * REAL_AGENTS });
  agents = await startStorm(cluster.plane.url, herd.call, AGENTS);
  await cluster.phase(shop, 'web', 'Running');
  await eventually('the herd is there', waiting, (left) => left === 0, BACK_WITHIN_MS);
});

afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.stop()));
  await cluster?.stop();
});

/** How many have not been welcomed since then. */
function waiting(sinceMs = 0): number {
  return agents.filter(({ welcomedMs }) => (welcomedMs.at(-1) ?? -1) < sinceMs).length;
}

async function statuses(): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { call } of [shop, herd]) {
    const { body } = await call('GET', '/api/v1/nodes?limit=1000');
    for (const { status } of body as { status: string }[]) counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** A write and a read, as of a client at the time of the storm. Nothing but the control plane takes part in it. */
async function use(): Promise<string> {
  const made = await shop.call('POST', '/api/v1/tokens', { name: 'storm', role: 'viewer' });
  const read = await shop.call('GET', '/api/v1/deployments/web');
  return `${made.status} ${read.status}`;
}

/** The most that were welcomed per second, over some seconds. */
function mostInASecond(sinceMs: number): number {
  const times = agents
    .flatMap(({ welcomedMs }) => welcomedMs.filter((at) => at >= sinceMs))
    .toSorted((a, b) => a - b);
  const inWindow = (from: number): number =>
    times.filter((at) => at >= from && at < from + COUNTED_SECONDS * 1000).length;
  return Math.max(...times.map(inWindow)) / COUNTED_SECONDS;
}

async function storm(): Promise<string> {
  const pids = await cluster.pids('web');
  expect(Object.keys(pids)).toHaveLength(2 * REAL_AGENTS);
  const containers = lookSteadily(() => cluster.pids('web'), pids, 500);
  await cluster.plane.end('SIGKILL');
  // Whoever is welcomed from here on is back, also before the start was noticed here.
  const killedMs = performance.now();
  await delay(AWAY_MS);
  await cluster.plane.start();
  const upMs = performance.now();
  const api = lookSteadily(use, '201 200', 50);
  const nodes = lookSteadily(statuses, { ready: AGENTS + REAL_AGENTS }, 250);
  await eventually(
    'all are back',
    () => waiting(killedMs),
    (left) => left === 0,
    BACK_WITHIN_MS,
  );
  const backMs = performance.now() - upMs;
  const used = await api.end();
  // Until nothing is forgiven any more for the start; those who were heard before are not in question.
  await delay(LONG_TIER ? Math.max(0, GRACE_MS + 2_000 - (performance.now() - upMs)) : 2_000);
  const [seen, kept] = await Promise.all([nodes.end(), containers.end()]);
  const most = mostInASecond(killedMs);
  const p99 = Math.round(percentile(used.tookMs, 0.99));
  const line = `${AGENTS} + ${REAL_AGENTS} agents, away for ${AWAY_MS / 1000} s: all back in ${(backMs / 1000).toFixed(1)} s, at most ${Math.round(most)} a second; ${used.looks} writes and reads, p99 ${p99} ms (bar ${API_BAR_MS} ms); ${seen.looks} looks at ${AGENTS + REAL_AGENTS} nodes`;
  expect(used).toMatchObject({ changes: [], failures: [] });
  expect(seen).toMatchObject({ changes: [], failures: [] });
  expect(kept).toMatchObject({ changes: [], failures: [] });
  expect(most).toBeLessThanOrEqual(ACCEPTS_PER_SECOND * NOTICED);
  expect(p99).toBeLessThan(API_LIMIT_MS);
  for (const tenant of [shop, herd]) expect(await cluster.events(tenant, 'node.failed')).toEqual([]);
  return line;
}

it(`${AGENTS} agents come back at once to a control plane that was killed`, {
  timeout: ROUNDS * 240_000,
}, async () => {
  for (let round = 0; round < ROUNDS; round += 1) console.log(await storm());
  console.log(`${ROUNDS} storms: 0 nodes failed, 0 containers touched`);
});
