import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeName } from '../src/core/model/ids.ts';
import { DEFAULT_REGIONS } from '../src/core/scheduler/regions.ts';
import { specHash } from '../src/server/writes/admission.ts';
import { systemClock } from '../src/server/clock.ts';
import { type Controllers, createControllers, systemTimers } from '../src/server/reconcile/index.ts';
import { parseSchedule } from '../src/server/cron.ts';
import { createIds } from '../src/server/ids.ts';
import { Journal } from '../src/server/journal/journal.ts';
import { TenantClusters } from '../src/server/placement/tenant-clusters.ts';
import { openEtcdKv } from '../src/server/store/etcd/open.ts';
import type { Kv } from '../src/server/store/kv.ts';
import { openSqliteKv } from '../src/server/store/sqlite/sqlite-kv.ts';
import { Store } from '../src/server/store/store.ts';
import { StoreView } from '../src/server/store/view.ts';
import { startEtcd } from '../test/support/harness/etcd.ts';
import { fillDeployments, fillNodes, nodeName, TENANT } from './support/stored-tenant.ts';

/**
 * Placement made durable: deployments that are already stored get their instances from the controllers of a process that starts,
 * each counted when its record is committed, with its event, the status and the rollout of its deployment.
 *   node bench/placement.ts [instances] [nodes] [etcd]
 */
const INSTANCES = Number(process.argv[2] ?? 100_000);
const NODES = Number(process.argv[3] ?? 5000);
const WITH_ETCD = process.argv.includes('etcd');
const REPLICAS = [1000, 100, 10, 1];
/** Of single instances, which have a bar close to what they make: the round in the middle counts. */
const SINGLE_ROUNDS = 3;
const BEAT_MS = 5000;
const DEADLINE_MS = 180_000;

interface Figure {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Of them, of the thread that decides. */
  readonly mainSeconds: number;
  readonly commits: number;
  readonly deployments: number;
}

function startControllers(store: Store, clusters: TenantClusters, committed: () => void): Controllers {
  const ids = createIds(systemClock);
  return createControllers({
    store,
    clock: systemClock,
    timers: systemTimers,
    ids,
    journal: new Journal(systemClock, ids),
    clusters,
    hashSpec: specHash,
    owns: () => true,
    parseSchedule,
    regions: DEFAULT_REGIONS,
    volumeLeaseMs: 15_000,
    scaling: { measured: async () => new Map(), intervalMs: 15_000, maxReplicas: 10_000 },
    metrics: { decided: () => undefined, reconciled: () => undefined, committed },
    log: (problem, details) => process.stderr.write(`${problem} ${JSON.stringify(details)}\n`),
  });
}

/** Until every instance is committed; the agents of all nodes are heard meanwhile, as they would be. */
async function place(kv: Kv, instances: number, replicas: number): Promise<Figure> {
  const view = await StoreView.open(kv, { onProblem: (problem) => process.stderr.write(`${problem}\n`) });
  const store = new Store(kv, view);
  await fillNodes(store, NODES);
  const deployments = Math.ceil(instances / replicas);
  await fillDeployments(store, deployments, replicas);
  const wanted = deployments * replicas;
  const clusters = new TenantClusters(store, { regions: DEFAULT_REGIONS, residencyEnforcement: true });
  let commits = 0;
  const controllers = startControllers(store, clusters, () => (commits += 1));
  let placed = 0;
  const done = new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${placed} of ${wanted} placed`)), DEADLINE_MS);
    view.onChange(({ kind, before, after }) => {
      if (kind !== 'instances' || before !== undefined || after === undefined) return;
      placed += 1;
      if (placed < wanted) return;
      clearTimeout(late);
      resolve();
    });
  });
  const names = Array.from({ length: NODES }, (_, at) => nodeName(at) as NodeName);
  const begun = performance.now();
  const cpu = process.cpuUsage();
  const own = process.threadCpuUsage();
  await controllers.start();
  for (const name of names) controllers.liveness.sessionOpened(TENANT, name);
  const beats = setInterval(() => {
    for (const name of names) controllers.liveness.beat(TENANT, name);
  }, BEAT_MS);
  try {
    await done;
    const seconds = (performance.now() - begun) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    const main = process.threadCpuUsage(own);
    return {
      seconds,
      cpuSeconds: (user + system) / 1e6,
      mainSeconds: (main.user + main.system) / 1e6,
      commits,
      deployments,
    };
  } finally {
    clearInterval(beats);
    await controllers.stop();
    clusters.close();
    view.close();
  }
}

function print(
  label: string,
  replicas: number,
  { seconds, cpuSeconds, mainSeconds, commits, deployments }: Figure,
): void {
  const count = (value: number): string => Math.round(value).toLocaleString('en');
  const what = `${label}: ${count(deployments)} deployments x ${count(replicas)} on ${count(NODES)} nodes`;
  console.log(
    `${what.padEnd(62)} ${count((deployments * replicas) / seconds).padStart(8)} placements/s  ${count((deployments * replicas) / cpuSeconds).padStart(8)} per cpu second  ${count((deployments * replicas) / mainSeconds).padStart(8)} per second of the main thread  ${count(commits)} commits`,
  );
}

async function placeEmbedded(replicas: number): Promise<Figure> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  const kv = await openSqliteKv({ dir });
  try {
    return await place(kv, INSTANCES, replicas);
  } finally {
    await kv.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

for (const replicas of REPLICAS) {
  const rounds: Figure[] = [];
  while (rounds.length < (replicas === 1 ? SINGLE_ROUNDS : 1)) rounds.push(await placeEmbedded(replicas));
  const [middle] = rounds.toSorted((one, other) => one.seconds - other.seconds).slice(rounds.length >> 1);
  if (middle !== undefined) print('embedded', replicas, middle);
}
// Fewer of them: etcd keeps every revision of all of it.
if (WITH_ETCD) {
  const etcd = await startEtcd();
  try {
    for (const replicas of REPLICAS) {
      const kv = await openEtcdKv({ endpoints: etcd.endpoints, prefix: `/x${replicas}/` });
      try {
        print('etcd', replicas, await place(kv, INSTANCES / 5, replicas));
      } finally {
        await kv.close();
      }
    }
  } finally {
    await etcd.stop();
  }
}
console.log(`peak memory ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`);
