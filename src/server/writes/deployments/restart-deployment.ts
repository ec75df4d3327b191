import type { restartBody } from '../../../core/contract/order-bodies.ts';
import { instanceId } from '../../../core/model/ids.ts';
import type { Draft } from '../../../core/schema/shape.ts';
import type { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import { nextRestart } from '../../../core/plan/rollout/restart-order.ts';
import { instanceNotFound } from '../../reads/instance.ts';
import { findDeployment, storedDeploymentView } from '../../reads/deployment.ts';
import { putUnversioned } from '../../store/deployment-rows.ts';
import { idOf } from '../../store/record-ids.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { deploymentNotFound } from './deployment-write.ts';

const accepted = acceptedOf<typeof DEPLOYMENTS.restart>();

/** Other containers of the same spec, by the rule of updates. No version of the archive: nothing of the spec changes. */
export async function restartDeployment(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  { instance }: Draft<typeof restartBody>,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof DEPLOYMENTS.restart>> {
  const { tenant } = caller;
  return commitAttempts(admission, caller, () => {
    const { stored, field } = findDeployment(tenant, nameOrId);
    if (stored === undefined) return deploymentNotFound(field, nameOrId);
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const { name } = stored.record.spec;
    if (instance !== undefined && tenant.get('instances', idOf('instances', name, instance)) === undefined)
      return instanceNotFound(instance);
    const at = admission.clock.now().toISOString();
    const restart = nextRestart(
      stored.record.restart,
      at,
      instance === undefined ? undefined : instanceId(instance),
      (id) => tenant.get('instances', idOf('instances', name, id)) !== undefined,
    );
    const record = { ...stored.record, restart };
    const subject = { kind: 'Deployment', name } as const;
    const id = idOf('deployments', name);
    const transaction = tenant.transaction().expect('deployments', id, stored);
    putUnversioned(transaction, { previous: stored.record, record });
    const what = instance === undefined ? 'every instance' : instance;
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'deployment.restart_requested',
      subject,
      message: `restart of ${name}: ${what} is replaced, by the rule of updates`,
      details: instance === undefined ? {} : { instance },
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, 'deployment.restart-requested', subject);
    const view = storedDeploymentView(admission, tenant, { ...stored, record });
    return { answer: accepted(200, { ...view, alterations: [], warnings: [], removed: [] }), transaction };
  });
}
