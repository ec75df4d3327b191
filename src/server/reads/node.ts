import type { NodeName } from '../../core/model/ids.ts';
import type { MeshEndpoint, NetworkPrefixes } from '../../core/model/mesh.ts';
import { disputeOf, whyWithoutSubnet } from '../../core/plan/network/addresses.ts';
import { optional } from '../../core/model/values.ts';
import { requestedAmounts } from '../../core/scheduler/amounts.ts';
import type { node } from '../../core/contract/answers/node.ts';
import { type Answer, type Exactly, exactly } from '../../core/schema/shape.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import type { NodeLiveness, NodeRecord } from '../../core/model/node.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Stored } from '../store/collection.ts';
import { idOf, segmentsOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

type Node = Answer<typeof node>;

const asNode = exactly<Node>();

/** What the records alone do not say of a node. */
export interface NodeSources {
  /** Whether a control plane runs on the machine of this name. */
  runsControlPlane(node: NodeRecord['name']): boolean;
  placedOn(tenantId: TenantId, node: string): readonly Stored<InstanceRecord>[];
  /** When the agent was last heard in its live session; undefined without one. */
  lastSeenAt(tenantId: TenantId, node: string): string | undefined;
  prefixes(): NetworkPrefixes;
}

export function nodeNotFound(name: string): Rejection {
  return reject('node_not_found', {
    field: 'name',
    received: received(name),
    why: 'The tenant has no node of this name.',
  });
}

/** What this process heard, or what was stored since: its agent may have been with another control plane. */
export function lastSeenOf(
  heard: string | undefined,
  liveness: Pick<NodeLiveness, 'lastSeenAt'> | undefined,
): string | null {
  const stored = liveness?.lastSeenAt;
  if (heard === undefined || stored === undefined) return heard ?? stored ?? null;
  return heard > stored ? heard : stored;
}

/** Of everything placed, also of what is on its way out: its share is not free before it is gone. */
function requested(
  tenant: TenantStore,
  placed: readonly Stored<InstanceRecord>[],
): Exactly<Node>['requested'] {
  let cpuMicros = 0;
  let memoryBytes = 0;
  let diskBytes = 0;
  for (const { record } of placed) {
    const spec = tenant.get('specs', idOf('specs', record.deployment, record.specHash))?.record;
    const amounts = requestedAmounts(spec?.resources);
    cpuMicros += amounts.cpuMicros;
    memoryBytes += amounts.memoryBytes;
    diskBytes += amounts.diskBytes;
  }
  return { cpu: cpuMicros / 1_000_000, memoryBytes, diskBytes };
}

function meshView(
  tenant: TenantStore,
  prefixes: NetworkPrefixes,
  node: NodeName,
  { port, addresses, routes }: MeshEndpoint,
) {
  const subnet = tenant.get('subnets', idOf('subnets', node))?.record.subnet;
  const { peers = [] } = tenant.get('mesh-paths', idOf('mesh-paths', node))?.record ?? {};
  const given = new Map(
    tenant.list('subnets').map(({ id, record }) => [segmentsOf('subnets', id)[0], record] as const),
  );
  const problem =
    subnet === undefined
      ? whyWithoutSubnet(
          prefixes,
          [...given.values()].map((one) => one.subnet),
          routes ?? [],
        )
      : disputeOf(prefixes, given, node, routes ?? []);
  return { ...optional('subnet', subnet), ...optional('problem', problem), port, addresses, peers };
}

/** From what placement goes by, so that a node shown as ready is one that takes instances. That of a control plane is never a fault. */
function standing(
  { notReady }: NodeRecord,
  liveness: NodeLiveness | undefined,
  controlPlane: boolean,
): Pick<Exactly<Node>, 'status' | 'reason'> {
  if (liveness === undefined) return { status: 'failed', reason: 'its agent has not connected yet' };
  const { status, reason } = liveness;
  if (status === 'ready' && notReady !== undefined && !controlPlane)
    return { status: 'failed', reason: notReady };
  return { status, ...(status === 'failed' && optional('reason', reason)) };
}

/** Never the key material: neither the public key nor the token's id. */
export function nodeView(tenant: TenantStore, facts: NodeSources, record: NodeRecord): Exactly<Node> {
  const { name, tenantId, claims, schedulable, labels, capacity, engine, platform, agentVersion } = record;
  const liveness = tenant.get('node-liveness', idOf('node-liveness', name))?.record;
  const seen = facts.lastSeenAt(tenantId, name);
  const controlPlane = facts.runsControlPlane(name);
  return asNode({
    id: name,
    name,
    tenantId,
    claims,
    ...standing(record, liveness, controlPlane),
    schedulable,
    controlPlane,
    labels,
    capacity,
    requested: requested(tenant, facts.placedOn(tenantId, name)),
    engine,
    platform,
    agentVersion,
    volumeEngines: record.volumeEngines ?? [],
    features: record.features ?? [],
    ...(record.hostPorts === undefined ? {} : { hostPorts: record.hostPorts }),
    problems: [
      record.notReady ?? [],
      (record.conditions ?? []).map(({ message }) => message),
      record.problems ?? [],
    ].flat(),
    conditions: record.conditions ?? [],
    ...optional('disk', record.disk),
    ...(record.mesh && { mesh: meshView(tenant, facts.prefixes(), name, record.mesh) }),
    ...(record.ingress && { ingress: record.ingress }),
    lastSeenAt: lastSeenOf(seen, liveness),
    ...(record.draining ? { draining: true } : {}),
  });
}
