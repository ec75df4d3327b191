import type { TenantId } from '../../../core/model/ids.ts';
import type { NetworkRecord } from '../../../core/model/network.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Stored } from '../../store/collection.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { Admission } from '../admission.ts';

export interface NetworkAdmission {
  readonly admission: Admission;
  /** Names of the containers on a network, as the agent of its node sees them now; a rejection when it cannot be asked. */
  readonly attached: (
    tenantId: TenantId,
    node: string,
    network: string,
  ) => Promise<readonly string[] | Rejection>;
}

export function removeNetwork(
  { journal }: Admission,
  tenant: TenantStore,
  { id, record: { name, nodeId } }: Stored<NetworkRecord>,
  transaction: Transaction,
): void {
  transaction.delete('networks', id).delete('network-observations', id);
  journal.event(transaction, tenant.tenantId, {
    kind: 'network.deleted',
    subject: { kind: 'Network', name },
    message: `${name} deleted from ${nodeId}`,
    details: { nodeId },
  });
}
