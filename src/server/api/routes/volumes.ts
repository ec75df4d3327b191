import { volume, volumeWritten } from '../../../core/contract/answers/volume.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import { replicaBody, volumeBody, type VolumeDraft } from '../../../core/contract/volume-body.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { createVolume } from '../../admission/create-volume.ts';
import { deleteVolume } from '../../admission/delete-volume.ts';
import { parseIfMatch } from '../../admission/if-match.ts';
import { addReplica, removeReplica } from '../../admission/volume-replicas.ts';
import {
  storedVolumeView,
  type VolumeAdmission,
  volumeNotFound,
  volumesUnavailable,
} from '../../admission/volume-stored.ts';
import { idOf } from '../../store/record-ids.ts';
import { booleanParameter, pageReply, pageRequest } from '../paging.ts';
import { LIST_QUERY, type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { guardedReply, writeReply } from '../write-reply.ts';

const PATH = '/api/v1/dvm/volumes';

/** Off: every route of volumes says so, whatever it is asked (decisions §7). */
export function whileEnabled(
  { admission }: VolumeAdmission,
  handle: (request: RouteRequest) => Promise<Reply> | Reply,
): Route['handle'] {
  return (request) => volumesUnavailable(admission) ?? handle(request);
}

function list({ seen }: VolumeAdmission, { store, query }: RouteRequest): Reply {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const names = store.list('volume-names', { ...page, limit: page.limit + 1 });
  return pageReply(
    page,
    PATH,
    query,
    names.flatMap((name) => {
      const stored = store.get('volumes', idOf('volumes', name.record.volumeId));
      return stored === undefined ? [] : [{ name, stored }];
    }),
    ({ name }) => name.id,
    ({ stored }) => storedVolumeView(store, seen, stored),
  );
}

function read({ seen }: VolumeAdmission, { store, params }: RouteRequest): Reply {
  const id = params['id'] ?? '';
  const stored = store.get('volumes', idOf('volumes', id));
  if (stored === undefined) return volumeNotFound(id);
  return {
    status: 200,
    body: storedVolumeView(store, seen, stored),
    headers: { etag: `"${stored.modRevision}"` },
  };
}

async function create(volumes: VolumeAdmission, { caller, query, body }: RouteRequest): Promise<Reply> {
  const dryRun = booleanParameter(query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  return writeReply(await createVolume(volumes, caller, body as VolumeDraft, { dryRun }));
}

async function remove(volumes: VolumeAdmission, { caller, params, headers }: RouteRequest): Promise<Reply> {
  const ifMatch = parseIfMatch(headers['if-match']);
  if (isRejection(ifMatch)) return ifMatch;
  return writeReply(await deleteVolume(volumes, caller, params['id'] ?? '', ifMatch));
}

function recordRoutes(volumes: VolumeAdmission): Route[] {
  const shared = { tag: 'Volumes', tenant: 'credential' } as const;
  return [
    route({
      ...shared,
      method: 'GET',
      path: PATH,
      summary: 'List the volumes of the tenant, by name',
      permission: 'read',
      query: LIST_QUERY,
      codes: ['volume_binding_unavailable'],
      success: {
        status: 200,
        description: 'Volumes; the next page is in the Link header.',
        answer: listOf(volume),
      },
      handle: whileEnabled(volumes, (request) => list(volumes, request)),
    }),
    route({
      ...shared,
      method: 'POST',
      path: PATH,
      summary: 'Create a volume',
      permission: 'volumes.manage',
      query: {
        dryRun: {
          description: 'Run every rule, but store nothing.',
          schema: { type: 'boolean', default: false },
        },
      },
      body: { shape: volumeBody, yaml: true },
      codes: [
        'volume_binding_unavailable',
        'volume_name_invalid',
        'volume_class_unknown',
        'volume_type_unknown',
        'volume_size_invalid',
        'volume_not_replicated',
        'volume_host_path_invalid',
        'volume_already_exists',
        'node_candidates_unresolvable',
        'node_not_a_placement_candidate',
      ],
      success: {
        status: 201,
        description: 'The volume; it can be mounted once it is Ready.',
        answer: volumeWritten,
      },
      handle: whileEnabled(volumes, (request) => create(volumes, request)),
    }),
    route({
      ...shared,
      method: 'GET',
      path: `${PATH}/{id}`,
      summary: 'Read one volume',
      permission: 'read',
      codes: ['volume_binding_unavailable', 'volume_not_found'],
      success: { status: 200, description: 'The volume.', answer: volume },
      handle: whileEnabled(volumes, (request) => read(volumes, request)),
    }),
    route({
      ...shared,
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'Delete a volume that nothing mounts, with its bytes on every node',
      permission: 'volumes.manage',
      codes: ['volume_binding_unavailable', 'volume_not_found', 'volume_in_use', 'revision_mismatch'],
      success: {
        status: 200,
        description: 'Deleting; the record goes when every node has removed its bytes.',
        answer: volumeWritten,
      },
      handle: whileEnabled(volumes, (request) => remove(volumes, request)),
    }),
  ];
}

function replicaRoutes(volumes: VolumeAdmission): Route[] {
  const shared = { tag: 'Volumes', tenant: 'path', permission: 'volumes.manage' } as const;
  const base = '/api/v1/tenants/{tenant}/volumes/{id}/replicas';
  return [
    route({
      ...shared,
      method: 'POST',
      path: base,
      summary: 'Add a live copy of a replicated volume on another node',
      body: { shape: replicaBody },
      codes: [
        'volume_binding_unavailable',
        'volume_not_found',
        'volume_not_replicated',
        'volume_not_ready',
        'volume_replica_conflict',
        'node_candidates_unresolvable',
        'node_not_a_placement_candidate',
      ],
      success: {
        status: 201,
        description: 'The volume; the copy is live when it has caught up.',
        answer: volumeWritten,
      },
      handle: whileEnabled(volumes, async ({ caller, params, body }) =>
        writeReply(
          await addReplica(volumes, caller, params['id'] ?? '', (body as Draft<typeof replicaBody>).node_id),
        ),
      ),
    }),
    route({
      ...shared,
      method: 'DELETE',
      path: `${base}/{node}`,
      summary: 'Remove a copy, with its bytes, and want one fewer',
      codes: [
        'volume_binding_unavailable',
        'volume_not_found',
        'node_not_found',
        'revision_mismatch',
        'header_invalid',
      ],
      success: { status: 200, description: 'The volume without the copy.', answer: volumeWritten },
      handle: whileEnabled(volumes, (request) =>
        guardedReply(request, (ifMatch) =>
          removeReplica(
            volumes,
            request.caller,
            request.params['id'] ?? '',
            request.params['node'] ?? '',
            ifMatch,
          ),
        ),
      ),
    }),
  ];
}

export function volumeRoutes(volumes: VolumeAdmission): Route[] {
  return [...recordRoutes(volumes), ...replicaRoutes(volumes)];
}
