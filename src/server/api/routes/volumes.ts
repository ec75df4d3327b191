import { volumeRules } from '../../../core/rules/volume-record.ts';
import { documentRejections } from '../../writes/found-rejections.ts';
import type { Operation } from '../../../core/operations/operation.ts';
import { VOLUMES } from '../../../core/operations/volumes.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { createVolume, readVolumeShape } from '../../writes/volumes/create-volume.ts';
import { deleteVolume } from '../../writes/volumes/delete-volume.ts';
import { parseIfMatch } from '../../writes/if-match.ts';
import { promoteVolume } from '../../writes/volumes/promote-volume.ts';
import { addReplica, removeReplica } from '../../writes/volumes/volume-replicas.ts';
import { storedVolumeView, volumeNotFound } from '../../reads/volume.ts';
import { type VolumeAdmission, volumesUnavailable } from '../../writes/volumes/volume-stored.ts';
import { idOf } from '../../store/record-ids.ts';
import { booleanParameter, pageReply, pageRequest } from '../paging.ts';
import { type Handler, type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { fullReply, guardedReply, writeReply } from '../write-reply.ts';

/** Off: every route of volumes says so, whatever it is asked. */
export function whileEnabled<O extends Operation>(
  { admission }: VolumeAdmission,
  handle: Handler<O>,
): Handler<O> {
  return (request) => volumesUnavailable(admission) ?? handle(request);
}

function list(
  { seen }: VolumeAdmission,
  { store, query }: RequestFor<typeof VOLUMES.list>,
): ReplyTo<typeof VOLUMES.list> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const names = store.list('volume-names', { ...page, limit: page.limit + 1 });
  return pageReply(
    page,
    VOLUMES.list.path,
    query,
    names.flatMap((name) => {
      const stored = store.get('volumes', idOf('volumes', name.record.volumeId));
      return stored === undefined ? [] : [{ name, stored }];
    }),
    ({ name }) => name.id,
    ({ stored }) => storedVolumeView(store, seen, stored),
  );
}

function read(
  { seen }: VolumeAdmission,
  { store, params }: RequestFor<typeof VOLUMES.read>,
): ReplyTo<typeof VOLUMES.read> {
  const id = params.id;
  const stored = store.get('volumes', idOf('volumes', id));
  if (stored === undefined) return volumeNotFound(id);
  return {
    status: 200,
    body: storedVolumeView(store, seen, stored),
    headers: { etag: `"${stored.modRevision}"` },
  };
}

async function create(
  volumes: VolumeAdmission,
  request: RequestFor<typeof VOLUMES.create>,
): Promise<ReplyTo<typeof VOLUMES.create>> {
  const { caller, query, body } = request;
  const dryRun = booleanParameter(query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  return fullReply(
    request,
    () => createVolume(volumes, caller, body, { dryRun }),
    (first) => documentRejections(first, body, readVolumeShape, volumeRules),
  );
}

async function remove(
  volumes: VolumeAdmission,
  { caller, params, headers }: RequestFor<typeof VOLUMES.remove>,
): Promise<ReplyTo<typeof VOLUMES.remove>> {
  const ifMatch = parseIfMatch(headers['if-match']);
  if (isRejection(ifMatch)) return ifMatch;
  return writeReply(await deleteVolume(volumes, caller, params.id, ifMatch));
}

function recordRoutes(volumes: VolumeAdmission): Route[] {
  return [
    serve(
      VOLUMES.list,
      whileEnabled(volumes, (request) => list(volumes, request)),
    ),
    serve(
      VOLUMES.create,
      whileEnabled(volumes, (request) => create(volumes, request)),
    ),
    serve(
      VOLUMES.read,
      whileEnabled(volumes, (request) => read(volumes, request)),
    ),
    serve(
      VOLUMES.remove,
      whileEnabled(volumes, (request) => remove(volumes, request)),
    ),
  ];
}

function replicaRoutes(volumes: VolumeAdmission): Route[] {
  return [
    serve(
      VOLUMES.promote,
      whileEnabled(volumes, async ({ caller, params, body }) =>
        writeReply(await promoteVolume(volumes, caller, params.id, body.node_id)),
      ),
    ),
    serve(
      VOLUMES.addReplica,
      whileEnabled(volumes, async ({ caller, params, body }) =>
        writeReply(await addReplica(volumes, caller, params.id, body.node_id)),
      ),
    ),
    serve(
      VOLUMES.removeReplica,
      whileEnabled(volumes, (request) =>
        guardedReply(request, (ifMatch) =>
          removeReplica(volumes, request.caller, request.params.id, request.params.node, ifMatch),
        ),
      ),
    ),
  ];
}

export function volumeRoutes(volumes: VolumeAdmission): Route[] {
  return [...recordRoutes(volumes), ...replicaRoutes(volumes)];
}
