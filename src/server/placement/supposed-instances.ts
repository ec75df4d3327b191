import { instanceId } from '../../core/model/ids.ts';
import type { SpecSnapshot } from '../../core/model/spec-snapshot.ts';
import type { InstanceAction } from '../../core/plan/rollout/instance-actions.ts';
import { idOf } from '../store/record-ids.ts';
import type { Transaction } from '../store/transaction.ts';

/**
 * Of a change that is only planned: where its instances would be once it is carried out, so that what is planned after it finds the
 * room that is left.
 */
export function supposeInstances(
  transaction: Transaction,
  spec: SpecSnapshot,
  specHash: string,
  actions: readonly InstanceAction[],
): void {
  const { name: deployment, secretsVersion } = spec;
  transaction.put('specs', idOf('specs', deployment, specHash), spec);
  for (const [at, { action, instance, to }] of actions.entries()) {
    // One without a place for its successor stays until there is one.
    const goes = action === 'stop' || (action === 'replace' && to !== undefined);
    if (goes && instance !== undefined)
      transaction.delete('instances', idOf('instances', deployment, instance));
    if (to === undefined) continue;
    const id = instanceId(`supposed-${deployment}-${at}`);
    transaction.put('instances', idOf('instances', deployment, id), {
      id,
      tenantId: transaction.tenantId,
      deployment,
      specHash,
      secretsVersion,
      nodeId: to,
      wanted: 'run',
      createdAt: '',
      attempt: 0,
    });
  }
}
