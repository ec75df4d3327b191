import type { RolloutRecord, StoredStatus } from '../../core/model/rollout.ts';
import type { Stored } from './collection.ts';
import type { TenantStore } from './store.ts';
import type { Transaction } from './transaction.ts';

/**
 * How far a deployment has come: a row of its own, or the first one as part of the status, which is stored with the deployment. Whoever changes that one
 * stores the row.
 */
export function rolloutOf(tenant: TenantStore, id: string): Stored<RolloutRecord> | undefined {
  const stored = tenant.get('rollouts', id);
  if (stored !== undefined) return stored;
  const record = tenant.get('deployment-status', id)?.record.rollout;
  return record && { id, record, modRevision: 0, createRevision: 0 };
}

export function isPartOfStatus({ modRevision }: Stored<RolloutRecord>): boolean {
  return modRevision === 0;
}

/** Of two who change it only one can. What is part of the status is no row yet, and what nobody has planned has no status. */
export function expectRollout(
  transaction: Transaction,
  id: string,
  {
    rollout,
    status,
  }: {
    readonly rollout: Stored<RolloutRecord> | undefined;
    readonly status: Stored<StoredStatus> | undefined;
  },
): void {
  transaction.expect('rollouts', id, rollout);
  if (rollout === undefined) transaction.expect('deployment-status', id, status);
}
