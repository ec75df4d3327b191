import type { DeploymentRecord, InstanceOrder } from '../../model/deployment.ts';
import type { InstanceId } from '../../model/ids.ts';
import type { InstanceRecord } from '../../model/instance.ts';
import type { InstanceMemory } from './memory.ts';
import { instanceEvent, type PlannedEvent } from './planned-event.ts';

/** More wait for the next commit. */
const AT_ONCE = 5;

/** Undefined: it is carried out, or the instance is on its way out anyway. */
export function openOrder(
  record: Pick<InstanceRecord, 'id' | 'wanted' | 'attempt'>,
  deployment: Pick<DeploymentRecord, 'orders'> | undefined,
): InstanceOrder | undefined {
  const order = deployment?.orders?.find(({ instance }) => instance === record.id);
  if (order === undefined || record.wanted === 'stop') return undefined;
  return order.kind === 'stop' || record.attempt < (order.attempt ?? 0) ? order : undefined;
}

export interface CarriedOut {
  /** All of them, as they are with the orders carried out. */
  readonly instances: readonly InstanceRecord[];
  /** Those that changed. */
  readonly changed: readonly InstanceRecord[];
  readonly more: boolean;
}

/**
 * Before anything else is planned: what is stopped is missing then, and what is restarted starts. So a writer is never doubled, a canary gets
 * another instance, and the status is that of what is left, without a rule of their own.
 */
export function carryOut(
  instances: readonly InstanceRecord[],
  deployment: DeploymentRecord | undefined,
): CarriedOut {
  if (instances.length === 0) return { instances, changed: [], more: false };
  const due = instances.filter((record) => openOrder(record, deployment) !== undefined);
  const changed = due.slice(0, AT_ONCE).flatMap((record) => {
    const order = openOrder(record, deployment);
    return order === undefined ? [] : [ordered(record, order)];
  });
  const byId = new Map(changed.map((record) => [record.id, record]));
  return {
    instances: changed.length === 0 ? instances : instances.map((record) => byId.get(record.id) ?? record),
    changed,
    more: due.length > changed.length,
  };
}

function ordered(record: InstanceRecord, { kind, attempt }: InstanceOrder): InstanceRecord {
  return kind === 'stop'
    ? { ...record, wanted: 'stop' }
    : { ...record, attempt: attempt ?? record.attempt + 1 };
}

export function orderEvent(record: InstanceRecord): PlannedEvent {
  if (record.wanted === 'stop')
    return instanceEvent(record, 'stopping', 'is stopped, as was asked for', { reason: 'requested' });
  return instanceEvent(record, 'restarted', 'is restarted, as was asked for', {
    reason: 'requested',
    attempt: record.attempt,
  });
}

/** What is seen of the old container from now on is no news. */
export function withOrders(
  instances: ReadonlyMap<InstanceId, InstanceMemory>,
  changed: readonly InstanceRecord[],
): ReadonlyMap<InstanceId, InstanceMemory> {
  const next = new Map(instances);
  for (const { id, wanted } of changed) {
    const known = instances.get(id);
    if (known?.health !== undefined && wanted === 'run')
      next.set(id, { ...known, noted: 'created', health: { ...known.health, restarting: true } });
  }
  return next;
}
