import type { CanaryRecord } from '../../model/canary.ts';
import type { DeploymentRecord } from '../../model/deployment.ts';
import type { InstanceRecord } from '../../model/instance.ts';
import type { InstanceState } from './instance-state.ts';
import type { Placed } from './placer.ts';

export function newInstance(placed: Placed, deployment: DeploymentRecord, createdAt: string): InstanceRecord {
  return {
    id: placed.id,
    tenantId: deployment.tenantId,
    deployment: deployment.spec.name,
    specHash: deployment.specHash,
    secretsVersion: deployment.spec.secretsVersion,
    nodeId: placed.nodeId,
    wanted: 'run',
    createdAt,
    attempt: 0,
    ...(deployment.restart && deployment.restart.count > 0 && { restart: deployment.restart.count }),
  };
}

export function newCanaryInstance(
  placed: Placed,
  deployment: DeploymentRecord,
  { spec, specHash }: CanaryRecord,
  createdAt: string,
): InstanceRecord {
  return { ...newInstance(placed, { ...deployment, spec, specHash }, createdAt), canary: true };
}

/** An instance that is about to be stored, as the next look will find it. */
export function freshState(placed: Placed, deployment: DeploymentRecord): InstanceState {
  return {
    record: newInstance(placed, deployment, deployment.updatedAt),
    observation: undefined,
    node: { status: 'ready', draining: false },
    fenced: false,
    misplaced: undefined,
    standing: 'keep',
    current: true,
    running: false,
    healthy: false,
    available: false,
    settlesInMs: undefined,
    failure: undefined,
  };
}
