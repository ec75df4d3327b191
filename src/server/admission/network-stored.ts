import type { network } from '../../core/contract/answers/volume.ts';
import { type Answer, exactly, type Exactly } from '../../core/contract/shape.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { NetworkRecord } from '../../core/model/network.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Stored } from '../store/collection.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Admission } from './admission.ts';

export interface NetworkAdmission {
  readonly admission: Admission;
  /** Names of the containers on a network, as the agent of its node sees them now; a rejection when it cannot be asked. */
  readonly attached: (
    tenantId: TenantId,
    node: string,
    network: string,
  ) => Promise<readonly string[] | Rejection>;
}

export function findNetwork(tenant: TenantStore, name: string): Stored<NetworkRecord> | undefined {
  return tenant.get('networks', idOf('networks', name));
}

export function networksOn(tenant: TenantStore, node: string): readonly Stored<NetworkRecord>[] {
  return tenant.list('networks').filter(({ record }) => record.nodeId === node);
}

export function networkNotFound(name: string): Rejection {
  return reject('network_not_found', {
    field: 'name',
    received: received(name),
    why: 'The tenant has no network of this name.',
  });
}

/** `Pending` until the agent has spoken of it: the network is stored, and made when its node is connected. */
function networkStatus(
  tenant: TenantStore,
  { name, nodeId }: NetworkRecord,
): { readonly phase: 'Pending' | 'Ready' | 'Failed'; readonly message: string } {
  if (tenant.get('nodes', idOf('nodes', nodeId)) === undefined)
    return { phase: 'Failed', message: `its node ${nodeId} is gone; delete the network` };
  const seen = tenant.get('network-observations', idOf('network-observations', name))?.record;
  if (seen === undefined) return { phase: 'Pending', message: `the agent of ${nodeId} has not made it yet` };
  return seen.state === 'ready'
    ? { phase: 'Ready', message: `made on ${nodeId}` }
    : { phase: 'Failed', message: seen.message ?? `it could not be made on ${nodeId}` };
}

type Network = Answer<typeof network>;
const asNetwork = exactly<Network>();

export function networkView(tenant: TenantStore, record: NetworkRecord): Exactly<Network> {
  return asNetwork({ ...record, status: networkStatus(tenant, record) });
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
