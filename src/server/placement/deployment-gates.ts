import type { DeploymentRecord, DeploymentSpec } from '../../core/model/deployment.ts';
import type { InstanceId, NodeName } from '../../core/model/ids.ts';
import type { InstanceObservation } from '../../core/model/instance.ts';
import { type ClosedGate, closedGates, type DependencyFacts } from '../../core/plan/rollout/dependencies.ts';
import {
  type InstanceState,
  instanceState,
  type NodeCondition,
} from '../../core/plan/rollout/instance-state.ts';
import { countsOf } from '../../core/plan/rollout/status.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

/** The gates that keep new instances of the deployment from being created now. */
export function gatesOf(tenant: TenantStore, spec: Pick<DeploymentSpec, 'dependsOn'>): readonly ClosedGate[] {
  return closedGates(spec.dependsOn, (name) => dependencyFacts(tenant, name));
}

/** By the deployment's key segment. */
export function observationsOf(
  tenant: TenantStore,
  id: string,
): (instance: InstanceId) => InstanceObservation | undefined {
  const collection = tenant.collection('observations');
  return (instance) => collection.get(`${id}/${instance}`)?.record;
}

export function nodeCondition(tenant: TenantStore, node: NodeName): NodeCondition {
  return nodeConditions(tenant)(node);
}

/** For many of them: where they are stored is looked up once. */
export function nodeConditions(tenant: TenantStore): (node: NodeName) => NodeCondition {
  const nodes = tenant.collection('nodes');
  const livenesses = tenant.collection('node-liveness');
  return (node) => {
    const record = nodes.get(idOf('nodes', node))?.record;
    if (record === undefined) return { status: 'gone', draining: false };
    const liveness = livenesses.get(idOf('node-liveness', node))?.record;
    const draining = record.draining === true;
    if (liveness?.status === 'ready') return draining ? READY_DRAINING : READY;
    return { status: liveness?.lost === true ? 'lost' : 'silent', draining };
  };
}

const READY: NodeCondition = { status: 'ready', draining: false };
const READY_DRAINING: NodeCondition = { status: 'ready', draining: true };

/** Of a deployment that exists, as they are observed now. */
export function instanceStates(
  tenant: TenantStore,
  name: string,
): { readonly deployment: DeploymentRecord; readonly states: readonly InstanceState[] } | undefined {
  const id = idOf('deployments', name);
  const deployment = tenant.get('deployments', id)?.record;
  if (deployment === undefined) return undefined;
  const input = {
    deployment,
    specs: new Map([[deployment.specHash, deployment.spec]]),
    nodeOf: nodeConditions(tenant),
    observationOf: observationsOf(tenant, id),
    memoryOf: () => undefined,
    complete: true,
    nowMs: 0,
  };
  const states = tenant
    .collection('instances')
    .listUnder(id)
    .map((stored) => instanceState(stored.record, input));
  return { deployment, states };
}

function dependencyFacts(tenant: TenantStore, name: string): DependencyFacts | undefined {
  const found = instanceStates(tenant, name);
  if (found === undefined) return undefined;
  const { deployment, states } = found;
  const id = idOf('deployments', name);
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
