import type { deployment } from './answers/deployment.ts';
import { type Answer, exactly, type Exactly } from '../schema/shape.ts';
import { appliedDefaults, type ContainerDefaults } from '../model/container-defaults.ts';
import type { DeploymentRecord, DeploymentSpec, InstanceView } from '../model/deployment.ts';
import { RESIDENCY_LABELS } from '../model/labels.ts';
import type { RolloutRecord, StoredStatus } from '../model/rollout.ts';
import { pinOf } from '../model/spec-snapshot.ts';
import { isRotating, nextRotationPhase } from '../model/rotation-phase.ts';

/** What the typed residency block is stored as. Derived, so that it can never disagree with the block. */
export function storedLabels(spec: Pick<DeploymentSpec, 'placement'>): Record<string, string> {
  const residency = spec.placement?.residency;
  const labels: Record<string, string> = {};
  if (residency?.country !== undefined) labels[RESIDENCY_LABELS.country] = residency.country;
  if (residency?.region !== undefined) labels[RESIDENCY_LABELS.region] = residency.region;
  if (residency?.blockedCountries !== undefined) {
    labels[RESIDENCY_LABELS.blockedCountries] = residency.blockedCountries.join(',');
  }
  return labels;
}

type Deployment = Answer<typeof deployment>;
const asDeployment = exactly<Deployment>();

export interface DeploymentViewInput {
  readonly record: DeploymentRecord;
  readonly revision: number;
  /** Absent until a controller has reconciled the deployment. */
  readonly status?: StoredStatus;
  readonly instances?: readonly InstanceView[];
  readonly defaults: ContainerDefaults;
  /** Absent: it has none yet, or no node of the tenant takes part in a mesh. */
  readonly virtualAddress?: string;
  /** Of every way in; absent: there is none. */
  readonly ingress?: Deployment['status']['ingress'];
  /** Absent until a controller has looked. */
  readonly rollout?: RolloutRecord;
  /** While one runs. */
  readonly canary?: Deployment['status']['canary'];
}

const NOTHING_SEEN = { placed: 0, running: 0, healthy: 0, updated: 0 };

/**
 * A status is as old as the last look of a controller. Until it has looked again, that of another spec or number says nothing of
 * what was asked for: a client that waits for `Running` after an update must not get the old one.
 */
function currentStatus({ spec, specHash }: DeploymentRecord, status: StoredStatus | undefined): StoredStatus {
  const { replicas } = spec;
  if (status === undefined) {
    const phase = replicas === 0 ? 'Stopped' : 'Pending';
    return { phase, message: 'accepted; not reconciled yet', desired: replicas, ...NOTHING_SEEN };
  }
  const isOfSpec = status.specHash === specHash;
  if (isOfSpec && status.desired === replicas) return status;
  const { since: _before, ...counts } = { ...status, ...(isOfSpec ? {} : NOTHING_SEEN) };
  return { ...counts, phase: 'Progressing', message: 'updated; not reconciled yet', desired: replicas };
}

function rolloutView({ version, state, failed }: RolloutRecord) {
  return { version, state, ...(failed && { failed }) };
}

/** A deployment as every read and write answers it. */
export function deploymentView({
  record,
  revision,
  status,
  instances,
  canary,
  defaults,
  virtualAddress,
  ingress,
  rollout,
}: DeploymentViewInput): Exactly<Deployment> {
  const { spec, rotation } = record;
  const { specHash: _judged, canary: _seen, rollout: _first, ...observed } = currentStatus(record, status);
  return asDeployment({
    ...spec,
    id: record.id,
    tenantId: record.tenantId,
    revision,
    specHash: record.specHash,
    ...pinOf(record.imageDigest),
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    storedLabels: storedLabels(spec),
    containerDefaults: appliedDefaults(defaults, spec.resources),
    status: {
      ...observed,
      ...(virtualAddress !== undefined && { virtualAddress }),
      ...(ingress && ingress.length > 0 && { ingress }),
      ...(rollout?.specHash === record.specHash && { rollout: rolloutView(rollout) }),
      secretsVersion: spec.secretsVersion,
      rotation: {
        phase: rotation?.phase ?? null,
        next: nextRotationPhase(rotation),
        ...(rotation?.secrets && isRotating(rotation) && { delivered: rotation.secrets }),
      },
      ...(canary && { canary }),
      instances: instances ?? [],
    },
  });
}
