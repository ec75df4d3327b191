import { snapshot } from '../../../core/contract/answers/volume.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import { type VolumeAdmission, volumeNotFound } from '../../admission/volume-stored.ts';
import { idOf } from '../../store/record-ids.ts';
import { LIST_QUERY, type Route, type RouteRequest, route } from '../route.ts';
import { pageRequest } from '../paging.ts';
import { whileEnabled } from './volumes.ts';

const PATH = '/api/v1/tenants/{tenant}/volumes/{id}/snapshots';

function missingVolume({ store, params }: RouteRequest) {
  const id = params['id'] ?? '';
  return store.get('volumes', idOf('volumes', id)) === undefined ? volumeNotFound(id) : undefined;
}

/** Snapshots are never made (spec 2.6), so that reads find none and creation is always refused. */
export function snapshotRoutes(volumes: VolumeAdmission): Route[] {
  const shared = { tag: 'Volumes', tenant: 'path' } as const;
  return [
    route({
      ...shared,
      method: 'GET',
      path: PATH,
      summary: 'List the snapshots of a volume; normally there are none',
      permission: 'read',
      query: LIST_QUERY,
      codes: ['volume_binding_unavailable', 'volume_not_found'],
      success: {
        status: 200,
        description: 'Snapshot records.',
        answer: listOf(snapshot),
      },
      handle: whileEnabled(volumes, (request) => {
        const page = pageRequest(request.query);
        return isRejection(page) ? page : (missingVolume(request) ?? { status: 200, body: [] });
      }),
    }),
    route({
      ...shared,
      method: 'POST',
      path: PATH,
      summary: 'Refused: no body can succeed',
      permission: 'volumes.manage',
      codes: ['volume_snapshot_not_implemented'],
      success: { status: 201, description: 'Never answered: every request is refused.' },
      handle: ({ params }) =>
        reject('volume_snapshot_not_implemented', {
          field: 'snapshots',
          received: received(params['id']),
          why: 'Snapshots of volumes cannot be created. Replicas protect against the loss of a node, backups and archives keep the configuration, and a scheduled job inside the workload can keep the bytes.',
        }),
    }),
    route({
      ...shared,
      method: 'GET',
      path: `${PATH}/{snap}`,
      summary: 'Read a snapshot record',
      permission: 'read',
      codes: ['volume_binding_unavailable', 'volume_not_found', 'volume_snapshot_not_found'],
      success: { status: 200, description: 'The snapshot.', answer: snapshot },
      handle: whileEnabled(
        volumes,
        (request) =>
          missingVolume(request) ??
          reject('volume_snapshot_not_found', {
            field: `snapshots/${request.params['snap'] ?? ''}`.slice(0, 128),
            received: received(request.params['snap']),
            why: 'The volume has no such snapshot record.',
          }),
      ),
    }),
  ];
}
