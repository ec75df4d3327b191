import { amountsOf } from '../src/core/scheduler/amounts.ts';
import { ClusterState } from '../src/core/scheduler/cluster.ts';
import { DEFAULT_REGIONS } from '../src/core/scheduler/regions.ts';
import type { PlacementRequest } from '../src/core/scheduler/request.ts';
import type { InstanceId, NodeName, TenantId } from '../src/core/model/ids.ts';

// Placement decisions in memory, each one chosen and counted. Bars (ratios and rates) are in the design's performance table:
// at least 100,000 decisions/s with 1,000,000 instances on 5,000 nodes; cost per decision grows less than 2x from 100 to 10,000 nodes.
// Usage: node bench/scheduler.ts [quick], which places 200,000 of them and looks at the growth once.

const QUICK = process.argv[2] === 'quick';
const SINGLE_ROUNDS = 3;
const TENANT = '00000000-0000-4000-8000-000000000001' as TenantId;
const GI = 2 ** 30;
const MI = 2 ** 20;
const COUNTRIES = ['DE', 'FR', 'US', 'NL'];
/** Cores and MiB: some lean on cpu, some on memory. */
const SHAPES = [
  [0.1, 128],
  [0.25, 1024],
  [0.5, 256],
  [0.05, 512],
  [0.2, 64],
  [0.1, 768],
] as const;

let nextId = 0;
const newId = (): InstanceId => `ins_${nextId++}` as InstanceId;

function makeCluster(nodes: number): ClusterState {
  const cluster = new ClusterState({
    tenantId: TENANT,
    isPlatformTenant: false,
    regions: DEFAULT_REGIONS,
    residencyEnforcement: true,
    quota: { containers: 10_000_000 },
  });
  for (let at = 0; at < nodes; at++) {
    const big = at % 5 === 0;
    cluster.setNode({
      record: {
        name: `node-${String(at).padStart(5, '0')}` as NodeName,
        tenantId: TENANT,
        schedulable: true,
        labels: {
          'berth.io/country': COUNTRIES[at % 4] ?? 'DE',
          disk: at % 3 === 0 ? 'ssd' : 'hdd',
          hostname: `host-${at}`,
        },
        capacity: { cpu: big ? 192 : 96, memoryBytes: (big ? 768 : 256) * GI },
        platform: 'linux/amd64',
      },
      liveness: { status: 'ready' },
      connected: true,
    });
  }
  return cluster;
}

/** Deployments of every kind in turn: plain, resident, constrained, spread by force, kept apart from another. */
function requestOf(at: number): PlacementRequest {
  const [cpu, memory] = SHAPES[at % SHAPES.length] ?? [0.1, 128];
  const deployment = `app-${at}`;
  const base = { deployment, amounts: amountsOf(cpu, memory * MI) };
  switch (at % 10) {
    case 3:
      return { ...base, placement: { residency: { country: 'DE' } } };
    case 5:
      return { ...base, placement: { constraints: { disk: 'ssd' } } };
    case 6:
      return { ...base, placement: { residency: { region: 'eu', blockedCountries: ['FR'] } } };
    case 7:
      return { ...base, placement: { antiAffinity: [deployment] } };
    case 8:
      return { ...base, placement: { antiAffinity: [`app-${at - 1}`] } };
    default:
      return base;
  }
}

interface Round {
  readonly label: string;
  readonly decisions: number;
  readonly unplaced: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

function measured(label: string, decisions: number, run: () => number): Round {
  const start = process.hrtime.bigint();
  const usage = process.cpuUsage();
  const unplaced = run();
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const { user, system } = process.cpuUsage(usage);
  return { label, decisions, unplaced, seconds, cpuSeconds: (user + system) / 1e6 };
}

/** Rates by the clock and by processor time: on a machine that others use, only the second one compares. */
function print({ label, decisions, unplaced, seconds, cpuSeconds }: Round): void {
  const [wall, cpu] = [seconds, cpuSeconds].map((spent) =>
    Math.round(decisions / spent)
      .toLocaleString('en')
      .padStart(9),
  );
  console.log(`${label.padEnd(68)} ${wall} decisions/s  ${cpu} per cpu second  ${unplaced} unplaced`);
}

/** Answers decisions per second of processor time. */
function timed(label: string, decisions: number, run: () => number): number {
  const round = measured(label, decisions, run);
  print(round);
  return decisions / round.cpuSeconds;
}

/** `deployments` of `each` instances; a batch is a whole deployment, or single instances in turn. */
function fill(cluster: ClusterState, deployments: number, each: number, batch: number): number {
  const requests = Array.from({ length: deployments }, (_, at) => requestOf(at));
  let unplaced = 0;
  for (let done = 0; done < each; done += batch) {
    for (const request of requests) {
      for (let at = 0; at < batch; at++) if (!cluster.place(newId(), request)) unplaced++;
    }
  }
  return unplaced;
}

function inTurn(): void {
  const turns = makeCluster(5_000);
  timed('  1,000 deployments x 200 in turn, one instance each', 200_000, () => fill(turns, 1_000, 200, 1));
}

/** A collection of the whole heap, most of which is this cluster, takes a third of such a round: the one in the middle counts. */
function single(kept: ClusterState): void {
  let next = 20_000;
  const label = '  the same cluster, 100,000 new deployments of one instance';
  const rounds = Array.from({ length: SINGLE_ROUNDS }, () =>
    measured(label, 100_000, () => {
      let unplaced = 0;
      for (const end = next + 100_000; next < end; next++)
        if (!kept.place(newId(), requestOf(next))) unplaced++;
      return unplaced;
    }),
  );
  const [middle] = rounds.toSorted((one, other) => one.seconds - other.seconds).slice(SINGLE_ROUNDS >> 1);
  if (middle !== undefined) print(middle);
}

function c1m(): void {
  console.log('1,000,000 instances on 5,000 nodes');
  const kept = makeCluster(5_000);
  timed('  10,000 deployments x 100, a deployment at a time', 1_000_000, () => fill(kept, 10_000, 100, 100));
  single(kept);
  const large = makeCluster(5_000);
  timed('  20 deployments x 50,000 (7 and 17 spread by force: one per node)', 1_000_000, () =>
    fill(large, 20, 50_000, 50_000),
  );
  inTurn();
}

/** A cluster with twenty instances per node, and a round of work on it: one instance in, the oldest out. */
function steady(nodes: number): () => number {
  const cluster = makeCluster(nodes);
  const placed: InstanceId[] = [];
  const put = (request: PlacementRequest): boolean => {
    const id = newId();
    const done = cluster.place(id, request) !== undefined;
    if (done) placed.push(id);
    return done;
  };
  for (let at = 0; at < nodes * 2; at++) for (let copy = 0; copy < 10; copy++) put(requestOf(at));
  let oldest = 0;
  let deployment = 1_000_000;
  return () =>
    timed(`  ${nodes} nodes, deployments of 10, one in and the oldest out`, 100_000, () => {
      let unplaced = 0;
      for (let at = 0; at < 10_000; at++) {
        const request = requestOf(deployment++);
        for (let copy = 0; copy < 10; copy++) {
          if (!put(request)) unplaced++;
          const id = placed[oldest++];
          if (id) cluster.removeInstance(id);
        }
      }
      return unplaced;
    });
}

/** The best of several rounds in turn, so that what else the machine does falls on all sizes alike. */
function growth(): void {
  console.log('growth with the number of nodes, 20 instances on each');
  const rounds = [100, 1_000, 10_000].map(steady);
  const best = rounds.map(() => 0);
  const turns = QUICK ? 1 : 4;
  for (let round = 0; round < turns; round++) {
    for (const [at, run] of rounds.entries()) best[at] = Math.max(best[at] ?? 0, run());
  }
  const [small = 0, middle = 0, large = 0] = best;
  console.log(
    `processor time per decision, best of ${turns}: 100 -> 1,000 nodes ${(small / middle).toFixed(2)}x, 100 -> 10,000 nodes ${(small / large).toFixed(2)}x`,
  );
}

if (QUICK) inTurn();
else c1m();
growth();
console.log(`peak memory ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`);
