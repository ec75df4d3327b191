import type { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import type { DeploymentRecord } from '../../../core/model/deployment.ts';
import type { InstanceAction } from '../../../core/plan/rollout/instance-actions.ts';
import type { DeploymentPlan } from '../../placement/deployment-plan.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf, prefixOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { findDeployment, storedDeploymentView } from '../../reads/deployment.ts';
import { deploymentNotFound } from './deployment-write.ts';
import { claimIngress } from '../../placement/ingress-claims.ts';
import { claimVolumes } from '../../placement/volume-claims.ts';
import { revisionRejection } from '../if-match.ts';
import { guardPlan, planId, planRejection } from '../plan-guard.ts';
import type { UpdateOptions } from './update-deployment.ts';

const accepted = acceptedOf<typeof DEPLOYMENTS.remove>();

/** Every instance stops; one that was ordered to before is on its way already. */
function planOf(
  tenant: TenantStore,
  { record: { spec }, modRevision: revision }: Stored<DeploymentRecord>,
): DeploymentPlan & { readonly id: string } {
  const { name } = spec;
  const actions = tenant
    .collection('instances')
    .listUnder(prefixOf('instances', name))
    .flatMap(({ record: { id, nodeId, wanted } }): readonly InstanceAction[] =>
      wanted === 'run' ? [{ action: 'stop', instance: id, node: nodeId, why: `${name} is deleted` }] : [],
    );
  const plan = { actions, instances: [], waitingFor: [] };
  const record = { kind: 'Deployment', name, revision };
  return { ...plan, id: planId(tenant, { record, document: {}, plan }) };
}

/** The spec goes; its archive stays. Instances are stopped by their controller, which sees that nothing wants them. */
export async function deleteDeployment(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  { ifMatch, dryRun = false, plan: shown }: Partial<UpdateOptions>,
): Promise<Outcome<typeof DEPLOYMENTS.remove>> {
  return commitAttempts(admission, caller, () => {
    const { stored, field } = findDeployment(caller.tenant, nameOrId);
    if (stored === undefined) return deploymentNotFound(field, nameOrId);
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const { record } = stored;
    const { name } = record.spec;
    const plan = dryRun || shown !== undefined ? planOf(caller.tenant, stored) : undefined;
    const outdatedPlan = plan && planRejection(shown, plan.id);
    if (outdatedPlan) return outdatedPlan;
    const body = {
      ...storedDeploymentView(admission, caller.tenant, stored),
      alterations: [],
      warnings: [],
      removed: [],
    };
    if (dryRun) return { answer: accepted(200, { ...body, ...(plan && { plan }) }) };
    const version = record.version + 1;
    const subject = { kind: 'Deployment', name } as const;
    const transaction = caller.tenant
      .transaction()
      .expect('deployments', idOf('deployments', name), stored)
      .delete('scaling-policies', idOf('scaling-policies', name))
      .put('last-versions', idOf('last-versions', name), { version });
    if (caller.tenant.get('deployment-ids', record.id) !== undefined)
      transaction.delete('deployment-ids', record.id);
    claimVolumes(caller.tenant, name, { before: record.spec, after: undefined }, transaction);
    claimIngress(caller.tenant, name, { before: record.spec, after: undefined }, transaction);
    admission.journal.lastVersion(transaction, caller, record);
    admission.journal.event(transaction, caller.tenant.tenantId, {
      kind: 'deployment.deleted',
      subject,
      message: `${name} deleted; its history stays in the archive`,
      details: { version },
    });
    admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'deployment.deleted', subject);
    if (plan) guardPlan(caller.tenant, { name }, plan.actions, transaction);
    return { answer: accepted(200, body), transaction };
  });
}
