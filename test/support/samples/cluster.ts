import type { InstanceId, NodeName, TenantId } from '../../../src/core/model/ids.ts';
import { amountsOf } from '../../../src/core/scheduler/amounts.ts';
import {
  ClusterState,
  type ClusterSettings,
  type PlacedInstance,
} from '../../../src/core/scheduler/cluster.ts';
import { explainNode, type NodeExplanation } from '../../../src/core/scheduler/explain.ts';
import type { Reason } from '../../../src/core/scheduler/filters/filter.ts';
import type { ClusterNode } from '../../../src/core/scheduler/node-state.ts';
import { DEFAULT_REGIONS } from '../../../src/core/scheduler/regions.ts';
import type { PlacementRequest } from '../../../src/core/scheduler/request.ts';

/** Nodes and requests for tests: a node that takes everything and a request that wants nothing, altered by each case. */

export const TENANT = '11111111-1111-4111-8111-111111111111' as TenantId;
export const MI = 2 ** 20;
export const GI = 2 ** 30;

export interface NodeSample extends Partial<Omit<ClusterNode['record'], 'name' | 'capacity'>> {
  readonly cpu?: number;
  readonly memoryBytes?: number;
  readonly liveness?: ClusterNode['liveness'] | 'never';
  readonly connected?: boolean;
}

export function nodeSample(name: string, sample: NodeSample = {}): ClusterNode {
  const {
    cpu = 4,
    memoryBytes = 8 * GI,
    liveness = { status: 'ready' },
    connected = true,
    ...record
  } = sample;
  return {
    record: {
      name: name as NodeName,
      tenantId: TENANT,
      schedulable: true,
      labels: {},
      platform: 'linux/amd64',
      capacity: { cpu, memoryBytes },
      ...record,
    },
    ...(liveness !== 'never' && { liveness }),
    connected,
  };
}

export function clusterSample(
  settings: Partial<ClusterSettings> = {},
  ...nodes: readonly ClusterNode[]
): ClusterState {
  const cluster = new ClusterState({
    tenantId: TENANT,
    isPlatformTenant: false,
    regions: DEFAULT_REGIONS,
    residencyEnforcement: true,
    quota: {},
    ...settings,
  });
  for (const node of nodes) cluster.setNode(node);
  return cluster;
}

export interface RequestSample extends Partial<Omit<PlacementRequest, 'amounts'>> {
  readonly cpu?: number;
  readonly memoryBytes?: number;
  readonly diskBytes?: number;
}

export function requestSample(sample: RequestSample = {}): PlacementRequest {
  const { cpu = 0, memoryBytes = 0, diskBytes = 0, ...rest } = sample;
  return { deployment: 'web', amounts: amountsOf(cpu, memoryBytes, diskBytes), ...rest };
}

export function instanceSample(
  id: string,
  node: string,
  sample: RequestSample & Pick<PlacedInstance, 'antiAffinity' | 'stopping'> = {},
): PlacedInstance {
  const {
    cpu = 0,
    memoryBytes = 0,
    diskBytes = 0,
    deployment = 'web',
    hostPorts,
    antiAffinity,
    stopping,
  } = sample;
  return {
    id: id as InstanceId,
    node: node as NodeName,
    deployment,
    amounts: amountsOf(cpu, memoryBytes, diskBytes),
    ...(hostPorts && { hostPorts }),
    ...(antiAffinity && { antiAffinity }),
    ...(stopping && { stopping }),
  };
}

export function explanationFor(
  cluster: ClusterState,
  node: string,
  request: PlacementRequest,
): NodeExplanation {
  const state = cluster.node(node as NodeName);
  if (state === undefined) throw new Error(`no node ${node} in the sample`);
  return explainNode(cluster, request, state);
}

/** The reasons against one node, in the order of the filters. */
export function reasonsFor(
  cluster: ClusterState,
  node: string,
  request: PlacementRequest,
): readonly Reason[] {
  return explanationFor(cluster, node, request).reasons;
}
