import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { SessionIdentity } from './session.ts';

/**
 * Where several control planes share the store: what an agent said in one session must not be stored after what it said in a newer
 * one, with another process, however long this process was stopped in between. Undefined: there is a newer one already.
 */
export function expectSession(
  tenant: TenantStore,
  { node, epoch }: Pick<SessionIdentity, 'node' | 'epoch'>,
  transaction: Transaction,
): Transaction | undefined {
  const stored = tenant.get('node-sessions', idOf('node-sessions', node));
  // A process that is alone writes no such records, and has the only session.
  if (stored === undefined) return transaction;
  return stored.record.epoch === epoch ? transaction.expect('node-sessions', stored.id, stored) : undefined;
}
