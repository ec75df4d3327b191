import { volumeBody, type VolumeDraft } from '../../../core/contract/volume-body.ts';
import { readBody } from '../../../core/schema/shape.ts';
import type { Alteration, Warning } from '../../../core/model/announcement.ts';
import { nodeName } from '../../../core/model/ids.ts';
import { isKeptByNode, type VolumeRecord } from '../../../core/model/volume.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { type NewVolume, readVolume } from '../../../core/rules/volume-record.ts';
import type { VOLUMES } from '../../../core/operations/volumes.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { acceptedOf, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { reservedRejection } from './volume-replicas.ts';
import { storedVolumeView } from '../../reads/volume.ts';
import type { VolumeAdmission } from './volume-stored.ts';

/** The same answers as for a deployment that names a node. */
function nodeRejection(tenant: TenantStore, nodeId: string | undefined): Rejection | undefined {
  if (nodeId === undefined || tenant.get('nodes', idOf('nodes', nodeId)) !== undefined) return undefined;
  if (tenant.collection('nodes').size === 0) {
    return reject('node_candidates_unresolvable', {
      field: 'nodeId',
      received: received(nodeId),
      why: 'No node is registered under this tenant.',
    });
  }
  return reject('node_not_a_placement_candidate', {
    field: 'nodeId',
    received: received(nodeId),
    why: 'The node is not among the nodes that this tenant has enrolled.',
  });
}

function newRecord(
  { admission, leaseMs }: VolumeAdmission,
  caller: Caller,
  draft: VolumeDraft,
  asked: NewVolume,
): VolumeRecord {
  const now = admission.clock.now().toISOString();
  const kept = isKeptByNode(asked);
  return {
    id: admission.ids.next('volume'),
    tenantId: caller.tenant.tenantId,
    ...asked,
    phase: 'Pending',
    ...(kept && draft.nodeId !== undefined ? { primaryNodeId: nodeName(draft.nodeId) } : {}),
    copies: draft.replicas ?? 0,
    replicas: [],
    leaving: [],
    accessMode: 'ReadWriteOnce',
    ...(typeof draft.hostPath === 'string' ? { hostPath: draft.hostPath } : {}),
    epoch: 1,
    leaseMs,
    createdAt: now,
    unmountedSince: now,
  };
}

function announcements(
  tenant: TenantStore,
  draft: VolumeDraft,
  record: VolumeRecord,
): { readonly alterations: readonly Alteration[]; readonly warnings: readonly Warning[] } {
  const alterations: Alteration[] = [];
  const warnings: Warning[] = [];
  if (record.class === 'replicated' && draft.replicas === undefined) {
    alterations.push({
      field: 'replicas',
      from: '(absent)',
      to: '0',
      why: 'no copies unless they are asked for',
    });
  }
  if (draft.nodeId !== undefined && record.primaryNodeId === undefined) {
    alterations.push({
      field: 'nodeId',
      from: draft.nodeId,
      to: '(absent)',
      why: 'no node keeps bytes of such a volume',
    });
  }
  const nodes = tenant.collection('nodes').size;
  if (record.copies >= Math.max(1, nodes)) {
    warnings.push({
      code: 'volume_copies_wait',
      field: 'replicas',
      why: `${record.copies} copies need ${record.copies + 1} enrolled nodes, there are ${nodes}; the missing ones wait.`,
    });
  }
  return { alterations, warnings };
}

const accepted = acceptedOf<typeof VOLUMES.create>();

export function readVolumeShape(body: unknown): VolumeDraft | Rejection {
  return readBody(volumeBody, body);
}

export async function createVolume(
  volumes: VolumeAdmission,
  caller: Caller,
  body: unknown,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Outcome<typeof VOLUMES.create>> {
  const { admission, seen } = volumes;
  const draft = readVolumeShape(body);
  if (isRejection(draft)) return draft;
  const asked = readVolume(draft);
  if (isRejection(asked)) return asked;
  return commitAttempts(admission, caller, () => {
    const { tenant } = caller;
    const { name } = asked;
    const taken = tenant.get('volume-names', idOf('volume-names', name));
    if (taken !== undefined) {
      return reject('volume_already_exists', {
        field: 'name',
        received: received(name),
        why: `The tenant has a volume of this name: ${taken.record.volumeId}.`,
      });
    }
    const unknown =
      nodeRejection(tenant, draft.nodeId) ??
      (draft.nodeId === undefined ? undefined : reservedRejection(volumes, caller, 'nodeId', draft.nodeId));
    if (unknown) return unknown;
    const record = newRecord(volumes, caller, draft, asked);
    const announced = announcements(tenant, draft, record);
    const { revision: _unknown, ...view } = storedVolumeView(tenant, seen, { record, modRevision: 0 });
    const answer = { ...view, ...announced, removed: [] };
    const id = idOf('volumes', record.id);
    const nameId = idOf('volume-names', name);
    if (dryRun) {
      // What mounts it is written once it is Ready.
      const ready: VolumeRecord = { ...record, phase: 'Ready' };
      const named = { volumeId: record.id };
      return {
        answer: accepted(200, answer),
        would: () => tenant.transaction().put('volume-names', nameId, named).put('volumes', id, ready),
      };
    }
    const subject = { kind: 'Volume', name: record.id } as const;
    const transaction = tenant
      .transaction()
      .expect('volume-names', nameId, undefined)
      .put('volume-names', nameId, { volumeId: record.id })
      .expect('volumes', id, undefined)
      .put('volumes', id, record);
    if (record.primaryNodeId !== undefined) {
      const node = idOf('nodes', record.primaryNodeId);
      transaction.expect('nodes', node, tenant.get('nodes', node));
    }
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'volume.created',
      subject,
      message: `volume ${name}: created`,
      details: { name, class: record.class, type: record.type, sizeBytes: record.sizeBytes },
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, 'volume.created', subject);
    return { answer: accepted(201, answer), transaction };
  });
}
