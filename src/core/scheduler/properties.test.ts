import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InstanceId, NodeName, TenantId } from '../model/ids.ts';
import type { Quota } from '../model/tenant.ts';
import { ClusterState, type PlacedInstance } from './cluster.ts';
import { explain } from './explain.ts';
import { admitsAll, FILTERS } from './filters/index.ts';
import type { ClusterNode } from './node-state.ts';
import { INDEX_LIMITS, type IndexLimits } from './placement-index.ts';
import { DEFAULT_REGIONS } from './regions.ts';
import { type PlacementRequest, placementRequest } from './request.ts';
import { explanationFor, MI, nodeSample, TENANT } from '../../../test/support/samples/cluster.ts';
import { compareScores, type Score, scoreOf } from './score.ts';
import { inTier } from '../../../test/support/fault-tier.ts';

const CASES = inTier({ usual: 3_000, long: 50_000 });

const DEPLOYMENTS = ['web', 'db', 'cache', 'proxy'] as const;
const NODE_NAMES = Array.from({ length: 12 }, (_, at) => `n${at}` as NodeName);

/** So tight that a small cluster goes through every path of the index: rebuilding, forgetting, own rankings, falling behind. */
const TIGHT: IndexLimits = {
  fewNodes: 1,
  sharedRankings: 2,
  deployments: 2,
  changes: 5,
  changesPerNode: 0,
  ownRankingCost: 0.5,
};

const someOf = <T>(values: readonly T[], maxLength: number) =>
  fc.uniqueArray(fc.constantFrom(...values), { maxLength });
/** Present in one case of `every`. */
const maybe = <T>(arbitrary: fc.Arbitrary<T>, every = 3): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: every - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const labels = fc.record(
  {
    'berth.io/country': fc.constantFrom('DE', 'fr', 'US'),
    'berth.io/geo-region': fc.constantFrom('eu', 'dach'),
    disk: fc.constantFrom('ssd', 'hdd'),
    zone: fc.constantFrom('a', 'b'),
  },
  { requiredKeys: [] },
);

const QUIET = Array.from({ length: 9 }, () => 'none' as const);

const nodeArbitrary: fc.Arbitrary<ClusterNode> = fc
  .record({
    name: fc.constantFrom(...NODE_NAMES),
    labels,
    cpu: fc.constantFrom(0, 0.3, 1, 2, 4),
    memoryBytes: fc.constantFrom(0, 100 * MI, 512 * MI, 1024 * MI),
    room: fc.constantFrom(undefined, 50 * MI, 200 * MI, 1024 * MI),
    // Mostly in order, or hardly any case would place anything.
    trouble: fc.constantFrom(...QUIET, 'failed', 'away', 'cordoned', 'arm', 'clock', 'clock', 'engine'),
  })
  .map(({ name, trouble, room, ...sample }) =>
    nodeSample(name, {
      ...sample,
      ...(room !== undefined && { disk: { totalBytes: 2048 * MI, roomBytes: room } }),
      liveness: { status: trouble === 'failed' ? 'failed' : 'ready' },
      connected: trouble !== 'away',
      schedulable: trouble !== 'cordoned',
      ...((trouble === 'clock' || trouble === 'engine') && {
        conditions: [{ kind: trouble, message: 'wrong' }],
      }),
      platform: trouble === 'arm' ? 'linux/arm64' : 'linux/amd64',
    }),
  );

const requestArbitrary: fc.Arbitrary<PlacementRequest> = fc
  .record({
    name: fc.constantFrom(...DEPLOYMENTS),
    cpu: fc.constantFrom(0, 0.1, 0.25, 1),
    memory: fc.constantFrom('0', '50Mi', '100Mi', '400M'),
    disk: maybe(fc.constantFrom('10Mi', '60Mi', '1Gi'), 8),
    country: maybe(fc.constantFrom('DE', 'FR'), 5),
    region: maybe(fc.constantFrom('eu', 'dach'), 6),
    blocked: maybe(someOf(['US', 'FR'], 2), 5),
    constraints: maybe(
      fc.record(
        { disk: fc.constantFrom('ssd', 'hdd'), zone: fc.constantFrom('a', 'b'), gpu: fc.constant('yes') },
        { requiredKeys: [] },
      ),
      4,
    ),
    antiAffinity: maybe(someOf(DEPLOYMENTS, 2), 2),
    port: maybe(fc.constantFrom(80, 443), 4),
    nodeId: maybe(fc.constantFrom(...NODE_NAMES), 12),
    volumes: maybe(someOf(NODE_NAMES, 4), 12),
    platforms: maybe(fc.constantFrom(['linux/amd64'], ['linux/arm64'], ['linux/amd64', 'linux/arm64']), 4),
    exclude: maybe(someOf(NODE_NAMES, 3), 8),
  })
  .map((made) =>
    placementRequest(
      {
        name: made.name,
        resources: {
          requests: {
            cpu: made.cpu,
            memory: made.memory,
            ...(made.disk !== undefined && { disk: made.disk }),
          },
        },
        placement: {
          residency: {
            ...(made.country !== undefined && { country: made.country }),
            ...(made.region !== undefined && { region: made.region }),
            ...(made.blocked && { blockedCountries: made.blocked }),
          },
          ...(made.constraints && { constraints: made.constraints }),
          ...(made.antiAffinity && { antiAffinity: made.antiAffinity }),
        },
        ...(made.nodeId !== undefined && { nodeId: made.nodeId }),
        ...(made.port !== undefined && { ports: [{ container: 1, host: made.port }] }),
      },
      {
        ...(made.platforms && { imagePlatforms: made.platforms }),
        ...(made.volumes && { volumes: [{ volume: 'data', access: 'read', nodes: made.volumes }] }),
        ...(made.exclude && { exclude: new Map(made.exclude.map((name) => [name, 'failed there'])) }),
      },
    ),
  );

type Step =
  | { readonly kind: 'node'; readonly node: ClusterNode }
  | { readonly kind: 'remove-node'; readonly name: NodeName }
  | { readonly kind: 'place'; readonly request: number; readonly times: number }
  | { readonly kind: 'choose'; readonly request: number }
  | { readonly kind: 'remove'; readonly which: number };

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('node' as const), node: nodeArbitrary }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('remove-node' as const), name: fc.constantFrom(...NODE_NAMES) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('place' as const),
      request: fc.nat({ max: 3 }),
      times: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('choose' as const), request: fc.nat({ max: 3 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('remove' as const), which: fc.nat({ max: 60 }) }) },
);

const quotaArbitrary: fc.Arbitrary<Quota> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        containers: fc.nat({ max: 12 }),
        cpu: fc.constantFrom(0.5, 2),
        memoryBytes: fc.constantFrom(300 * MI, 900 * MI),
      },
      { requiredKeys: [] },
    ),
  },
);

const scenario = fc.record({
  nodes: fc.array(nodeArbitrary, { maxLength: 12 }),
  requests: fc.array(requestArbitrary, { minLength: 4, maxLength: 4 }),
  steps: fc.array(stepArbitrary, { maxLength: 14 }),
  quota: quotaArbitrary,
  tight: fc.boolean(),
  controlPlane: maybe(fc.constantFrom(...NODE_NAMES)),
  enforcement: fc.constantFrom(true, true, true, false),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** Long runs of one deployment after another, so that rankings fill up and deployments earn their own. */
const largeScenario: fc.Arbitrary<Scenario> = fc.record({
  nodes: fc
    .array(nodeArbitrary, { minLength: 120, maxLength: 120, size: 'max' })
    .map((nodes) => nodes.map((node, at) => renamed(node, `${node.record.name}-${at}`))),
  requests: fc.array(requestArbitrary, { minLength: 4, maxLength: 4 }),
  steps: fc.array(
    fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constant('place' as const),
          request: fc.nat({ max: 3 }),
          times: fc.integer({ min: 1, max: 80 }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('remove' as const), which: fc.nat({ max: 60 }) }),
      },
    ),
    { minLength: 8, maxLength: 16 },
  ),
  quota: fc.constant({}),
  tight: fc.constant(false),
  controlPlane: fc.constant(undefined),
  enforcement: fc.constant(true),
});

function renamed(node: ClusterNode, name: string): ClusterNode {
  return { ...node, record: { ...node.record, name: name as NodeName } };
}

function emptyCluster(made: Scenario, limits: IndexLimits): ClusterState {
  const cluster = new ClusterState(
    {
      tenantId: TENANT,
      isPlatformTenant: false,
      regions: DEFAULT_REGIONS,
      residencyEnforcement: made.enforcement,
      quota: made.quota,
      ...(made.controlPlane && { controlPlaneNodes: new Set([made.controlPlane]) }),
    },
    limits,
  );
  for (const node of made.nodes) cluster.setNode(node);
  return cluster;
}

/** The definition: every filter on every node, the best by score. */
function chooseNaively(cluster: ClusterState, request: PlacementRequest): Score | undefined {
  return cluster
    .nodes()
    .filter((state) => admitsAll(FILTERS, state, request, cluster))
    .map((state) => scoreOf(state, cluster.instancesOn(state, request.deployment)))
    .sort(compareScores)[0];
}

interface Deed {
  readonly cluster: ClusterState;
  readonly request: PlacementRequest;
  readonly id: InstanceId;
  /** What was placed before, kept by the test itself. */
  readonly placed: ReadonlyMap<InstanceId, PlacedInstance>;
  readonly nodes: ReadonlyMap<NodeName, ClusterNode>;
}

/** Plays a scenario; `decide` makes each placement and answers the node. */
function play(
  made: Scenario,
  limits: IndexLimits,
  decide: (deed: Deed) => NodeName | undefined,
): ClusterState {
  const cluster = emptyCluster(made, limits);
  const nodes = new Map(made.nodes.map((node) => [node.record.name, node]));
  const placed = new Map<InstanceId, PlacedInstance>();
  let count = 0;
  for (const step of made.steps) {
    if (step.kind === 'node') {
      cluster.setNode(step.node);
      nodes.set(step.node.record.name, step.node);
    } else if (step.kind === 'remove-node') {
      cluster.removeNode(step.name);
      nodes.delete(step.name);
    } else if (step.kind === 'remove') {
      const id = [...placed.keys()][step.which];
      if (id === undefined) continue;
      cluster.removeInstance(id);
      placed.delete(id);
    } else {
      const request = made.requests[step.request];
      if (request === undefined) continue;
      // A choice that is not taken must leave no trace in later ones, whatever befalls the chosen node.
      if (step.kind === 'choose') {
        const node = nodes.get(cluster.choose(request)?.node ?? ('' as NodeName));
        if (node) cluster.setNode(node);
        continue;
      }
      for (let time = 0; time < step.times; time++) {
        const id = `ins_${count++}` as InstanceId;
        const node = decide({ cluster, request, id, placed, nodes });
        if (node !== undefined) placed.set(id, instanceOf(id, node, request));
      }
    }
  }
  return cluster;
}

function instanceOf(id: InstanceId, node: NodeName, request: PlacementRequest): PlacedInstance {
  return {
    id,
    node,
    deployment: request.deployment,
    amounts: request.amounts,
    hostPorts: request.hostPorts ?? [],
    antiAffinity: request.placement?.antiAffinity ?? [],
  };
}

/** Prints the seed of a passing run too, so that any run can be repeated with `{ seed }`. */
function hold(name: string, property: fc.IProperty<[Scenario]>, numRuns: number): void {
  const details = fc.check(property, { numRuns });
  console.info(`${name}: ${details.numRuns} cases, seed ${details.seed}`);
  if (details.failed) throw new Error(fc.defaultReportMessage(details));
}

function sameScore(a: Score | undefined, b: Score | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.node === b.node && compareScores(a, b) === 0 && a.cpuShare === b.cpuShare;
}

/** Which promises the newest placement breaks, worked out from the plain list of what was placed. */
function brokenLimits(
  made: Scenario,
  node: ClusterNode | undefined,
  before: readonly PlacedInstance[],
  newest: PlacedInstance,
  /** It has to be where its volume is. */
  isBound: boolean,
): readonly string[] {
  if (node === undefined) return ['placed on a node that is not there'];
  const all = [...before, newest];
  const others = before.filter((one) => one.node === newest.node);
  const here = [...others, newest];
  const cpu = (list: readonly PlacedInstance[]): number => sum(list.map((one) => one.amounts.cpuMicros));
  const memory = (list: readonly PlacedInstance[]): number => sum(list.map((one) => one.amounts.memoryBytes));
  const disk = (list: readonly PlacedInstance[]): number => sum(list.map((one) => one.amounts.diskBytes));
  const { capacity, name, tenantId } = node.record;
  const { totalBytes = -1, roomBytes = -1 } = node.record.disk ?? {};
  const { quota } = made;
  const { amounts, antiAffinity = [], hostPorts = [] } = newest;
  const broken: readonly (readonly [string, boolean])[] = [
    ['tenant', tenantId !== TENANT],
    ['control-plane node', name === made.controlPlane],
    ['cpu', amounts.cpuMicros > 0 && cpu(here) > capacity.cpu * 1e6],
    ['memory', amounts.memoryBytes > 0 && memory(here) > capacity.memoryBytes],
    ['disk', amounts.diskBytes > 0 && disk(here) > (isBound ? totalBytes : roomBytes)],
    ['container quota', all.length > (quota.containers ?? Infinity)],
    ['cpu quota', cpu(all) > (quota.cpu ?? Infinity) * 1e6],
    ['memory quota', memory(all) > (quota.memoryBytes ?? Infinity)],
    ['anti-affinity', others.some((one) => antiAffinity.includes(one.deployment))],
    ['anti-affinity of another', others.some((one) => one.antiAffinity?.includes(newest.deployment))],
    ['host port', others.some((one) => one.hostPorts?.some((port) => hostPorts.includes(port)))],
  ];
  return broken.filter(([, isBroken]) => isBroken).map(([limit]) => limit);
}

const sum = (values: Iterable<number>): number => [...values].reduce((a, b) => a + b, 0);

describe('a placement', () => {
  it('is the one that examining every node would give', { timeout: 60_000 }, () => {
    let taken = 0;
    let refused = 0;
    const property = fc.property(scenario, (made) => {
      play(made, made.tight ? TIGHT : INDEX_LIMITS, ({ cluster, request, id }) => {
        const expected = chooseNaively(cluster, request);
        const actual = cluster.place(id, request);
        // Asked tens of thousands of times, and `expect` is slow even when it holds.
        if (!sameScore(actual, expected)) expect(actual).toEqual(expected);
        if (actual) taken++;
        else refused++;
        return actual?.node;
      });
    });
    hold('index equals naive', property, CASES);
    // Both outcomes must be common, or the comparison says little.
    expect(Math.min(taken, refused) / (taken + refused)).toBeGreaterThan(0.15);
  });

  it('is so on larger clusters with the limits of production', { timeout: 60_000 }, () => {
    const property = fc.property(largeScenario, (made) => {
      play(made, INDEX_LIMITS, ({ cluster, request, id }) => {
        const expected = chooseNaively(cluster, request);
        const actual = cluster.place(id, request);
        if (!sameScore(actual, expected)) expect(actual).toEqual(expected);
        return actual?.node;
      });
    });
    hold('index equals naive, 120 nodes', property, 20);
  });

  it('never exceeds capacity, quota, a port or anti-affinity, and stays on known nodes', {
    timeout: 60_000,
  }, () => {
    const property = fc.property(scenario, (made) => {
      play(made, made.tight ? TIGHT : INDEX_LIMITS, ({ cluster, request, id, placed, nodes }) => {
        const chosen = cluster.place(id, request);
        if (chosen === undefined) return undefined;
        const broken = brokenLimits(
          made,
          nodes.get(chosen.node),
          [...placed.values()],
          instanceOf(id, chosen.node, request),
          request.volumes !== undefined,
        );
        if (broken.length > 0) expect(broken).toEqual([]);
        return chosen.node;
      });
    });
    hold('limits hold', property, CASES);
  });

  it('does not depend on the order in which nodes and instances became known', { timeout: 60_000 }, () => {
    const property = fc.property(scenario, (made) => {
      const placed = new Map<InstanceId, PlacedInstance>();
      const first = play(made, INDEX_LIMITS, ({ cluster, request, id }) => {
        const node = cluster.place(id, request)?.node;
        if (node !== undefined) placed.set(id, instanceOf(id, node, request));
        return node;
      });
      const second = emptyCluster({ ...made, nodes: [] }, TIGHT);
      for (const instance of [...placed.values()].reverse()) second.addInstance(instance);
      for (const instance of placed.values())
        if (!isPlaced(first, instance)) second.removeInstance(instance.id);
      for (const { node } of [...first.nodes()].reverse()) second.setNode(node);
      for (const request of made.requests) expect(second.choose(request)).toEqual(first.choose(request));
    });
    hold('order does not matter', property, CASES);
  });

  it('is the one that the explanation gives, which has a reason for every other node', {
    timeout: 60_000,
  }, () => {
    const property = fc.property(scenario, (made) => {
      play(made, made.tight ? TIGHT : INDEX_LIMITS, ({ cluster, request, id }) => {
        const { nodes, chosen, summary } = explain(cluster, request);
        const compared = nodes.map(({ node }) => explanationFor(cluster, node, request).outcomes);
        const placed = cluster.place(id, request);
        expect(chosen?.node).toBe(placed?.node);
        for (const [at, node] of nodes.entries()) {
          expect(node.fits).toBe(node.reasons.length === 0);
          const outcomes = compared[at] ?? [];
          expect(outcomes).toHaveLength(FILTERS.length);
          expect(outcomes.filter((outcome) => !outcome.passed)).toHaveLength(node.reasons.length);
        }
        const fitting = nodes.filter((node) => node.fits).length;
        // Where none fits the cause is all there is to say.
        expect(summary).toMatch(fitting > 0 ? new RegExp(`^${fitting} of`) : /\S/);
        return placed?.node;
      });
    });
    hold('explanation agrees', property, 500);
  });

  it('is never on a node of another tenant, which is refused', () => {
    const other = '22222222-2222-4222-8222-222222222222' as TenantId;
    const property = fc.property(scenario, (made) => {
      const cluster = emptyCluster(made, INDEX_LIMITS);
      const before = cluster.nodes().map((state) => state.name);
      const foreign = nodeSample('foreign', { tenantId: other });
      expect(() => cluster.setNode(foreign)).toThrow('another tenant');
      expect(cluster.nodes().map((state) => state.name)).toEqual(before);
    });
    hold('foreign nodes refused', property, 100);
  });
});

/** Whether the cluster still counts the instance: removing it twice must be harmless, so ask without changing it. */
function isPlaced(cluster: ClusterState, instance: PlacedInstance): boolean {
  return cluster.instance(instance.id) !== undefined;
}
