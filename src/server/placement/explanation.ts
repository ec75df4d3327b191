import type { Warning } from '../../core/model/announcement.ts';
import type { DeploymentRecord, Workload } from '../../core/model/deployment.ts';
import { type InstanceId, instanceId, type NodeName } from '../../core/model/ids.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import type { ClusterState, PlacedInstance } from '../../core/scheduler/cluster.ts';
import {
  explain,
  explainNode,
  type JudgedNode,
  type NodeExplanation,
  type RefusalGroup,
  refusalGroups,
} from '../../core/scheduler/explain.ts';
import type { Reason } from '../../core/scheduler/filters/filter.ts';
import { unstatedNodes } from '../../core/scheduler/misplaced.ts';
import type { HoldingPin } from '../../core/scheduler/pin.ts';
import type { PlacementRequest } from '../../core/scheduler/request.ts';
import { describeScore } from '../../core/scheduler/score.ts';
import { isOfDeployment } from '../../core/model/owner.ts';
import { idOf, prefixOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import { gatesOf } from './deployment-gates.ts';
import type { TenantClusters } from './tenant-clusters.ts';

export interface RefusedNode {
  readonly node: NodeName;
  readonly reasons: readonly Reason[];
}

export interface PlacementPlan {
  /** One entry per new instance that has a place. */
  readonly instances: readonly { readonly node: NodeName; readonly why: string }[];
  /** New instances without a place, and every node with every reason. */
  readonly unplaced?: {
    readonly count: number;
    readonly summary: string;
    readonly nodes: readonly RefusedNode[];
  };
  readonly waitingFor: readonly string[];
}

export interface PlanTerms {
  /** Of an instance of the spec: whether it is left where it is. Absent: each is. */
  readonly stays?: (record: InstanceRecord) => boolean;
  /** None of the others makes room. */
  readonly beside?: boolean;
}

/**
 * What the scheduler would do with a spec now; nothing is stored or kept. Instances of another spec of the same deployment are taken
 * as gone, as they make room one by one while the update runs.
 */
export function planPlacement(
  clusters: TenantClusters,
  tenant: TenantStore,
  spec: Workload,
  specHash: string,
  { stays: isKept = () => true, beside = false }: PlanTerms = {},
): PlacementPlan {
  const cluster = clusters.of(tenant.tenantId);
  const existing = tenant.collection('instances').listUnder(prefixOf('instances', spec.name));
  const kept = existing.filter(
    ({ record }) => record.specHash === specHash && record.wanted === 'run' && isKept(record),
  );
  const canary = isOfDeployment(spec.name)
    ? tenant.get('canaries', idOf('canaries', spec.name))?.record
    : undefined;
  const stays = canary?.stableSpecHash === specHash ? canary.specHash : undefined;
  const replaced = existing
    .filter((stored) => !kept.includes(stored) && stored.record.specHash !== stays)
    .map(({ record }) => record.id);
  const wanted = Math.max(0, spec.replicas - kept.length);
  const request = clusters.request(tenant.tenantId, spec, tenant);
  // An update finds the deployment running: what no node has yet is the changed one. What is left of a deleted one is another.
  const isUpdate =
    isOfDeployment(spec.name) && tenant.get('deployments', idOf('deployments', spec.name)) !== undefined;
  const name = isUpdate && replaced.length > 0 ? `the changed ${spec.name}` : spec.name;
  return supposing(cluster, beside ? [] : replaced, (suppose) => {
    const instances: { node: NodeName; why: string }[] = [];
    for (let count = 0; count < wanted; count += 1) {
      const chosen = cluster.place(suppose(), request);
      if (chosen === undefined) break;
      instances.push({ node: chosen.node, why: describeScore(chosen, name) });
    }
    const waitingFor = gatesOf(tenant, spec).map((gate) => gate.message);
    if (instances.length === wanted) return { instances, waitingFor };
    const { summary, nodes } = explain(cluster, request);
    const count = wanted - instances.length;
    return { instances, unplaced: { count, summary, nodes: nodes.map(refused) }, waitingFor };
  });
}

export interface DeploymentExplanation {
  readonly deployment: string;
  /** Where its instances are. */
  readonly instances: readonly {
    readonly id: InstanceId;
    readonly node: NodeName;
    readonly current: boolean;
  }[];
  /** What would become of one more instance, node by node, filter by filter: of the nodes that were asked for. */
  readonly nodes: readonly NodeExplanation[];
  /** After which more nodes come. */
  readonly upTo?: NodeName;
  readonly total: number;
  readonly fitting: number;
  readonly refused: readonly RefusalGroup[];
  /** No node fits: the one that lacks least. */
  readonly nearest?: RefusedNode;
  readonly chosen?: { readonly node: NodeName; readonly why: string };
  readonly pin?: HoldingPin;
  readonly summary: string;
  readonly waitingFor: readonly string[];
  /** Instances where the residency does not allow them any more: what it asks for, and what their node reports. */
  readonly misplaced: readonly {
    readonly id: InstanceId;
    readonly node: NodeName;
    readonly reasons: readonly Reason[];
  }[];
  readonly warnings: readonly Warning[];
}

/** Which nodes are shown, in the order of their names. */
export interface NodesAsked {
  readonly limit: number;
  readonly after?: string;
  /** Only this one. */
  readonly node?: string;
  /** Only those that refuse. */
  readonly failed: boolean;
}

/** Of what a page shows, as JSON: a screen full, however many nodes there are. */
const PAGE_LENGTH = 40_000;
const MAX_FIT_WITHOUT = 100;

/** The whole is judged, for the summary; what each filter compared is told of the nodes of the page alone. */
export function explainDeployment(
  clusters: TenantClusters,
  tenant: TenantStore,
  { spec, specHash }: Pick<DeploymentRecord, 'spec' | 'specHash'>,
  asked: NodesAsked,
): DeploymentExplanation {
  const cluster = clusters.of(tenant.tenantId);
  const request = clusters.request(tenant.tenantId, spec);
  const { nodes, chosen, pin, summary } = explain(cluster, request);
  const { shown, upTo } = pageOfNodes(cluster, request, nodes, asked);
  const refusing = refusalGroups(cluster, request, nodes);
  const fitting = nodes.filter(({ fits }) => fits).length;
  const nearest = fitting > 0 ? undefined : nodes.find(({ node }) => node === refusing[0]?.nearest);
  const onPage = new Set<string>(shown.map(({ node }) => node));
  // Those of a node that has left are told once, with the first page.
  const isFirst = asked.after === undefined && asked.node === undefined;
  const instances = tenant
    .collection('instances')
    .listUnder(prefixOf('instances', spec.name))
    .filter(
      ({ record: { nodeId } }) => onPage.has(nodeId) || (isFirst && cluster.node(nodeId) === undefined),
    );
  return {
    deployment: spec.name,
    instances: instances.map(({ record }) => ({
      id: record.id,
      node: record.nodeId,
      current: record.specHash === specHash,
    })),
    nodes: shown,
    ...(upTo !== undefined && { upTo }),
    total: nodes.length,
    fitting,
    refused: refusing,
    ...(nearest && { nearest: refused(nearest) }),
    ...(chosen && { chosen }),
    ...(pin && { pin: { ...pin, fitWithout: pin.fitWithout.slice(0, MAX_FIT_WITHOUT) } }),
    summary,
    waitingFor: gatesOf(tenant, spec).map((gate) => gate.message),
    misplaced: instances.flatMap(({ record: { id, nodeId, wanted } }) => {
      const reasons = wanted === 'run' ? clusters.misplaced(tenant.tenantId, spec, nodeId) : [];
      return reasons.length === 0 ? [] : [{ id, node: nodeId, reasons }];
    }),
    warnings: unstatedNodes(cluster, request),
  };
}

function pageOfNodes(
  cluster: ClusterState,
  request: PlacementRequest,
  nodes: readonly JudgedNode[],
  { limit, after, node: only, failed }: NodesAsked,
): { readonly shown: readonly NodeExplanation[]; readonly upTo?: NodeName } {
  const shown: NodeExplanation[] = [];
  let length = 0;
  for (const { node, fits } of nodes) {
    const isAsked =
      (only === undefined || node === only) && !(failed && fits) && (after === undefined || node > after);
    const state = isAsked ? cluster.node(node) : undefined;
    if (state === undefined) continue;
    const last = shown.at(-1);
    if (last !== undefined && (shown.length === limit || length >= PAGE_LENGTH))
      return { shown, upTo: last.node };
    const explained = explainNode(cluster, request, state);
    length += JSON.stringify(explained).length;
    shown.push(explained);
  }
  return { shown };
}

export function refused({ node, reasons }: JudgedNode): RefusedNode {
  return { node, reasons };
}

/**
 * Runs a question on the cluster without the given instances and with what `suppose` names, and puts everything back. Without a pause in
 * it no decision can see what is only supposed.
 */
export function supposing<T>(
  cluster: ClusterState,
  without: readonly InstanceId[],
  ask: (suppose: () => InstanceId) => T,
): T {
  const removed: PlacedInstance[] = without.flatMap((id) => cluster.instance(id) ?? []);
  for (const { id } of removed) cluster.removeInstance(id);
  const supposed: InstanceId[] = [];
  try {
    return ask(() => {
      const id = instanceId(`supposed-${supposed.length}`);
      supposed.push(id);
      return id;
    });
  } finally {
    for (const id of supposed) cluster.removeInstance(id);
    for (const instance of removed) cluster.addInstance(instance);
  }
}
