import type {
  DeploymentRecord,
  DeploymentSpec,
  DeploymentStatus,
  InstanceView,
} from '../model/deployment.ts';
import { RESIDENCY_LABELS } from '../model/labels.ts';

/** Spec 2.7: what the typed residency block is stored as. Derived, so that it can never disagree with the block. */
export function storedLabels(spec: DeploymentSpec): Record<string, string> {
  const residency = spec.placement?.residency;
  const labels: Record<string, string> = {};
  if (residency?.country !== undefined) labels[RESIDENCY_LABELS.country] = residency.country;
  if (residency?.region !== undefined) labels[RESIDENCY_LABELS.region] = residency.region;
  if (residency?.blockedCountries !== undefined) {
    labels[RESIDENCY_LABELS.blockedCountries] = residency.blockedCountries.join(',');
  }
  return labels;
}

const NEXT_PHASE = { stage: 'promote', promote: 'retire', retire: 'stage' } as const;

export interface DeploymentViewInput {
  readonly record: DeploymentRecord;
  readonly revision: number;
  /** Absent until a controller has looked at the deployment. */
  readonly status?: DeploymentStatus;
  readonly instances?: readonly InstanceView[];
}

/** A deployment as every read and write answers it. */
export function deploymentView({
  record,
  revision,
  status,
  instances,
}: DeploymentViewInput): Record<string, unknown> {
  const { spec, rotation } = record;
  const observed = status ?? {
    phase: spec.replicas === 0 ? ('Stopped' as const) : ('Pending' as const),
    message: 'accepted; not looked at yet',
    desired: spec.replicas,
    placed: 0,
    running: 0,
    healthy: 0,
    updated: 0,
  };
  return {
    ...spec,
    id: record.id,
    tenantId: record.tenantId,
    revision,
    specHash: record.specHash,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    storedLabels: storedLabels(spec),
    status: {
      ...observed,
      secretsVersion: spec.secretsVersion,
      rotation: {
        phase: rotation?.phase ?? null,
        next: rotation?.phase === undefined ? 'stage' : NEXT_PHASE[rotation.phase],
      },
      instances: instances ?? [],
    },
  };
}
