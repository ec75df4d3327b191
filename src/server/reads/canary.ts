import type { canary as canaryAnswer, deployment } from '../../core/contract/answers/deployment.ts';
import type { Answer } from '../../core/schema/shape.ts';
import type { CanaryRecord } from '../../core/model/canary.ts';
import { optional } from '../../core/model/values.ts';
import { pinOf } from '../../core/model/spec-snapshot.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

export function canaryNotFound(nameOrId: string): Rejection {
  return reject('canary_not_found', {
    field: 'name',
    received: received(nameOrId),
    why: 'No canary of this deployment is running.',
  });
}

function counts(tenant: TenantStore, name: string, { specHash }: CanaryRecord) {
  const seen = tenant.get('deployment-status', idOf('deployment-status', name))?.record.canary;
  const isOfIt = seen?.specHash === specHash;
  const {
    placed = 0,
    running = 0,
    healthy = 0,
    message = 'accepted; not reconciled yet',
  } = isOfIt ? seen : {};
  return { placed, running, healthy, message };
}

/** In the status of the deployment. */
export function canarySummary(
  tenant: TenantStore,
  name: string,
  canary: CanaryRecord,
): NonNullable<Answer<typeof deployment>['status']['canary']> {
  const { spec, specHash, imageDigest, replicas, weight, createdAt } = canary;
  return {
    image: spec.image,
    ...pinOf(imageDigest),
    specHash,
    replicas,
    ...optional('weight', weight),
    ...counts(tenant, name, canary),
    createdAt,
  };
}

/** A canary as its own routes answer it. Counts are 0 until a controller has looked. */
export function canaryView(
  tenant: TenantStore,
  name: string,
  canary: CanaryRecord,
): Omit<Answer<typeof canaryAnswer>, 'revision'> {
  const { spec, specHash, replicas, weight, stableSpecHash, createdAt, createdBy } = canary;
  return {
    deployment: name,
    image: spec.image,
    ...pinOf(canary.imageDigest),
    replicas,
    ...optional('weight', weight),
    specHash,
    stableSpecHash,
    createdAt,
    createdBy,
    status: counts(tenant, name, canary),
    spec,
  };
}
