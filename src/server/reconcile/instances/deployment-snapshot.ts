import type { CanaryRecord } from '../../../core/model/canary.ts';
import type {
  DeploymentRecord,
  DeploymentSpec,
  DeploymentStatus,
  Workload,
} from '../../../core/model/deployment.ts';
import type { InstanceId } from '../../../core/model/ids.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import type { RolloutRecord } from '../../../core/model/rollout.ts';
import { misplacedMessage } from '../../../core/scheduler/misplaced.ts';
import type { ClosedGate } from '../../../core/plan/rollout/dependencies.ts';
import type { NodeCondition } from '../../../core/plan/rollout/instance-state.ts';
import type { PlanInput } from '../../../core/plan/rollout/instances.ts';
import { gatesOf, nodeConditions, observationsOf } from '../../placement/deployment-gates.ts';
import type { TenantClusters } from '../../placement/tenant-clusters.ts';
import { isFenced, moveGates, staysWithVolume, writerGates } from '../../placement/volume-writers.ts';
import { segmentsOf } from '../../store/record-ids.ts';
import { rolloutOf } from '../../store/rollout-row.ts';
import type { Stored } from '../../store/collection.ts';
import type { TenantStore } from '../../store/store.ts';

/** Everything one decision is made from, with the revisions that its commit is guarded by. */
export interface DeploymentSnapshot {
  readonly tenant: TenantStore;
  readonly id: string;
  readonly deployment: Stored<DeploymentRecord> | undefined;
  readonly status: Stored<DeploymentStatus> | undefined;
  readonly rollout: Stored<RolloutRecord> | undefined;
  readonly canary: Stored<CanaryRecord> | undefined;
  readonly instances: ReadonlyMap<InstanceId, Stored<InstanceRecord>>;
  readonly planned: Omit<PlanInput, 'placer' | 'memory' | 'nowMs'>;
}

/** `id` is the deployment's key segment, not its name. */
export function readDeploymentSnapshot(
  tenant: TenantStore,
  clusters: TenantClusters,
  id: string,
): DeploymentSnapshot {
  const deployment = tenant.get('deployments', id);
  const status = tenant.get('deployment-status', id);
  const rollout = rolloutOf(tenant, id);
  const canary = tenant.get('canaries', id);
  const instances = tenant.collection('instances').listUnder(id);
  const gates = deployment === undefined ? [] : closedGatesOf(tenant, clusters, deployment.record.spec);
  const specs = specsOf(tenant, id);
  const records = { tenant, id, deployment, status, rollout, canary };
  const known = {
    name: segmentsOf('deployments', id)[0],
    ...recordsOf(tenant, records),
    gates,
  };
  // Its specs are what a failed rollout that lost its nodes returns to.
  if (instances.length === 0)
    return { ...records, instances: NO_INSTANCES, planned: { ...known, ...OF_NO_INSTANCES, specs } };
  return {
    ...records,
    instances: new Map(instances.map((stored) => [stored.record.id, stored])),
    planned: {
      ...known,
      specs,
      instances: instances.map((stored) => stored.record),
      observationOf: observationsOf(tenant, id),
      nodeOf: nodeConditions(tenant),
      misplacedOf: misplacedBy(tenant, clusters, deployment?.record, canary?.record),
      fencedOf: (record) => isFenced(tenant, specs.get(record.specHash), record),
      staysOf: (record) => staysWithVolume(tenant, specs.get(record.specHash), record),
    },
  };
}

function recordsOf(
  tenant: TenantStore,
  {
    deployment,
    status,
    rollout,
    canary,
  }: Pick<DeploymentSnapshot, 'deployment' | 'status' | 'rollout' | 'canary'>,
): Pick<DeploymentSnapshot['planned'], 'deployment' | 'status' | 'rollout' | 'canary'> {
  return {
    ...(deployment && { deployment: deployment.record }),
    ...(status && { status: status.record }),
    ...(rollout && { rollout: rollout.record }),
    ...(canary && { canary: { record: canary.record, gates: gatesOf(tenant, canary.record.spec) } }),
  };
}

const NO_GATES: readonly ClosedGate[] = [];

function closedGatesOf(
  tenant: TenantStore,
  clusters: TenantClusters,
  spec: DeploymentSpec,
): readonly ClosedGate[] {
  if (spec.dependsOn === undefined && spec.volumes === undefined) return NO_GATES;
  return [...gatesOf(tenant, spec), ...writerGates(tenant, clusters, spec), ...moveGates(tenant, spec)];
}

const NO_INSTANCES: DeploymentSnapshot['instances'] = new Map();
const NO_SPECS: DeploymentSnapshot['planned']['specs'] = { get: () => undefined };
const NOT_SEEN = (): undefined => undefined;
const GONE: NodeCondition = { status: 'gone', draining: false };
/** What is asked of an instance is asked of none. */
const OF_NO_INSTANCES = {
  specs: NO_SPECS,
  instances: [],
  observationOf: NOT_SEEN,
  nodeOf: () => GONE,
} as const;

/** Of a deployment that is about to be stored, and of which nothing else is. */
export function firstSnapshot(tenant: TenantStore, id: string, record: DeploymentRecord): DeploymentSnapshot {
  return {
    tenant,
    id,
    deployment: { id, record, modRevision: 0, createRevision: 0 },
    status: undefined,
    rollout: undefined,
    canary: undefined,
    instances: NO_INSTANCES,
    planned: {
      name: record.spec.name,
      deployment: record,
      ...OF_NO_INSTANCES,
      gates: NO_GATES,
    },
  };
}

/** By the residency that is asked for now, whatever spec the instance was started with. */
function misplacedBy(
  { tenantId }: TenantStore,
  clusters: TenantClusters,
  deployment: DeploymentRecord | undefined,
  canary: CanaryRecord | undefined,
): (record: InstanceRecord) => string | undefined {
  return ({ specHash, nodeId }) => {
    const spec = specHash === canary?.specHash ? canary.spec : deployment?.spec;
    return spec && misplacedMessage(clusters.misplaced(tenantId, spec, nodeId));
  };
}

/** Read when asked for, and once, since all instances of a deployment have one or two: of a deployment without instances none is. */
function specsOf(tenant: TenantStore, id: string): Pick<ReadonlyMap<string, Workload>, 'get'> {
  const read = new Map<string, Workload | undefined>();
  return {
    get: (specHash) => {
      if (!read.has(specHash)) read.set(specHash, tenant.get('specs', `${id}/${specHash}`)?.record);
      return read.get(specHash);
    },
  };
}
