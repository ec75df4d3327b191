import type { failure } from '../../core/contract/answers/failure.ts';
import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { KeptFailure } from '../../core/model/kept-failure.ts';
import { type Answer, exactly } from '../../core/schema/shape.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

export const asFailure = exactly<Answer<typeof failure>>();

/** Of the instances of a deployment, also of those that are gone; oldest first. */
export function failuresOf(tenant: TenantStore, { id, spec }: DeploymentRecord): readonly KeptFailure[] {
  const record = tenant.get('failures', idOf('failures', spec.name))?.record;
  return record?.deploymentId === id ? record.kept : [];
}
