import { describe, expect, it } from 'vitest';
import type { NodeName } from '../../model/ids.ts';
import type { ClusterSettings, PlacedInstance } from '../cluster.ts';
import {
  clusterSample,
  GI,
  instanceSample,
  MI,
  type NodeSample,
  nodeSample,
  type RequestSample,
  reasonsFor,
  requestSample,
} from '../../../../test/support/samples/cluster.ts';
import { STOPPING_MOST } from './backlog.ts';
import type { FilterName } from './filter.ts';
import { FILTERS } from './index.ts';

interface Case {
  readonly it: string;
  readonly node?: NodeSample;
  /** Further nodes, for what is said about all of them. */
  readonly others?: readonly NodeSample[];
  readonly settings?: Partial<ClusterSettings>;
  readonly placed?: readonly PlacedInstance[];
  readonly request?: RequestSample;
  /** Absent: every filter admits the node. */
  readonly refused?: { readonly code: string; readonly says: readonly string[] };
}

const COUNTRY = 'berth.io/country';
const REGION = 'berth.io/geo-region';
const name = (text: string): NodeName => text as NodeName;

/** The node under test is `n1`; accepted and refused cases for each filter. */
const TABLE: Readonly<Record<FilterName, readonly Case[]>> = {
  session: [
    { it: 'takes a ready node with a session' },
    {
      it: 'refuses a failed node and says why it failed',
      node: { liveness: { status: 'failed', reason: 'no heartbeat for 15 s' }, connected: false },
      refused: { code: 'node_failed', says: ['failed (no heartbeat for 15 s), agent not connected'] },
    },
    {
      it: 'refuses a ready node without a session',
      node: { connected: false },
      refused: { code: 'node_disconnected', says: ['ready, agent not connected'] },
    },
    {
      it: 'refuses a node whose engine creates no containers, and says what to do',
      node: { notReady: 'install catatonit' },
      refused: { code: 'node_not_ready', says: ['not ready (install catatonit), agent connected'] },
    },
    {
      it: 'refuses a node that never reported',
      node: { liveness: 'never', connected: false },
      refused: { code: 'node_never_connected', says: ['its agent never connected'] },
    },
  ],
  schedulable: [
    { it: 'takes an open node' },
    {
      it: 'refuses a cordoned node',
      node: { schedulable: false },
      refused: { code: 'node_cordoned', says: ['cordoned'] },
    },
    {
      it: 'refuses a draining node',
      node: { schedulable: false, draining: true },
      refused: { code: 'node_draining', says: ['being drained'] },
    },
  ],
  conditions: [
    { it: 'takes a machine with room' },
    {
      it: 'refuses a full disk and says what to do',
      node: { conditions: [{ kind: 'disk', message: 'the disk is used to 95 % or more: berth node clean' }] },
      refused: { code: 'node_condition_disk', says: ['95 % or more', 'berth node clean'] },
    },
    ...(['clock', 'engine'] as const).map((kind) => ({
      it: `refuses a machine by its ${kind}`,
      node: { conditions: [{ kind, message: `the ${kind} is wrong` }] },
      others: [{}],
      refused: { code: `node_condition_${kind}`, says: [`the ${kind} is wrong`] },
    })),
    {
      it: 'does not go by clocks where most nodes have another time: the control plane may be the one that is wrong',
      node: { conditions: [{ kind: 'clock', message: 'a day ahead' }] },
      others: [{ conditions: [{ kind: 'clock', message: 'a day ahead' }] }, {}],
    },
    {
      it: 'goes by its other conditions then',
      node: {
        conditions: [
          { kind: 'clock', message: 'a day ahead' },
          { kind: 'engine', message: 'no answer' },
        ],
      },
      refused: { code: 'node_condition_engine', says: ['reports: no answer'] },
    },
    ...(['local', 'write'] as const).map((access) => ({
      it: `takes what has to be where its ${access} volume is`,
      node: { conditions: [{ kind: 'disk' as const, message: 'full' }] },
      request: { volumes: [{ volume: 'data', access, nodes: [name('n1')] }] },
    })),
  ],
  'control-plane': [
    { it: 'takes another node', settings: { controlPlaneNodes: new Set([name('n0')]) } },
    {
      it: 'takes the platform tenant',
      settings: { controlPlaneNodes: new Set([name('n1')]), isPlatformTenant: true },
    },
    {
      it: 'refuses other tenants even when the node is named',
      settings: { controlPlaneNodes: new Set([name('n1')]) },
      request: { nodeId: 'n1' },
      refused: { code: 'node_runs_control_plane', says: ['runs the control plane', 'platform tenant only'] },
    },
  ],
  'named-node': [
    { it: 'takes the named node', request: { nodeId: 'n1' } },
    {
      it: 'refuses any other',
      request: { nodeId: 'n2' },
      refused: { code: 'node_not_named', says: ['names n2', 'is n1'] },
    },
  ],
  country: [
    {
      it: 'takes the country',
      node: { labels: { [COUNTRY]: 'DE' } },
      request: { placement: { residency: { country: 'DE' } } },
    },
    {
      it: 'reads the label in any case',
      node: { labels: { [COUNTRY]: 'de' } },
      request: { placement: { residency: { country: 'DE' } } },
    },
    {
      it: 'refuses another country and quotes both',
      node: { labels: { [COUNTRY]: 'FR' } },
      request: { placement: { residency: { country: 'DE' } } },
      refused: { code: 'country_mismatch', says: ['DE', 'FR'] },
    },
    {
      it: 'refuses a node that states no country and names the label',
      request: { placement: { residency: { country: 'DE' } } },
      refused: { code: 'country_unknown', says: ['DE', 'states none', COUNTRY] },
    },
  ],
  region: [
    {
      it: 'takes the region label',
      node: { labels: { [REGION]: 'eu' } },
      request: { placement: { residency: { region: 'eu' } } },
    },
    {
      it: 'takes a country that the region covers',
      node: { labels: { [COUNTRY]: 'FR' } },
      request: { placement: { residency: { region: 'eu' } } },
    },
    {
      it: 'refuses a country outside and quotes both',
      node: { labels: { [COUNTRY]: 'US', [REGION]: 'north-america' } },
      request: { placement: { residency: { region: 'dach' } } },
      refused: { code: 'region_mismatch', says: ['dach (AT, CH, DE)', 'north-america, US'] },
    },
    {
      it: 'refuses a node without either label',
      request: { placement: { residency: { region: 'eu' } } },
      refused: { code: 'region_unknown', says: ['eu', REGION, COUNTRY] },
    },
    {
      it: 'says when the region is no longer declared',
      node: { labels: { [COUNTRY]: 'DE' } },
      request: { placement: { residency: { region: 'mars' } } },
      refused: { code: 'region_undeclared', says: ['mars', 'no longer declares', 'DE'] },
    },
  ],
  'blocked-countries': [
    {
      it: 'takes a country not listed',
      node: { labels: { [COUNTRY]: 'DE' } },
      request: { placement: { residency: { blockedCountries: ['RU'] } } },
    },
    {
      it: 'takes a node that states none: only a listed country removes',
      request: { placement: { residency: { blockedCountries: ['RU'] } } },
    },
    {
      it: 'refuses a listed country',
      node: { labels: { [COUNTRY]: 'ru' } },
      request: { placement: { residency: { blockedCountries: ['BY', 'RU'] } } },
      refused: { code: 'country_blocked', says: ['BY, RU', 'is in RU'] },
    },
  ],
  'residency-enforcement': [
    { it: 'does not concern deployments without residency', settings: { residencyEnforcement: false } },
    {
      it: 'does not concern an empty block',
      settings: { residencyEnforcement: false },
      request: { placement: { residency: { blockedCountries: [] } } },
    },
    {
      it: 'makes a resident deployment wait even on a matching node',
      node: { labels: { [COUNTRY]: 'DE' } },
      settings: { residencyEnforcement: false },
      request: { placement: { residency: { country: 'DE' } } },
      refused: { code: 'residency_not_enforced', says: ['country DE', 'does not enforce residency'] },
    },
  ],
  constraints: [
    {
      it: 'takes equal labels',
      node: { labels: { disk: 'ssd', zone: 'a' } },
      request: { placement: { constraints: { disk: 'ssd' } } },
    },
    {
      it: 'quotes the value of the node and those advertised',
      node: { labels: { disk: 'hdd' } },
      others: [{ labels: { disk: 'ssd' } }, { labels: { disk: 'nvme' } }],
      request: { placement: { constraints: { disk: 'sdd' } } },
      refused: { code: 'label_mismatch', says: ['disk=sdd', 'has disk=hdd', 'hdd, nvme, ssd'] },
    },
    {
      it: 'says that no node has the key and names near ones',
      node: { labels: { 'node.labels.rack': 'r1', disks: '2', colour: 'red' } },
      request: { placement: { constraints: { rack: 'r1', disk: 'ssd' } } },
      refused: {
        code: 'label_unknown_everywhere',
        says: [
          'no node has a label rack; similar labels: node.labels.rack',
          'no node has a label disk; similar labels: disks',
        ],
      },
    },
    {
      it: 'lists known keys when none is near',
      node: { labels: { zone: 'a' } },
      request: { placement: { constraints: { gpu: 'a100' } } },
      refused: { code: 'label_unknown_everywhere', says: ['labels that nodes have: zone'] },
    },
    {
      it: 'does not take inherited members for labels',
      request: { placement: { constraints: { constructor: 'x' } } },
      refused: {
        code: 'label_unknown_everywhere',
        says: ['no node has a label constructor', 'no node has any label'],
      },
    },
  ],
  'anti-affinity': [
    {
      it: 'takes a node without the others',
      placed: [instanceSample('i', 'n1', { deployment: 'db' })],
      request: { placement: { antiAffinity: ['cache'] } },
    },
    { it: 'lets a deployment share with itself unless it names itself', placed: [instanceSample('i', 'n1')] },
    {
      it: 'refuses a node that runs one of them',
      placed: [instanceSample('i', 'n1', { deployment: 'db' })],
      request: { placement: { antiAffinity: ['db', 'cache'] } },
      refused: { code: 'anti_affinity', says: ['must not share a node with db, which runs here'] },
    },
    {
      it: 'spreads a deployment that names itself',
      placed: [instanceSample('i', 'n1', { antiAffinity: ['web'] })],
      request: { placement: { antiAffinity: ['web'] } },
      refused: { code: 'anti_affinity', says: ['must not share a node with web'] },
    },
    {
      it: 'holds when only the other one declares it',
      placed: [instanceSample('i', 'n1', { deployment: 'db', antiAffinity: ['web'] })],
      refused: { code: 'anti_affinity_of_other', says: ['db runs here and must not share a node with web'] },
    },
  ],
  volume: [
    {
      it: 'takes the primary',
      request: { volumes: [{ volume: 'data', access: 'write', nodes: [name('n1')] }] },
    },
    {
      it: 'refuses another node',
      request: { volumes: [{ volume: 'data', access: 'write', nodes: [name('n2')] }] },
      refused: {
        code: 'volume_on_other_node',
        says: ['data takes writes on its primary (n2)', 'this is n1'],
      },
    },
    {
      it: 'says when a volume has no node',
      request: { volumes: [{ volume: 'data', access: 'write', nodes: [] }] },
      refused: { code: 'volume_without_node', says: ['data is on no node at present'] },
    },
  ],
  network: [
    {
      it: 'takes the node of the network',
      request: { networks: [{ network: 'backend', node: name('n1') }] },
    },
    {
      it: 'refuses another node',
      request: { networks: [{ network: 'backend', node: name('n2') }] },
      refused: { code: 'network_on_other_node', says: ['backend is on n2 alone', 'this is n1'] },
    },
    {
      it: 'says when the network is gone',
      request: { networks: [{ network: 'backend' }] },
      refused: { code: 'network_without_node', says: ['backend does not exist any more'] },
    },
  ],
  capacity: [
    {
      it: 'takes what fits exactly',
      placed: [instanceSample('i', 'n1', { cpu: 3.9, memoryBytes: 7 * GI })],
      request: { cpu: 0.1, memoryBytes: GI },
    },
    { it: 'takes a request for nothing on a full node', placed: [instanceSample('i', 'n1', { cpu: 9 })] },
    {
      it: 'quotes cores',
      placed: [instanceSample('i', 'n1', { cpu: 3.5 })],
      request: { cpu: 2 },
      refused: { code: 'cpu_short', says: ['needs 2 cores, 0.5 free of 4 cores'] },
    },
    {
      it: 'quotes memory',
      placed: [instanceSample('i', 'n1', { memoryBytes: 7 * GI })],
      request: { memoryBytes: 2 * GI },
      refused: { code: 'memory_short', says: ['needs 2 GiB of memory, 1 GiB free of 8 GiB'] },
    },
    {
      it: 'quotes both',
      request: { cpu: 8, memoryBytes: 16 * GI },
      refused: { code: 'capacity_short', says: ['needs 8 cores, 4 free of 4 cores', '16 GiB'] },
    },
    {
      it: 'does not round a shortage away',
      request: { memoryBytes: 8 * GI + 1 },
      refused: { code: 'memory_short', says: ['8589934593 bytes', '8589934592 bytes free'] },
    },
    {
      it: 'has nothing free, not less, when the capacity shrank',
      placed: [instanceSample('i', 'n1', { cpu: 9 })],
      request: { cpu: 1 },
      refused: { code: 'cpu_short', says: ['needs 1 core, 0 free of 4 cores'] },
    },
  ],
  disk: [
    { it: 'takes a node that says nothing of its disk when nothing is asked for' },
    {
      it: 'takes what is free to the last byte',
      node: { disk: { totalBytes: 100 * GI, roomBytes: 80 * GI } },
      placed: [instanceSample('i1', 'n1', { deployment: 'db', diskBytes: 50 * GI })],
      request: { diskBytes: 30 * GI },
    },
    {
      it: 'refuses what others were promised, and names the gap',
      node: { disk: { totalBytes: 100 * GI, roomBytes: 80 * GI } },
      placed: [instanceSample('i1', 'n1', { deployment: 'db', diskBytes: 49 * GI })],
      request: { diskBytes: 40 * GI },
      refused: {
        code: 'disk_short',
        says: ['needs 40 GiB of disk, 31 GiB free of 100 GiB (49 GiB asked for by others)'],
      },
    },
    {
      it: 'refuses where the agent does not say, and says what to do',
      request: { diskBytes: GI },
      refused: { code: 'disk_unknown', says: ['needs 1 GiB of disk', 'upgrade the agent'] },
    },
    {
      it: 'takes what has to be where its volume is by the size of the disk, whoever filled it meanwhile',
      node: { disk: { totalBytes: 10 * GI, roomBytes: GI } },
      placed: [instanceSample('i1', 'n1', { deployment: 'db', diskBytes: 5 * GI })],
      request: { diskBytes: 5 * GI, volumes: [{ volume: 'data', access: 'write', nodes: [name('n1')] }] },
    },
    {
      it: 'refuses such a one what others were promised',
      node: { disk: { totalBytes: 10 * GI, roomBytes: 9 * GI } },
      placed: [instanceSample('i1', 'n1', { deployment: 'db', diskBytes: 6 * GI })],
      request: { diskBytes: 5 * GI, volumes: [{ volume: 'data', access: 'write', nodes: [name('n1')] }] },
      refused: { code: 'disk_short', says: ['needs 5 GiB of disk, 4 GiB free of 10 GiB'] },
    },
    {
      it: 'has nothing left where more was promised than there is now',
      node: { disk: { totalBytes: 10 * GI, roomBytes: 2 * GI } },
      placed: [instanceSample('i1', 'n1', { deployment: 'db', diskBytes: 5 * GI })],
      request: { diskBytes: GI },
      refused: { code: 'disk_short', says: ['0 B free'] },
    },
  ],
  platform: [
    { it: 'takes anything when the image is not known' },
    { it: 'takes one of several', request: { imagePlatforms: ['linux/arm64', 'linux/amd64'] } },
    {
      it: 'does not hold a variant against a node without one',
      node: { platform: 'linux/arm64' },
      request: { imagePlatforms: ['linux/arm64/v8'] },
    },
    {
      it: 'refuses another architecture',
      request: { imagePlatforms: ['linux/arm64'] },
      refused: { code: 'platform_mismatch', says: ['built for linux/arm64', 'linux/amd64'] },
    },
    {
      it: 'refuses another variant',
      node: { platform: 'linux/arm/v6' },
      request: { imagePlatforms: ['linux/arm/v7'] },
      refused: { code: 'platform_mismatch', says: ['linux/arm/v7', 'linux/arm/v6'] },
    },
  ],
  'agent-features': [
    { it: 'takes any agent for a workload that wants nothing special' },
    {
      it: 'takes an agent that knows how',
      node: { features: ['confinement', 'other'] },
      request: { features: ['confinement'] },
    },
    {
      it: 'refuses an agent that would ignore a security field',
      request: { features: ['confinement'] },
      refused: { code: 'agent_too_old', says: ['would run the workload without them', 'upgrade the agent'] },
    },
  ],
  'host-port-allowed': [
    { it: 'takes any port where the agent has no list', request: { hostPorts: [22] } },
    {
      it: 'takes what is on the list',
      node: { hostPorts: ['443', '8000-8999'] },
      request: { hostPorts: [443, 8080] },
    },
    {
      it: 'takes a workload without a fixed port where none is allowed',
      node: { hostPorts: [] },
    },
    {
      it: 'refuses others and names both',
      node: { hostPorts: ['443', '8000-8999'] },
      request: { hostPorts: [22, 443, 9000] },
      refused: { code: 'host_port_not_allowed', says: ['needs host port 22, 9000', 'allows 443, 8000-8999'] },
    },
  ],
  backlog: [
    {
      it: 'takes a node that has almost as many to remove as it may',
      placed: Array.from({ length: STOPPING_MOST - 1 }, (_, at) =>
        instanceSample(`i${at}`, 'n1', { stopping: true }),
      ),
    },
    {
      it: 'does not count what is to run',
      placed: Array.from({ length: STOPPING_MOST }, (_, at) => instanceSample(`i${at}`, 'n1')),
    },
    {
      it: 'refuses one whose agent removes nothing',
      placed: Array.from({ length: STOPPING_MOST }, (_, at) =>
        instanceSample(`i${at}`, 'n1', { stopping: true }),
      ),
      refused: { code: 'node_backlog', says: ['256 containers of earlier versions', 'as soon as its agent'] },
    },
  ],
  'host-port': [
    {
      it: 'takes a free port',
      placed: [instanceSample('i', 'n1', { hostPorts: [80] })],
      request: { hostPorts: [81] },
    },
    {
      it: 'refuses a taken one and says by whom',
      placed: [instanceSample('i', 'n1', { deployment: 'proxy', hostPorts: [80, 443] })],
      request: { hostPorts: [443, 8080] },
      refused: { code: 'host_port_taken', says: ['needs host port 443, taken here by proxy'] },
    },
  ],
  excluded: [
    { it: 'takes a node that is not left out', request: { exclude: new Map([[name('n2'), 'x']]) } },
    {
      it: 'gives the words of whoever left it out',
      request: { exclude: new Map([[name('n1'), 'three starts failed here in a row']]) },
      refused: { code: 'node_left_out', says: ['three starts failed here in a row'] },
    },
  ],
  quota: [
    {
      it: 'takes up to the quota',
      settings: { quota: { containers: 2, cpu: 1, memoryBytes: GI } },
      placed: [instanceSample('i', 'n1', { cpu: 0.7 })],
      request: { cpu: 0.3, memoryBytes: GI },
    },
    {
      it: 'counts containers, wherever they are',
      settings: { quota: { containers: 1 } },
      placed: [instanceSample('i', 'gone')],
      refused: { code: 'quota_containers', says: ['needs 1 more container', '1 of 1 allowed'] },
    },
    {
      it: 'counts cores',
      settings: { quota: { cpu: 1 } },
      placed: [instanceSample('i', 'n1', { cpu: 0.7 })],
      request: { cpu: 0.4 },
      refused: { code: 'quota_cpu', says: ['needs 0.4 cores more', '0.7 cores of 1 core'] },
    },
    {
      it: 'counts memory',
      settings: { quota: { memoryBytes: GI } },
      request: { memoryBytes: GI + MI },
      refused: { code: 'quota_memory', says: ['1 GiB of memory more', '0 B of 1 GiB'] },
    },
    {
      it: 'says all that is reached',
      settings: { quota: { containers: 0, cpu: 0 } },
      request: { cpu: 1 },
      refused: { code: 'quota_reached', says: ['1 more container', '1 core more'] },
    },
  ],
};

for (const filter of FILTERS) {
  describe(`filter ${filter.name}`, () => {
    it.each(TABLE[filter.name])('$it', ({ node, others = [], settings, placed = [], request, refused }) => {
      const further = others.map((other, at) => nodeSample(`other-${at}`, other));
      const cluster = clusterSample(settings, nodeSample('n1', node), ...further);
      for (const instance of placed) cluster.addInstance(instance);
      const reasons = reasonsFor(cluster, 'n1', requestSample(request));
      if (refused === undefined) {
        expect(reasons).toEqual([]);
        return;
      }
      expect(reasons.map((reason) => [reason.filter, reason.code])).toEqual([[filter.name, refused.code]]);
      for (const words of refused.says) expect(reasons[0]?.message).toContain(words);
      expect(reasons[0]?.required).not.toBe('');
      expect(reasons[0]?.reported).not.toBe('');
    });
  });
}

describe('filters', () => {
  it('stand in the decided order', () => {
    expect(FILTERS.map((filter) => filter.name)).toEqual([
      'session',
      'schedulable',
      'conditions',
      'control-plane',
      'named-node',
      'country',
      'region',
      'blocked-countries',
      'residency-enforcement',
      'constraints',
      'anti-affinity',
      'volume',
      'network',
      'capacity',
      'disk',
      'platform',
      'agent-features',
      'host-port-allowed',
      'host-port',
      'excluded',
      'backlog',
      'quota',
    ]);
  });

  it('each have a case that refuses and one that admits', () => {
    for (const cases of Object.values(TABLE)) {
      expect(cases.some((one) => one.refused !== undefined)).toBe(true);
      expect(cases.some((one) => one.refused === undefined)).toBe(true);
    }
  });
});
