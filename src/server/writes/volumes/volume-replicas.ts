import { type NodeName, nodeName } from '../../../core/model/ids.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { describeResidency, satisfiesResidency } from '../../../core/scheduler/residency.ts';
import type { VOLUMES } from '../../../core/operations/volumes.ts';
import { bindingsOf } from '../../placement/volume-claims.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Transaction } from '../../store/transaction.ts';
import { acceptedOf, type Attempt, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { storedVolumeView, volumeNotFound } from '../../reads/volume.ts';
import type { VolumeAdmission } from './volume-stored.ts';

/** A change of what is wanted of a volume, with its event and audit line, guarded by what was read. */
export function volumeChange(
  { admission }: VolumeAdmission,
  caller: Caller,
  stored: Stored<VolumeRecord>,
  record: VolumeRecord,
  event: {
    readonly kind: string;
    readonly message: string;
    readonly details: Readonly<Record<string, unknown>>;
  },
): Transaction {
  const { tenant } = caller;
  const subject = { kind: 'Volume', name: record.id } as const;
  const transaction = tenant
    .transaction()
    .expect('volumes', stored.id, stored)
    .put('volumes', stored.id, record);
  admission.journal.event(transaction, tenant.tenantId, {
    kind: event.kind,
    subject,
    message: `volume ${record.name}: ${event.message}`,
    details: { name: record.name, ...event.details },
  });
  admission.journal.audit(transaction, tenant.tenantId, caller, event.kind, subject);
  return transaction;
}

/** The machine of a control plane keeps nothing of a tenant but the platform. */
export function reservedRejection(
  { admission }: VolumeAdmission,
  { tenant }: Caller,
  field: 'nodeId' | 'node_id',
  node: string,
): Rejection | undefined {
  if (!admission.clusters.isReserved(tenant.tenantId, nodeName(node))) return undefined;
  return reject('node_not_a_placement_candidate', {
    field,
    received: received(node),
    expected: 'a node that runs no control plane',
    why: 'The node runs a control plane, which keeps and runs what is of the platform tenant only.',
  });
}

function residencyRejection(
  { admission }: VolumeAdmission,
  { tenant }: Caller,
  volumeId: string,
  nodeId: string,
): Rejection | undefined {
  const labels = tenant.get('nodes', idOf('nodes', nodeId))?.record.labels ?? {};
  const { regions, unstated } = admission.residency;
  const unmet = bindingsOf(tenant, volumeId).find(
    ({ active, residency }) => active && !satisfiesResidency(labels, residency, regions, unstated),
  );
  if (unmet === undefined) return undefined;
  return reject('node_not_a_placement_candidate', {
    field: 'node_id',
    received: received(nodeId),
    expected: `a node that satisfies ${describeResidency(unmet.residency)}`,
    why: `${unmet.owner} mounts the volume, and its residency binds copies too.`,
  });
}

export function notReplicated({ id, class: kind }: VolumeRecord): Rejection | undefined {
  if (kind === 'replicated') return undefined;
  return reject('volume_not_replicated', {
    field: 'id',
    received: received(id),
    why: `The volume is of the class ${kind}; only replicated volumes have copies.`,
  });
}

/** A node of the tenant, by the `node_id` of a body. */
export function enrolledNode(caller: Caller, nodeId: string | undefined): NodeName | Rejection {
  const name =
    nodeId === undefined ? undefined : caller.tenant.get('nodes', idOf('nodes', nodeId))?.record.name;
  if (name === undefined) {
    const none = caller.tenant.collection('nodes').size === 0;
    return reject(none ? 'node_candidates_unresolvable' : 'node_not_a_placement_candidate', {
      field: 'node_id',
      received: received(nodeId),
      expected: 'a node that this tenant has enrolled',
      why: none ? 'No node is registered under this tenant.' : 'The tenant has not enrolled this node.',
    });
  }
  return name;
}

/** The node that can take a copy. */
function replicaNode(caller: Caller, record: VolumeRecord, nodeId: string | undefined): NodeName | Rejection {
  const { id, phase, primaryNodeId, replicas, leaving } = record;
  const name = notReplicated(record) ?? enrolledNode(caller, nodeId);
  if (isRejection(name)) return name;
  if (phase === 'Deleting') {
    return reject('volume_not_ready', {
      field: 'id',
      received: received(id),
      why: 'The volume is being deleted.',
    });
  }
  const held = primaryNodeId === name ? 'the primary' : holds(replicas, name) ? 'a copy' : undefined;
  if (held === undefined && !leaving.includes(name)) return name;
  return reject('volume_replica_conflict', {
    field: 'node_id',
    received: received(nodeId),
    why: held === undefined ? `${name} is still removing an earlier copy.` : `${name} holds ${held} already.`,
  });
}

/** Against the wanted number: not a former primary, nor one that could not take over. */
function isCounted({ formerEpoch, misplaced }: VolumeRecord['replicas'][number]): boolean {
  return formerEpoch === undefined && misplaced === undefined;
}

function holds(replicas: VolumeRecord['replicas'], nodeId: string): boolean {
  return replicas.some((copy) => copy.nodeId === nodeId);
}

const added = acceptedOf<typeof VOLUMES.addReplica>();
const dropped = acceptedOf<typeof VOLUMES.removeReplica>();

export async function addReplica(
  volumes: VolumeAdmission,
  caller: Caller,
  volumeId: string,
  nodeId: string | undefined,
): Promise<Outcome<typeof VOLUMES.addReplica>> {
  return commitAttempts(volumes.admission, caller, (): Attempt<typeof VOLUMES.addReplica> => {
    const { tenant } = caller;
    const stored = tenant.get('volumes', idOf('volumes', volumeId));
    if (stored === undefined) return volumeNotFound(volumeId);
    const node = replicaNode(caller, stored.record, nodeId);
    if (isRejection(node)) return node;
    const elsewhere =
      reservedRejection(volumes, caller, 'node_id', node) ??
      residencyRejection(volumes, caller, volumeId, node);
    if (elsewhere) return elsewhere;
    const { replicas, copies } = stored.record;
    const record: VolumeRecord = {
      ...stored.record,
      replicas: [...replicas, { nodeId: node, state: 'syncing' }],
      copies: Math.max(copies, replicas.filter(isCounted).length + 1),
    };
    const transaction = volumeChange(volumes, caller, stored, record, {
      kind: 'volume.replicas_set',
      message: `a copy is wanted on ${node}`,
      details: { nodeId: node, replicas: record.copies },
    }).expect('nodes', idOf('nodes', node), tenant.get('nodes', idOf('nodes', node)));
    const { revision: _before, ...view } = storedVolumeView(tenant, volumes.seen, { ...stored, record });
    return {
      answer: added(201, { ...view, alterations: [], warnings: [], removed: [] }),
      transaction,
    };
  });
}

/** The wish of a person, so the bytes of a former primary go too. */
export async function removeReplica(
  volumes: VolumeAdmission,
  caller: Caller,
  volumeId: string,
  nodeId: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof VOLUMES.removeReplica>> {
  return commitAttempts(volumes.admission, caller, (): Attempt<typeof VOLUMES.removeReplica> => {
    const { tenant } = caller;
    const stored = tenant.get('volumes', idOf('volumes', volumeId));
    if (stored === undefined) return volumeNotFound(volumeId);
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const copy = stored.record.replicas.find((one) => one.nodeId === nodeId);
    if (copy === undefined) {
      return reject('node_not_found', {
        field: 'node',
        received: received(nodeId),
        expected: 'a node that holds a copy of the volume',
        why: 'No copy of the volume is on this node.',
      });
    }
    const { replicas, leaving, copies } = stored.record;
    const record: VolumeRecord = {
      ...stored.record,
      replicas: replicas.filter((one) => one !== copy),
      leaving: [...leaving, copy.nodeId],
      copies: copy.misplaced === undefined ? Math.max(0, copies - 1) : copies,
    };
    const transaction = volumeChange(volumes, caller, stored, record, {
      kind: 'volume.replicas_set',
      message: `the copy on ${nodeId} is not wanted any more`,
      details: { nodeId, replicas: record.copies },
    });
    const { revision: _before, ...view } = storedVolumeView(tenant, volumes.seen, { ...stored, record });
    const removed = [`replicas[${nodeId}]`];
    return {
      answer: dropped(200, { ...view, alterations: [], warnings: [], removed }),
      transaction,
    };
  });
}
