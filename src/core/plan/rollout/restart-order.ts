import type { DeploymentRecord, RestartOrder } from '../../model/deployment.ts';
import type { InstanceId } from '../../model/ids.ts';
import type { InstanceRecord } from '../../model/instance.ts';

/**
 * One more restart, of all instances or of one. Counted and by name, not by time: who asks and who creates instances may be two
 * machines, and no clock of one is compared with that of another.
 */
export function nextRestart(
  before: RestartOrder | undefined,
  at: string,
  instance: InstanceId | undefined,
  isThere: (id: InstanceId) => boolean,
): RestartOrder {
  const { count = 0, instances = [] } = before ?? {};
  if (instance === undefined) return { at, count: count + 1 };
  const others = instances.filter((id) => id !== instance && isThere(id));
  return { at, count, instances: [...others, instance] };
}

/** Somebody asked that it be replaced by another one of the same spec. */
export function isRestarted(
  record: Pick<InstanceRecord, 'id' | 'restart'>,
  deployment: Pick<DeploymentRecord, 'restart'> | undefined,
): boolean {
  const { count = 0, instances = [] } = deployment?.restart ?? {};
  return (record.restart ?? 0) < count || instances.includes(record.id);
}
