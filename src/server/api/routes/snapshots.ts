import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { VOLUMES } from '../../../core/operations/volumes.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { VolumeAdmission } from '../../writes/volumes/volume-stored.ts';
import { volumeNotFound } from '../../reads/volume.ts';
import { idOf } from '../../store/record-ids.ts';
import { type RequestFor, type Route, serve } from '../route.ts';
import { pageRequest } from '../paging.ts';
import { whileEnabled } from './volumes.ts';

const NONE = exactly<AnswerOf<typeof VOLUMES.listSnapshots>>()([]);

function missingVolume({ store, params }: RequestFor<typeof VOLUMES.listSnapshots>) {
  const id = params.id;
  return store.get('volumes', idOf('volumes', id)) === undefined ? volumeNotFound(id) : undefined;
}

/** Snapshots are never made, so that reads find none and creation is always refused. */
export function snapshotRoutes(volumes: VolumeAdmission): Route[] {
  return [
    serve(
      VOLUMES.listSnapshots,
      whileEnabled(volumes, (request) => {
        const page = pageRequest(request.query);
        return isRejection(page) ? page : (missingVolume(request) ?? { status: 200, body: NONE });
      }),
    ),
    serve(VOLUMES.createSnapshot, ({ params }) =>
      reject('volume_snapshot_not_implemented', {
        field: 'snapshots',
        received: received(params.id),
        why: 'Snapshots of volumes cannot be created. Replicas protect against the loss of a node, backups and archives keep the configuration, and a scheduled job saves the bytes elsewhere: berth volume backup-job, docs/guide/volume-backups.md.',
      }),
    ),
    serve(
      VOLUMES.readSnapshot,
      whileEnabled(
        volumes,
        (request) =>
          missingVolume(request) ??
          reject('volume_snapshot_not_found', {
            field: `snapshots/${request.params.snap}`.slice(0, 128),
            received: received(request.params.snap),
            why: 'The volume has no such snapshot record.',
          }),
      ),
    ),
  ];
}
