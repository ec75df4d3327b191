import type { DeploymentRecord, DeploymentSpec, DeploymentStatus } from '../../core/model/deployment.ts';
import type { InstanceId, NodeName } from '../../core/model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../core/model/instance.ts';
import type { RolloutRecord } from '../../core/model/rollout.ts';
import { closedGates, type DependencyFacts } from '../../core/planner/dependencies.ts';
import { instanceState, type NodeCondition } from '../../core/planner/instance-state.ts';
import type { PlanInput } from '../../core/planner/instances.ts';
import { countsOf } from '../../core/planner/status.ts';
import type { Stored } from '../store/collection.ts';
import { joinId } from '../store/keys.ts';
import type { TenantStore } from '../store/store.ts';

/** Everything one decision is made from, with the revisions that its commit is guarded by. */
export interface DeploymentFacts {
  readonly tenant: TenantStore;
  readonly id: string;
  readonly deployment: Stored<DeploymentRecord> | undefined;
  readonly status: Stored<DeploymentStatus> | undefined;
  readonly rollout: Stored<RolloutRecord> | undefined;
  readonly instances: ReadonlyMap<InstanceId, Stored<InstanceRecord>>;
  readonly planned: Omit<PlanInput, 'placer' | 'memory' | 'nowMs'>;
}

/** `id` is the deployment's key segment, not its name. */
export function readFacts(tenant: TenantStore, id: string): DeploymentFacts {
  const deployment = tenant.get('deployments', id);
  const status = tenant.get('deployment-status', id);
  const rollout = tenant.get('rollouts', id);
  const instances = tenant.collection('instances').listUnder(id);
  return {
    tenant,
    id,
    deployment,
    status,
    rollout,
    instances: new Map(instances.map((stored) => [stored.record.id, stored])),
    planned: {
      name: decodeURIComponent(id),
      ...(deployment && { deployment: deployment.record }),
      ...(status && { status: status.record }),
      ...(rollout && { rollout: rollout.record }),
      specs: specsOf(tenant, id),
      instances: instances.map((stored) => stored.record),
      observationOf: observations(tenant, id),
      nodeOf: (node) => nodeCondition(tenant, node),
      gates: closedGates(deployment?.record.spec.dependsOn, (name) => dependencyFacts(tenant, name)),
    },
  };
}

function specsOf(tenant: TenantStore, id: string): ReadonlyMap<string, DeploymentSpec> {
  const snapshots = tenant.collection('specs').listUnder(id);
  return new Map(snapshots.map((stored) => [stored.id.slice(id.length + 1), stored.record]));
}

function observations(
  tenant: TenantStore,
  id: string,
): (instance: InstanceId) => InstanceObservation | undefined {
  const collection = tenant.collection('observations');
  return (instance) => collection.get(`${id}/${instance}`)?.record;
}

export function nodeCondition(tenant: TenantStore, node: NodeName): NodeCondition {
  const record = tenant.get('nodes', joinId(node))?.record;
  if (record === undefined) return { status: 'gone', draining: false };
  const liveness = tenant.get('node-liveness', joinId(node))?.record;
  const draining = record.draining === true;
  if (liveness?.status === 'ready') return { status: 'ready', draining };
  return { status: liveness?.lost === true ? 'lost' : 'silent', draining };
}

function dependencyFacts(tenant: TenantStore, name: string): DependencyFacts | undefined {
  const id = joinId(name);
  const deployment = tenant.get('deployments', id)?.record;
  if (deployment === undefined) return undefined;
  const input = {
    deployment,
    specs: new Map([[deployment.specHash, deployment.spec]]),
    nodeOf: (node: NodeName) => nodeCondition(tenant, node),
    observationOf: observations(tenant, id),
    memoryOf: () => undefined,
    complete: true,
    nowMs: 0,
  };
  const states = tenant
    .collection('instances')
    .listUnder(id)
    .map((stored) => instanceState(stored.record, input));
  const status = tenant.get('deployment-status', id)?.record;
  const { desired, running, healthy } = countsOf(states, deployment.spec.replicas);
  return {
    hasHealthCheck: deployment.spec.healthCheck !== undefined,
    desired,
    running,
    healthy,
    ...(status && { status }),
  };
}
