import type {
  DeploymentRecord,
  DeploymentSpec,
  VolumeMount,
  Workload,
} from '../../../core/model/deployment.ts';
import { runIdentity, specOfSnapshot, type SpecSnapshot } from '../../../core/model/spec-snapshot.ts';
import { standingWays } from '../../../core/model/ingress.ts';
import type { WantedPlan } from '../../../core/plan/rollout/instances.ts';
import { carryRotation } from '../../../core/secrets/rotation.ts';
import { claimVolumes, otherWriter } from '../../placement/volume-claims.ts';
import { residencyConflict } from '../../placement/volume-residency.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import { type ControllerDeps, SYSTEM } from '../controller.ts';
import type { DeploymentSnapshot } from './deployment-snapshot.ts';

/**
 * Adds the return to the last complete spec (`update.onFailure: rollback`): a write of a spec like any other, with its archive
 * version, event and audit line. False when there is nothing to return to, and then the failed rollout is left as it is.
 */
export function addRollback(
  deps: ControllerDeps,
  snapshot: DeploymentSnapshot,
  plan: WantedPlan,
  transaction: Transaction,
): boolean {
  const { tenant, id } = snapshot;
  const { deployment, rollback, rollout } = plan;
  if (rollback === undefined) return false;
  const target = snapshot.planned.specs.get(rollback.specHash);
  if (target === undefined || takesForeignVolume(tenant, target)) return false;
  const record = rolledBackRecord(deps, deployment, target, snapshot.planned.specs);
  // With the residency that stays, it may be the very spec that failed.
  if (record.specHash === deployment.specHash) return false;
  const terms = deps.clusters.residencyTerms;
  if (residencyConflict(tenant, terms, record.spec, deployment.spec) !== undefined) return false;
  const { name } = record.spec;
  const subject = { kind: 'Deployment', name } as const;
  deps.journal.version(transaction, SYSTEM, { previous: deployment, record, change: 'rolled-back' });
  transaction.put('rollouts', id, {
    deploymentId: record.id,
    specHash: record.specHash,
    version: record.version,
    state: 'progressing',
    from: rollback,
    isRollback: true,
    failed: { specHash: rollout.specHash, version: rollout.version, message: plan.status.message },
    placed: true,
    generation: rollout.generation + 1,
  });
  claimVolumes(tenant, name, { before: deployment.spec, after: record.spec }, transaction);
  deps.journal.event(transaction, tenant.tenantId, {
    kind: 'deployment.rolled_back',
    subject,
    message: `${name}: version ${rollout.version} failed; its spec is that of version ${rollback.version} again, stored as version ${record.version}`,
    details: {
      failed: rollout.version,
      restored: rollback.version,
      version: record.version,
      why: plan.status.message,
    },
  });
  deps.journal.audit(transaction, tenant.tenantId, SYSTEM, 'deployment.rolled-back', subject);
  return true;
}

/**
 * The number of instances, the policy and the residency are the user's latest wish, and the rotation counter never goes back: what
 * fails to start must not be put back where it may not run any more.
 */
function rolledBackRecord(
  deps: ControllerDeps,
  current: DeploymentRecord,
  snapshot: SpecSnapshot,
  specs: Pick<ReadonlyMap<string, SpecSnapshot>, 'get'>,
): DeploymentRecord {
  const { replicas, update, secretsVersion } = current.spec;
  const { update: _replaced, access: _former, ingress, ...restored } = specOfSnapshot(snapshot);
  const residency = current.spec.placement?.residency;
  const spec: DeploymentSpec = {
    ...restored,
    name: current.spec.name,
    replicas,
    secretsVersion,
    ...(residency && { placement: { ...restored.placement, residency } }),
    ...(update && { update }),
    ...standingWays({ ...(ingress && { ingress }) }, current.spec),
  };
  const rotation = carryRotation(current.rotation, current.spec.secrets, spec.secrets);
  const { imageDigest: _failed, ...record } = current;
  return {
    ...record,
    spec,
    ...runIdentity(spec, snapshot.imageDigest, deps.hashSpec, (hash) => specs.get(hash)),
    version: current.version + 1,
    updatedAt: deps.clock.now().toISOString(),
    ...(rotation && { rotation }),
  };
}

/** A volume may have found another writer, or gone, since the old spec gave it up: then returning would make two writers. */
function takesForeignVolume(tenant: TenantStore, spec: Workload): boolean {
  const mounts = spec.volumes ?? [];
  const gone = ({ volumeId }: VolumeMount): boolean => {
    const phase = tenant.get('volumes', idOf('volumes', volumeId))?.record.phase;
    return phase === undefined || phase === 'Deleting';
  };
  if (mounts.some(gone)) return true;
  const wanted = mounts.filter((mount) => !mount.readOnly).map((mount) => mount.volumeId);
  return wanted.some((volume) => otherWriter(tenant, volume, spec.name) !== undefined);
}
