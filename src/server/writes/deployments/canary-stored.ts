import type { Warning } from '../../../core/model/announcement.ts';
import type { CanaryRecord } from '../../../core/model/canary.ts';
import type { DeploymentRecord } from '../../../core/model/deployment.ts';
import { canaryAbortedEvent } from '../../../core/plan/rollout/planned-event.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { Admission, Caller } from '../admission.ts';

/** Another spec beside it: what the canary was compared with is gone. */
function superseded(
  tenant: TenantStore,
  before: DeploymentRecord | undefined,
  after: DeploymentRecord,
): Stored<CanaryRecord> | undefined {
  const changed = before !== undefined && before.specHash !== after.specHash;
  return changed ? tenant.get('canaries', idOf('canaries', after.spec.name)) : undefined;
}

const SUPERSEDED = {
  reason: 'deployment_changed',
  message: 'the deployment it ran beside was changed',
} as const;

export function canaryWarnings(
  tenant: TenantStore,
  before: DeploymentRecord | undefined,
  after: DeploymentRecord,
): readonly Warning[] {
  const canary = superseded(tenant, before, after);
  if (canary === undefined) return [];
  const why = `The canary of ${after.spec.name} (${canary.record.spec.image}) is aborted: ${SUPERSEDED.message}.`;
  return [{ code: 'canary_aborted', field: 'name', why }];
}

export function addSupersededCanary(
  admission: Admission,
  caller: Caller,
  before: DeploymentRecord,
  after: DeploymentRecord,
  transaction: Transaction,
): void {
  const { tenant } = caller;
  const { name } = after.spec;
  const canary = superseded(tenant, before, after);
  if (canary === undefined) return;
  transaction.expect('canaries', idOf('canaries', name), canary).delete('canaries', idOf('canaries', name));
  admission.journal.event(transaction, tenant.tenantId, canaryAbortedEvent(name, canary.record, SUPERSEDED));
}
