import type { volume } from '../../core/contract/answers/volume.ts';
import { type Answer, type Exactly, exactly } from '../../core/schema/shape.ts';
import type { SeenVolume } from '../../core/contract/volume-seen.ts';
import { volumeView } from '../../core/contract/volume-view.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { VolumeRecord } from '../../core/model/volume.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Stored } from '../store/collection.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

/** The newest observation of a volume by a node: sessions of this process know more than is stored. */
export type SeenBy = (tenantId: TenantId, volumeId: string, node: string) => SeenVolume | undefined;

export function volumeNotFound(id: string, field = 'id'): Rejection {
  return reject('volume_not_found', {
    field,
    received: received(id),
    why: 'The tenant has no volume of this id.',
  });
}

export function primarySeen(seen: SeenBy, record: VolumeRecord): SeenVolume | undefined {
  const { id, tenantId, primaryNodeId, epoch } = record;
  const said = primaryNodeId === undefined ? undefined : seen(tenantId, id, primaryNodeId);
  return said?.role === 'primary' && said.epoch === epoch ? said : undefined;
}

type Volume = Answer<typeof volume>;

const asVolume = exactly<Volume>();

export function storedVolumeView(
  tenant: TenantStore,
  seen: SeenBy,
  { record, modRevision }: Pick<Stored<VolumeRecord>, 'record' | 'modRevision'>,
): Exactly<Volume> {
  const claims = tenant.get('volume-claims', idOf('volume-claims', record.id))?.record;
  return asVolume({ ...volumeView(record, claims, primarySeen(seen, record)), revision: modRevision });
}

/** For what names a volume by its name. */
export function volumeIdIn(tenant: TenantStore): (name: string) => string | undefined {
  return (name) => tenant.get('volume-names', idOf('volume-names', name))?.record.volumeId;
}
