import type { Warning } from '../../../core/model/announcement.ts';
import type { DeploymentRecord, InstanceOrder } from '../../../core/model/deployment.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import type { INSTANCES } from '../../../core/operations/instances.ts';
import { openOrder } from '../../../core/plan/rollout/instance-orders.ts';
import { budgetOf } from '../../../core/plan/rollout/rollout.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { instanceNotFound } from '../../reads/instance.ts';
import { putUnversioned } from '../../store/deployment-rows.ts';
import { idOf, prefixOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { deploymentNotFound } from './deployment-write.ts';

const accepted = acceptedOf<typeof INSTANCES.restart>();

export function notRunning(instance: string, why: string): Rejection {
  return reject('instance_not_running', { field: 'instance', received: received(instance), why });
}

/** An order to the controller, which alone writes instances. Carried out at once: nothing of the rule of updates is waited for. */
export async function orderInstance(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  instance: string,
  kind: InstanceOrder['kind'],
): Promise<Outcome<typeof INSTANCES.restart>> {
  const { tenant } = caller;
  return commitAttempts(admission, caller, () => {
    const { stored, field } = findDeployment(tenant, nameOrId);
    if (stored === undefined) return deploymentNotFound(field, nameOrId);
    const { record } = stored;
    const { name } = record.spec;
    const one = tenant.get('instances', idOf('instances', name, instance))?.record;
    if (one === undefined) return instanceNotFound(instance);
    if (one.wanted === 'stop' && kind === 'restart')
      return notRunning(instance, 'It is being stopped, so that there is nothing to restart.');
    // Of a canary an instance that ends would count as a failed one: it gets another instance instead.
    const isReplaced = kind === 'stop' || one.canary === true;
    const answer = accepted(200, {
      instance: one.id,
      deployment: name,
      nodeId: one.nodeId,
      order: kind,
      message: isReplaced
        ? 'it is stopped, and the deployment places a fresh one'
        : `its container is replaced on ${one.nodeId}, with credentials resolved anew`,
      alterations: [],
      warnings: [
        ...downWarnings(tenant, record, one),
        ...(isReplaced && kind === 'restart' ? [replacedWarning(instance)] : []),
      ],
      removed: [],
    });
    if (one.wanted === 'stop') return { answer };
    const at = admission.clock.now().toISOString();
    const order: InstanceOrder = isReplaced
      ? { instance: one.id, at, kind: 'stop' }
      : { instance: one.id, at, kind, attempt: one.attempt + 1 };
    const id = idOf('deployments', name);
    const transaction = tenant.transaction().expect('deployments', id, stored);
    const ordered = { ...record, orders: [...openOrders(tenant, record, one), order] };
    putUnversioned(transaction, { previous: record, record: ordered });
    const subject = { kind: 'Instance', name: one.id } as const;
    const details = { deployment: name, node: one.nodeId };
    admission.journal.event(transaction, tenant.tenantId, {
      kind: `instance.${kind}_requested`,
      subject,
      message: `${kind} of instance ${one.id} of ${name} on ${one.nodeId} was asked for`,
      details,
    });
    admission.journal.audit(
      transaction,
      tenant.tenantId,
      caller,
      `instance.${kind}-requested`,
      subject,
      details,
    );
    return { answer, transaction };
  });
}

/** Of other instances; what is carried out goes. */
function openOrders(
  tenant: TenantStore,
  { orders = [], spec }: DeploymentRecord,
  own: InstanceRecord,
): readonly InstanceOrder[] {
  return orders.filter((order) => {
    const record = tenant.get('instances', idOf('instances', spec.name, order.instance))?.record;
    return (
      record !== undefined && record.id !== own.id && openOrder(record, { orders: [order] }) !== undefined
    );
  });
}

function replacedWarning(instance: string): Warning {
  const why = `${instance} belongs to a canary, which would end with an instance that does: another instance takes its place.`;
  return { code: 'canary_instance_replaced', field: 'instance', why };
}

/** What serves while this one does not, where that is less than the deployment keeps up in an update. */
export function downWarnings(
  tenant: TenantStore,
  { spec }: DeploymentRecord,
  own: InstanceRecord,
): readonly Warning[] {
  const isCanary = own.canary === true;
  const { minAvailable } = budgetOf(spec.replicas, spec.update);
  const observations = tenant.collection('observations');
  const left = tenant
    .collection('instances')
    .listUnder(prefixOf('instances', spec.name))
    .filter(({ id, record }) => {
      if (record.id === own.id || record.wanted !== 'run' || (record.canary === true) !== isCanary)
        return false;
      const seen = observations.get(id)?.record;
      const node = tenant.get('node-liveness', idOf('node-liveness', record.nodeId))?.record;
      const passes =
        spec.healthCheck === undefined ? seen?.health !== 'unhealthy' : seen?.health === 'healthy';
      return node?.status === 'ready' && seen?.phase === 'running' && passes;
    }).length;
  if (isCanary || left >= minAvailable) return [];
  const serve =
    left === 0
      ? `nothing of ${spec.name} serves until it is back`
      : `${left} of ${spec.replicas} wanted ${left === 1 ? 'serves' : 'serve'} until it is back`;
  return [{ code: 'availability_reduced', field: 'instance', why: `While it is down, ${serve}.` }];
}
