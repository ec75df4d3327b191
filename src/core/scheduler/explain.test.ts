import { describe, expect, it } from 'vitest';
import type { NodeName } from '../model/ids.ts';
import { jobOwner } from '../model/owner.ts';
import type { ClusterState, PlacedInstance } from './cluster.ts';
import { explain, refusalGroups } from './explain.ts';
import { FILTERS } from './filters/index.ts';
import {
  clusterSample,
  explanationFor,
  GI,
  instanceSample,
  type NodeSample,
  nodeSample,
  requestSample,
} from '../../../test/support/samples/cluster.ts';

const DE = { 'berth.io/country': 'DE', 'berth.io/geo-region': 'eu', disk: 'ssd' };

/** Twenty nodes, each unfit in its own way, with the codes that must be given for it. */
const TWENTY: readonly (readonly [name: string, sample: NodeSample, codes: readonly string[]])[] = [
  ['n01', { labels: DE, liveness: { status: 'failed' }, connected: false }, ['node_failed']],
  ['n02', { labels: DE, connected: false }, ['node_disconnected']],
  ['n03', { labels: DE, liveness: 'never', connected: false }, ['node_never_connected']],
  ['n04', { labels: DE, schedulable: false }, ['node_cordoned']],
  ['n05', { labels: DE, schedulable: false, draining: true }, ['node_draining']],
  ['n06', { labels: DE }, ['node_runs_control_plane']],
  ['n07', { labels: { ...DE, 'berth.io/country': 'FR' } }, ['country_mismatch']],
  ['n08', { labels: { 'berth.io/geo-region': 'eu', disk: 'ssd' } }, ['country_unknown']],
  [
    'n09',
    { labels: { ...DE, 'berth.io/country': 'US', 'berth.io/geo-region': 'us' } },
    ['country_mismatch', 'region_mismatch'],
  ],
  ['n10', { labels: { disk: 'ssd' } }, ['country_unknown', 'region_unknown']],
  ['n11', { labels: { ...DE, 'berth.io/country': 'RU' } }, ['country_mismatch', 'country_blocked']],
  ['n12', { labels: { ...DE, disk: 'hdd' } }, ['label_mismatch']],
  ['n13', { labels: { 'berth.io/country': 'DE' } }, ['label_mismatch']],
  ['n14', { labels: DE }, ['anti_affinity']],
  ['n15', { labels: DE }, ['anti_affinity_of_other']],
  ['n16', { labels: DE }, ['cpu_short']],
  ['n17', { labels: DE, memoryBytes: GI }, ['memory_short']],
  ['n18', { labels: DE, platform: 'linux/arm64' }, ['platform_mismatch']],
  ['n19', { labels: DE }, ['host_port_taken']],
  [
    'n20',
    {
      labels: { disk: 'hdd' },
      liveness: { status: 'failed' },
      connected: false,
      schedulable: false,
      cpu: 1,
      memoryBytes: GI,
      platform: 'windows/amd64',
    },
    [
      'node_failed',
      'node_cordoned',
      'country_unknown',
      'region_unknown',
      'label_mismatch',
      'capacity_short',
      'platform_mismatch',
      'node_left_out',
    ],
  ],
];

const PLACED: readonly PlacedInstance[] = [
  instanceSample('i1', 'n14', { deployment: 'db' }),
  instanceSample('i2', 'n15', { deployment: 'batch', antiAffinity: ['web'] }),
  instanceSample('i3', 'n16', { deployment: 'other', cpu: 3.5 }),
  instanceSample('i4', 'n19', { deployment: 'proxy', hostPorts: [443] }),
];

const REQUEST = requestSample({
  cpu: 2,
  memoryBytes: 2 * GI,
  hostPorts: [443],
  imagePlatforms: ['linux/amd64'],
  placement: {
    residency: { country: 'DE', region: 'eu', blockedCountries: ['RU'] },
    constraints: { disk: 'ssd' },
    antiAffinity: ['db'],
  },
  exclude: new Map([['n20' as NodeName, 'three starts failed there']]),
});

function twenty(): ClusterState {
  const cluster = clusterSample(
    { controlPlaneNodes: new Set(['n06' as NodeName]) },
    ...TWENTY.map(([name, sample]) => nodeSample(name, sample)),
  );
  for (const instance of PLACED) cluster.addInstance(instance);
  return cluster;
}

describe('an explanation', () => {
  it('names all of twenty nodes with all of their reasons', () => {
    const { nodes, chosen } = explain(twenty(), REQUEST);
    expect(chosen).toBeUndefined();
    expect(nodes.map((node) => [node.node, node.reasons.map((reason) => reason.code)])).toEqual(
      TWENTY.map(([name, , codes]) => [name, codes]),
    );
  });

  it('gives the event a line per node that quotes required and reported values', () => {
    const lines = explain(twenty(), REQUEST).message.split('\n');
    expect(lines).toHaveLength(20);
    expect(lines[6]).toBe('n07: needs country DE, the node is in FR');
    expect(lines[11]).toBe(
      'n12: needs label disk=ssd, the node has disk=hdd; nodes advertise disk: hdd, ssd',
    );
    expect(lines[15]).toBe('n16: needs 2 cores, 0.5 free of 4 cores');
    expect(lines[18]).toBe('n19: needs host port 443, taken here by proxy');
  });

  it('sums the reasons up for the status', () => {
    expect(explain(twenty(), REQUEST).summary).toBe(
      '4 nodes are not ready; 2 nodes are cordoned; 1 node is being drained; and 14 more reasons',
    );
  });

  it.each([
    ['label disk=ssd: 1 node lacks it', { placement: { constraints: { disk: 'ssd' } } }],
    [
      'label disk=ssd: 1 node lacks it; label rack=a: 1 node lacks it',
      { placement: { constraints: { disk: 'ssd', rack: 'a' } } },
    ],
    ['6 cores: 1 node has less free (a has 4 cores)', { cpu: 6 }],
    ['64 GiB of memory: 1 node has less free (a has 8 GiB)', { memoryBytes: 64 * GI }],
    ['host port 443: 1 node has it in use', { hostPorts: [443] }],
    ['country DE: 1 node does not say where it is', { placement: { residency: { country: 'DE' } } }],
    ['nodeId z: 1 node is another; 6 cores: 1 node has less free (a has 4 cores)', { nodeId: 'z', cpu: 6 }],
    ['anti-affinity with proxy: 1 node runs it', { placement: { antiAffinity: ['proxy'] } }],
    ['platform linux/s390x: 1 node has another', { imagePlatforms: ['linux/s390x'] }],
  ] as const)('names the cause in one line: %s', (summary, asked) => {
    const cluster = clusterSample({}, nodeSample('a'));
    cluster.addInstance(instanceSample('i1', 'a', { deployment: 'proxy', hostPorts: [443] }));
    expect(explain(cluster, requestSample(asked)).summary).toBe(summary);
  });

  it('begins with what the nearest node lacks, and tells how near it comes', () => {
    const cluster = clusterSample(
      {},
      nodeSample('a', { labels: { disk: 'hdd' }, cpu: 1 }),
      nodeSample('b', { labels: { disk: 'ssd' }, cpu: 2 }),
      nodeSample('c', { labels: { disk: 'ssd' }, cpu: 3 }),
    );
    const asked = requestSample({ cpu: 4, placement: { constraints: { disk: 'ssd' } } });
    expect(explain(cluster, asked).summary).toBe(
      '4 cores: 3 nodes have less free (c has 3 cores); label disk=ssd: 1 node lacks it',
    );
  });

  it('has a row for every filter on every node, passed or not, with values', () => {
    const { outcomes } = explanationFor(twenty(), 'n07', REQUEST);
    expect(outcomes.map((outcome) => outcome.filter)).toEqual(FILTERS.map((filter) => filter.name));
    expect(outcomes.filter((outcome) => !outcome.passed)).toEqual([
      { filter: 'country', passed: false, required: 'DE', reported: 'FR' },
    ]);
    for (const outcome of outcomes) {
      expect(outcome.required).not.toBe('');
      expect(outcome.reported).not.toBe('');
    }
  });

  it('says why the chosen node was chosen', () => {
    const cluster = clusterSample({}, nodeSample('a'), nodeSample('b'), nodeSample('c'));
    cluster.addInstance(instanceSample('i1', 'a', { cpu: 2 }));
    cluster.addInstance(instanceSample('i2', 'c', { deployment: 'db', cpu: 1, memoryBytes: 4 * GI }));
    const { chosen, summary } = explain(cluster, requestSample({ cpu: 1 }));
    expect(chosen?.node).toBe('c');
    expect(chosen?.why).toContain('runs no instance of web yet');
    expect(chosen?.why).toContain('cpu 25 %, memory 50 % requested');
    expect(summary).toBe('3 of 3 nodes fit');
  });

  it('tells a tenant without nodes how to enrol one', () => {
    const { nodes, summary, message } = explain(clusterSample(), requestSample());
    expect(nodes).toEqual([]);
    expect(summary).toContain('POST /api/v1/join-tokens');
    expect(message).toBe(summary);
  });

  it('says when the named node alone is in the way, and what clears that', () => {
    const cluster = clusterSample({}, nodeSample('a'), nodeSample('b'), nodeSample('c'));
    const volumes = [{ volume: 'data', access: 'write', nodes: ['b' as NodeName] }] as const;
    const { pin, summary, message } = explain(cluster, requestSample({ nodeId: 'a', volumes }));
    expect(pin).toMatchObject({ nodeId: 'a', fitWithout: ['b'], clearedBy: { body: { nodeId: null } } });
    expect(summary).toContain('the pin nodeId a holds it back: without it b would take it');
    expect(message.split('\n').at(-1)).toBe(pin?.message);
    const small = { volumes, cpu: 1000, nodeId: 'a' };
    expect(explain(cluster, requestSample(small)).pin).toBeUndefined();
    expect(explain(cluster, requestSample({ nodeId: 'b', volumes })).pin).toBeUndefined();
    const job = { ...requestSample({ nodeId: 'a', volumes }), deployment: jobOwner('dump') };
    expect(explain(cluster, job).pin?.message).toContain('PUT /api/v1/jobs/dump {"nodeId":null}');
  });

  it('uses no word of the machinery', () => {
    const jargon =
      /\b(undefined|null|NaN|Infinity|object|slot|ranking|treap|index|cache|micros?|predicate|eligib\w*|ineligible|class|score|candidates?|pool|bucket|ledger|occupancy|filter(ed)?|scope|facts?)\b/i;
    const { summary, message, nodes } = explain(twenty(), REQUEST);
    const texts = nodes.flatMap(({ node }) =>
      explanationFor(twenty(), node, REQUEST).outcomes.flatMap(({ required, reported }) => [
        required,
        reported,
      ]),
    );
    const free = explain(clusterSample({ quota: { cpu: 1 } }, nodeSample('a')), requestSample({ cpu: 0.5 }));
    for (const text of [summary, message, free.summary, free.chosen?.why ?? '', ...texts]) {
      expect(text).not.toMatch(jargon);
    }
  });
});

describe('nodes that refuse', () => {
  const asked = requestSample({ cpu: 8, placement: { constraints: { disk: 'ssd' } } });
  const sized = (name: string, cpu: number, disk: string) => nodeSample(name, { cpu, labels: { disk } });

  it('are counted by the filters that do, the group of the node that lacks least first', () => {
    const nodes = [sized('a', 2, 'ssd'), sized('b', 6, 'ssd'), sized('c', 16, 'hdd'), sized('d', 7, 'hdd')];
    const cluster = clusterSample({}, ...nodes);
    expect(refusalGroups(cluster, asked, explain(cluster, asked).nodes)).toEqual([
      { filters: ['capacity'], nodes: 2, nearest: 'b' },
      { filters: ['constraints'], nodes: 1, nearest: 'c' },
      { filters: ['constraints', 'capacity'], nodes: 1, nearest: 'd' },
    ]);
  });

  it('are none where all fit', () => {
    const cluster = clusterSample({}, sized('a', 16, 'ssd'));
    expect(refusalGroups(cluster, asked, explain(cluster, asked).nodes)).toEqual([]);
  });
});

describe('the digest of reasons', () => {
  const request = requestSample({ cpu: 3, placement: { constraints: { disk: 'ssd' } } });
  const digest = (disk: string, used: number): string => {
    const cluster = clusterSample({}, nodeSample('a', { labels: { disk } }));
    cluster.addInstance(instanceSample('i', 'a', { deployment: 'db', cpu: used }));
    return explain(cluster, request).reasonsDigestInput;
  };

  it('stays while only free amounts move', () => expect(digest('hdd', 2)).toBe(digest('hdd', 2.5)));
  it('changes with a reason that comes or goes', () => expect(digest('hdd', 2)).not.toBe(digest('hdd', 0)));
  it('changes with a label', () => expect(digest('hdd', 2)).not.toBe(digest('nvme', 2)));
});
