import { consumersOf } from '../../../core/contract/volume-view.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { VOLUMES } from '../../../core/operations/volumes.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { acceptedOf, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { storedVolumeView, volumeNotFound } from '../../reads/volume.ts';
import type { VolumeAdmission } from './volume-stored.ts';

function deleting({ message: _ended, primaryNodeId, ...record }: VolumeRecord): VolumeRecord {
  const primary = primaryNodeId === undefined ? [] : [primaryNodeId];
  const holders = [...primary, ...record.replicas.map(({ nodeId }) => nodeId), ...record.leaving];
  return { ...record, phase: 'Deleting', copies: 0, replicas: [], leaving: [...new Set(holders)] };
}

/** They mount read-only and make no claim of their own. */
function canariesOf(tenant: TenantStore, volumeId: string): readonly string[] {
  return tenant
    .list('canaries')
    .filter(({ record }) => record.spec.volumes?.some((mount) => mount.volumeId === volumeId))
    .map(({ record }) => record.spec.name);
}

const accepted = acceptedOf<typeof VOLUMES.remove>();

/**
 * Nothing may mount it, and nothing may come to mount it meanwhile: both the volume and its claims are guarded. The record stays
 * until every node has removed its bytes.
 */
export async function deleteVolume(
  { admission, seen }: VolumeAdmission,
  caller: Caller,
  volumeId: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof VOLUMES.remove>> {
  return commitAttempts(admission, caller, () => {
    const { tenant } = caller;
    const id = idOf('volumes', volumeId);
    const stored = tenant.get('volumes', id);
    if (stored === undefined) return volumeNotFound(volumeId);
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const claims = tenant.get('volume-claims', id);
    const names = [
      ...consumersOf(claims?.record).map((one) => ('job' in one ? `the job ${one.job}` : one.deployment)),
      ...canariesOf(tenant, volumeId).map((name) => `the canary of ${name}`),
    ];
    if (names.length > 0) {
      return reject('volume_in_use', {
        field: 'id',
        received: received(volumeId),
        expected: `a volume without consumers; remove it from the volumes of ${names.slice(0, 20).join(', ')} first`,
        why: `${names.slice(0, 20).join(', ')} mount${names.length === 1 ? 's' : ''} it.`,
      });
    }
    const record = stored.record.phase === 'Deleting' ? stored.record : deleting(stored.record);
    const view = storedVolumeView(tenant, seen, { ...stored, record });
    const answer = accepted(200, { ...view, alterations: [], warnings: [], removed: [] });
    if (record === stored.record) return { answer };
    const subject = { kind: 'Volume', name: volumeId } as const;
    const transaction = tenant
      .transaction()
      .expect('volumes', id, stored)
      .put('volumes', id, record)
      .expect('volume-claims', id, claims)
      .delete('volume-claims', id);
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'volume.deleting',
      subject,
      message: `volume ${record.name}: being deleted${record.leaving.length === 0 ? '' : ` from ${record.leaving.join(', ')}`}`,
      details: { name: record.name, nodes: record.leaving },
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, 'volume.deleted', subject);
    return { answer, transaction };
  });
}
