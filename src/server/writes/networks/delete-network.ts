import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { NetworkRecord } from '../../../core/model/network.ts';
import type { NETWORKS } from '../../../core/operations/networks.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { acceptedOf, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { findNetwork, networkNotFound, networkView } from '../../reads/network.ts';
import { type NetworkAdmission, removeNetwork } from './network-stored.ts';

const MAX_NAMED = 10;

/** Asked of the agent now. A node that was deleted holds nothing that could be asked about. */
async function inUse(
  { attached }: NetworkAdmission,
  { tenant }: Caller,
  { name, nodeId }: NetworkRecord,
): Promise<Rejection | undefined> {
  const named = namingWorkloads(tenant, name);
  if (named.length > 0) return used(name, `Named by ${listed(named)}.`);
  if (tenant.get('nodes', idOf('nodes', nodeId)) === undefined) return undefined;
  const containers = await attached(tenant.tenantId, nodeId, name);
  if (isRejection(containers)) return containers;
  if (containers.length === 0) return undefined;
  return used(name, `Attached on ${nodeId}: ${listed(containers)}.`);
}

function used(name: string, why: string): Rejection {
  return reject('network_in_use', { field: 'name', received: received(name), why });
}

function listed(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return `${names.slice(0, MAX_NAMED).join(', ')}${more}`;
}

/** Stopped ones too: they could not be started again. */
function namingWorkloads(tenant: TenantStore, network: string): readonly string[] {
  const names = ({ networks = [] }: { readonly networks?: readonly string[] }): boolean =>
    networks.includes(network);
  return [
    ...tenant
      .list('deployments')
      .flatMap(({ record: { spec } }) => (names(spec) ? [`deployment ${spec.name}`] : [])),
    ...tenant
      .list('canaries')
      .flatMap(({ record: { spec } }) => (names(spec) ? [`the canary of ${spec.name}`] : [])),
    ...tenant.list('jobs').flatMap(({ record: { spec } }) => (names(spec) ? [`job ${spec.name}`] : [])),
  ];
}

const accepted = acceptedOf<typeof NETWORKS.remove>();

/** The record goes; its agent removes the network, and keeps it as long as the engine says that something is attached. */
export async function deleteNetwork(
  networks: NetworkAdmission,
  caller: Caller,
  name: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof NETWORKS.remove>> {
  const { admission } = networks;
  const { tenant } = caller;
  return commitAttempts(admission, caller, async () => {
    const stored = findNetwork(tenant, name);
    if (stored === undefined) return networkNotFound(name);
    const refused =
      revisionRejection(ifMatch, stored.modRevision) ?? (await inUse(networks, caller, stored.record));
    if (refused) return refused;
    const transaction = tenant.transaction().expect('networks', stored.id, stored);
    removeNetwork(admission, tenant, stored, transaction);
    admission.journal.audit(transaction, tenant.tenantId, caller, 'network.deleted', {
      kind: 'Network',
      name,
    });
    const body = { ...networkView(tenant, stored.record), alterations: [], warnings: [], removed: [] };
    return { answer: accepted(200, body), transaction };
  });
}
