import type { network } from '../../core/contract/answers/volume.ts';
import { type Answer, type Exactly, exactly } from '../../core/schema/shape.ts';
import type { NetworkRecord } from '../../core/model/network.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Stored } from '../store/collection.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

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
