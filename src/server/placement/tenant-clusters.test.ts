import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { InstanceId, NodeName, TenantId } from '../../core/model/ids.ts';
import type { NodeRecord } from '../../core/model/node.ts';
import type { ClusterState } from '../../core/scheduler/cluster.ts';
import { DEFAULT_REGIONS } from '../../core/scheduler/regions.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store } from '../store/store.ts';
import { StoreView } from '../store/view.ts';
import { TenantClusters } from './tenant-clusters.ts';

const TENANT = '11111111-1111-4111-8111-111111111111' as TenantId;
const SETTINGS = { regions: DEFAULT_REGIONS, residencyEnforcement: true };
const SPEC: DeploymentSpec = {
  kind: 'Deployment',
  name: 'web',
  image: 'a:1',
  replicas: 1,
  secrets: [],
  secretsVersion: 0,
  resources: { requests: { cpu: 1, memory: '1Mi' } },
  ports: [{ container: 80, host: 80 }],
};

async function openStore(): Promise<Store> {
  const kv = createMemoryKv();
  return new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
}

function nodeRecord(name: string, cpu = 4): NodeRecord {
  return {
    name: name as NodeName,
    tenantId: TENANT,
    claims: [TENANT],
    schedulable: true,
    labels: {},
    capacity: { cpu, memoryBytes: 2 ** 30 },
    platform: 'linux/amd64',
    engine: { kind: 'docker', version: '28' },
    agentVersion: '0',
    publicKey: '',
    sessionEpoch: 0,
    createdAt: '',
  };
}

/** What decisions depend on. */
function picture(cluster: ClusterState) {
  return {
    quota: cluster.quota,
    containers: cluster.containers,
    total: { ...cluster.total },
    nodes: cluster.nodes().map((state) => ({
      name: state.name,
      node: state.node,
      used: [state.usedCpuMicros, state.usedMemoryBytes],
      ports: [...state.hostPorts],
    })),
  };
}

const name = fc.constantFrom('n1', 'n2', 'n3');
const change = fc.oneof(
  fc.record({ kind: fc.constant('node' as const), name, cpu: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('no-node' as const), name }),
  fc.record({
    kind: fc.constant('liveness' as const),
    name,
    status: fc.constantFrom('ready', 'failed', 'lost'),
  }),
  fc.record({ kind: fc.constant('instance' as const), name, id: fc.integer({ min: 0, max: 5 }) }),
  fc.record({ kind: fc.constant('no-instance' as const), id: fc.integer({ min: 0, max: 5 }) }),
  fc.record({ kind: fc.constant('quota' as const), containers: fc.integer({ min: 0, max: 5 }) }),
  fc.record({ kind: fc.constant('spec' as const), there: fc.boolean() }),
);

describe('tenant clusters', () => {
  it('kept up to date change by change equal ones built anew', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 25 }), async (changes) => {
        const store = await openStore();
        const kept = new TenantClusters(store, SETTINGS);
        kept.of(TENANT);
        const tenant = store.forTenant(TENANT);
        for (const one of changes) {
          const transaction = tenant.transaction();
          if (one.kind === 'node') transaction.put('nodes', one.name, nodeRecord(one.name, one.cpu));
          if (one.kind === 'no-node') transaction.delete('nodes', one.name);
          if (one.kind === 'quota') transaction.put('quota', 'quota', { containers: one.containers });
          if (one.kind === 'no-instance') transaction.delete('instances', `web/i${one.id}`);
          if (one.kind === 'spec' && one.there) transaction.put('specs', 'web/h', SPEC);
          // A snapshot is removed only when no instance needs it.
          if (one.kind === 'spec' && !one.there) transaction.delete('specs', 'web/unused');
          if (one.kind === 'liveness') {
            const lost = one.status === 'lost';
            const status = one.status === 'ready' ? 'ready' : 'failed';
            transaction.put('node-liveness', one.name, {
              status,
              lastSeenAt: '',
              since: '',
              ...(lost && { lost }),
            });
          }
          if (one.kind === 'instance') {
            transaction.put('instances', `web/i${one.id}`, {
              id: `i${one.id}` as InstanceId,
              tenantId: TENANT,
              deployment: 'web',
              specHash: 'h',
              secretsVersion: 0,
              nodeId: one.name as NodeName,
              wanted: 'run',
              createdAt: '',
              attempt: 0,
            });
          }
          await tenant.commit(transaction);
        }
        const anew = new TenantClusters(store, SETTINGS);
        expect(picture(kept.of(TENANT))).toEqual(picture(anew.of(TENANT)));
        for (const node of ['n1', 'n2', 'n3'] as NodeName[]) {
          const ids = (clusters: TenantClusters) =>
            clusters
              .instancesOn(TENANT, node)
              .map((record) => record.id)
              .sort();
          expect(ids(kept)).toEqual(ids(anew));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('releases what was counted for a decision that was not stored', async () => {
    const store = await openStore();
    const tenant = store.forTenant(TENANT);
    await tenant.commit(
      tenant
        .transaction()
        .put('nodes', 'n1', nodeRecord('n1'))
        .put('node-liveness', 'n1', { status: 'ready', lastSeenAt: '', since: '' }),
    );
    const clusters = new TenantClusters(store, SETTINGS);
    const placer = clusters.placer(TENANT, SPEC, { nextId: () => 'i1' as InstanceId });
    expect(placer.place()).toEqual({ ok: true, id: 'i1', nodeId: 'n1' });
    expect(placer.place()).toMatchObject({ ok: false, residency: false });
    expect(placer.fitsInsteadOf({ id: 'i1' as InstanceId })).toBe(true);
    expect(clusters.of(TENANT).containers).toBe(1);
    clusters.release(TENANT, 'web', 'i1' as InstanceId);
    expect(placer.place()).toMatchObject({ ok: true });
  });

  it('leaves out a node whose agent is known to be away', async () => {
    const store = await openStore();
    const tenant = store.forTenant(TENANT);
    await tenant.commit(
      tenant
        .transaction()
        .put('nodes', 'n1', nodeRecord('n1'))
        .put('node-liveness', 'n1', { status: 'ready', lastSeenAt: '', since: '' }),
    );
    const clusters = new TenantClusters(store, SETTINGS);
    clusters.setConnected(TENANT, 'n1' as NodeName, false);
    expect(clusters.placer(TENANT, SPEC, { nextId: () => 'i1' as InstanceId }).place()).toMatchObject({
      ok: false,
      details: { nodes: [{ node: 'n1', reasons: [{ filter: 'session' }] }] },
    });
    clusters.setConnected(TENANT, 'n1' as NodeName, true);
    expect(clusters.placer(TENANT, SPEC, { nextId: () => 'i1' as InstanceId }).place()).toMatchObject({
      ok: true,
    });
  });
});
