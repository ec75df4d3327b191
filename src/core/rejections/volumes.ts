import { entries } from './entry.ts';

/** Volumes, snapshots, recommendations. */
export const volumeCodes = entries({
  volume_access_mode_conflict: {
    status: 409,
    field: 'computed',
    title: 'The volume would get a second read-write consumer.',
    cause:
      'Replicated and ephemeral volumes are ReadWriteOnce: exactly one writer. Two writers on one file system corrupt it. Either another deployment already mounts the volume read-write, or this one asks for a read-write mount with more than one replica, in which case each instance would be a writer.',
    accepted:
      'readOnly true; or replicas of at most 1 and no other read-write consumer (detach the other one first)',
    failing:
      '{ "replicas": 2, "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/data", "readOnly": false } ] }',
    corrected:
      '{ "replicas": 2, "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/data", "readOnly": true } ] }',
    origin: '7.5',
  },
  volume_binding_unavailable: {
    status: 503,
    field: 'volumes',
    title: 'Distributed volumes are switched off on this control plane.',
    cause:
      'The operator has set `dvm.enabled` to false, so nothing would provide the mount and the container would write into a layer that is lost with it. The volume routes answer the same way.',
    accepted: 'no volumes entry, or a control plane with dvm.enabled true',
    failing: '{ "name": "pg", "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/data" } ] }',
    corrected: '{ "name": "pg", "volumes": [] }',
    origin: '7.5',
  },
  volume_class_not_wired: {
    status: 422,
    field: 'computed',
    title: 'Volumes of this class cannot be mounted by a deployment yet.',
    cause:
      'The classes `ephemeral` and `replicated` can be bound to a container. A volume of class `object` can be recorded, but no agent can present it as a directory; storing the mount would leave the deployment without its data.',
    accepted: 'a volume of class ephemeral or replicated',
    failing: '{ "volumes": [ { "volumeId": "vol_01jdobject", "mountPath": "/assets" } ] }',
    corrected: '{ "volumes": [ { "volumeId": "vol_01jdreplicated", "mountPath": "/assets" } ] }',
    origin: '7.5',
  },
  volume_mount_shape: {
    status: 422,
    field: 'volumes[<i>].<field>',
    title: 'A volume mount is malformed.',
    cause:
      'A mount is an object with the typed id of the volume, the path inside the container and, optionally, `readOnly`. The usual reasons are a missing or mistyped field, the name of the volume in place of its id, a relative path, a path with a `..` element or a slash at its end, `/` and the file systems of the kernel (`/proc`, `/sys` and what is below them, `/dev`), an unknown field, and the same volume or `mountPath` twice in one deployment.',
    accepted:
      '{ "volumeId": "vol_…", "mountPath": "/absolute/path", "readOnly": true | false }, with each volume and each mountPath once',
    failing: '{ "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "data" } ] }',
    corrected:
      '{ "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/data", "readOnly": false } ] }',
    origin: '7.5',
  },
  volume_not_found: {
    status: 404,
    field: 'computed',
    title: 'The reference does not resolve to a volume of this tenant.',
    cause:
      'The volume does not exist, was deleted, or belongs to another tenant; the three cases are answered alike. Ids are listed by `GET /api/v1/dvm/volumes`.',
    accepted: 'the id (vol_…) of a volume owned by the tenant',
    failing: '{ "volumes": [ { "volumeId": "vol_01jdmistyped", "mountPath": "/data" } ] }',
    corrected: '{ "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/data" } ] }',
    origin: '7.5',
  },
  volume_not_ready: {
    status: 409,
    field: 'computed',
    title: 'The volume is not in the phase Ready.',
    cause:
      'A mount is admitted only while the volume is `Ready`. In `Pending` and `Materializing` its bytes are not yet in place; in `Degraded` it has lost its primary and has no live copy to promote; in `Deleting` it is going away. A container started against it would see an empty or stale directory.',
    accepted:
      'a volume whose phase is Ready; read it with GET /api/v1/dvm/volumes/{id} and send the request again',
    failing:
      'POST /api/v1/deployments      while the volume is "phase": "Materializing"\n\n{ "name": "pg", "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/data" } ] }',
    corrected:
      'POST /api/v1/deployments      once the volume is "phase": "Ready"\n\n{ "name": "pg", "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/data" } ] }',
    origin: '7.5',
  },
  volume_primary_mismatch: {
    status: 409,
    field: 'nodeId',
    title: 'The named node is not the primary of a volume that is mounted read-write.',
    cause:
      'Writes to a replicated volume happen on its primary node only; the copies elsewhere receive them. A container on another node could not write. Without `nodeId` the placement follows the volume, also after a promotion.',
    accepted: 'nodeId left out, or the primaryNodeId of the volume; or the mount with readOnly true',
    failing:
      '{ "nodeId": "berlin-2", "volumes": [ { "volumeId": "vol_01jdreplicated", "mountPath": "/data", "readOnly": false } ] }',
    corrected:
      '{ "volumes": [ { "volumeId": "vol_01jdreplicated", "mountPath": "/data", "readOnly": false } ] }',
    origin: '7.5',
  },
  volume_snapshot_not_found: {
    status: 404,
    field: 'snapshots/{snap}',
    title: 'There is no snapshot record with that id.',
    cause:
      'Creating snapshots is not implemented and always refused, so snapshot records normally do not exist and the list of them is empty.',
    accepted: 'an id listed by GET /api/v1/tenants/{tenant}/volumes/{id}/snapshots',
    failing: 'GET /api/v1/tenants/shop/volumes/vol_01jdexample/snapshots/snap-1',
    corrected: 'GET /api/v1/tenants/shop/volumes/vol_01jdexample/snapshots',
    origin: '7.5',
  },
  volume_snapshot_not_implemented: {
    status: 501,
    field: 'computed',
    title: 'Snapshots of volumes cannot be created.',
    cause:
      'No storage engine under the agents takes a consistent snapshot of a running workload, and a record without bytes behind it would be worse than none. The request is refused before its body or its volume is looked at, so no body can succeed. What protects the data instead: replicas for the loss of a node, backups and archives for the configuration, and for the bytes a scheduled job that saves them elsewhere: `berth volume backup-job` makes one, and docs/guide/volume-backups.md says how to restore and to try it.',
    accepted:
      'no body can succeed; use POST /api/v1/tenants/{tenant}/volumes/{id}/replicas for a live copy, POST /api/v1/backups for configuration, or a scheduled job for volume bytes (berth volume backup-job)',
    failing: 'POST /api/v1/tenants/shop/volumes/vol_01jdexample/snapshots\n\n{}',
    corrected: 'POST /api/v1/tenants/shop/volumes/vol_01jdexample/replicas\n\n{ "node_id": "berlin-2" }',
    origin: '7.5',
  },
  dvm_recommendation_apply_invalid_spec: {
    status: 422,
    field: 'spec',
    title: 'The applied change would make the volume invalid.',
    cause:
      'Applying a recommendation edits the volume, and the result is checked by the same rules as a written one: a class that takes no replicas, a size below the smallest of its class (128 MiB for replicated), or a replica where residency forbids it.',
    accepted: 'parameters whose result is a valid volume; leave parameters out to take the recommended ones',
    failing: '{ "parameters": { "action": "resize", "target_size_bytes": 1048576 } }',
    corrected: '{ "parameters": { "action": "resize", "target_size_bytes": 268435456 } }',
    origin: '7.5',
  },
  dvm_recommendation_bad_parameter: {
    status: 422,
    field: 'parameters.<name>',
    title: 'A parameter is missing, of the wrong type or of no use for the action.',
    cause:
      '`set_replicas` takes `target_replicas`, a positive integer; `resize` takes `target_size_bytes`, a positive integer number of bytes. Units in a string ("10Gi"), fractions, a parameter of the other action and unknown names are refused.',
    accepted:
      'action set_replicas with target_replicas, or action resize with target_size_bytes; both integers above 0',
    failing: '{ "parameters": { "action": "resize", "target_size_bytes": "10Gi" } }',
    corrected: '{ "parameters": { "action": "resize", "target_size_bytes": 10737418240 } }',
    origin: '7.5',
  },
  dvm_recommendation_insufficient_nodes: {
    status: 422,
    field: 'parameters.target_replicas',
    title: 'There are fewer enrolled nodes than replicas plus one.',
    cause:
      'Every copy sits on a node of its own, and the primary needs one too: N replicas need N+1 enrolled nodes of the tenant. Two copies on one node would be lost together.',
    accepted: 'at most the number of enrolled nodes minus one',
    failing: '{ "parameters": { "action": "set_replicas", "target_replicas": 3 } }',
    corrected: '{ "parameters": { "action": "set_replicas", "target_replicas": 1 } }',
    origin: '7.5',
  },
  dvm_recommendation_not_applicable: {
    status: 409,
    field: 'id',
    title: 'The recommendation is information only and cannot be applied.',
    cause:
      '`applicable` is false: the condition holds, but the control plane cannot or must not act on it by itself. Examples: a missing copy with too few nodes to hold one, and an unused volume, which only a person may delete. The `reason` of the recommendation says which.',
    accepted: 'a recommendation with applicable true',
    failing: 'POST /api/v1/dvm/recommendations/rec-unused-volume/apply      "applicable": false\n\n{}',
    corrected: 'POST /api/v1/dvm/recommendations/rec-resize/apply      "applicable": true\n\n{}',
    origin: '7.5',
  },
  dvm_recommendation_not_found: {
    status: 404,
    field: 'id',
    title: 'The id is not in the current list of recommendations.',
    cause:
      'Recommendations are computed anew from the state of the volumes on every read and vanish when their condition stops holding, for example because somebody applied it already. An id of another tenant gets the same answer.',
    accepted: 'an id listed by GET /api/v1/dvm/recommendations at this moment',
    failing: 'POST /api/v1/dvm/recommendations/rec-of-last-week/apply\n\n{}',
    corrected: 'GET /api/v1/dvm/recommendations\nX-Tenant-ID: shop',
    origin: '7.5',
  },
  dvm_recommendation_stale_measurement: {
    status: 409,
    field: 'parameters.target_size_bytes',
    title: 'The target size is below what the volume holds now.',
    cause:
      'The volume has grown since the size was chosen; shrinking to it would cut off data. The rejection quotes the bytes currently used.',
    accepted: 'a size above usedBytes of the volume; read the recommendations again for a fresh one',
    failing: '{ "parameters": { "action": "resize", "target_size_bytes": 1073741824 } }',
    corrected: '{ "parameters": { "action": "resize", "target_size_bytes": 4294967296 } }',
    origin: '7.5',
  },
  dvm_recommendation_tenant_required: {
    status: 400,
    field: 'X-Tenant-ID',
    title: 'The header X-Tenant-ID is missing.',
    cause:
      'Recommendations are computed per tenant, and this read names the tenant always, also when the credential belongs to one. In the dashboard, a platform administrator chooses the tenant, and the header is supplied.',
    accepted: 'the header X-Tenant-ID with the UUID or the slug of the tenant',
    failing: 'GET /api/v1/dvm/recommendations',
    corrected: 'GET /api/v1/dvm/recommendations\nX-Tenant-ID: shop',
    origin: '7.5',
  },
  dvm_recommendation_unknown_action: {
    status: 422,
    field: 'parameters.action',
    title: 'The action is not one of the implemented verbs.',
    cause:
      'Only actions that the control plane can carry out and check are accepted. Deleting a volume is not one of them: a `cleanup` recommendation is never applicable.',
    accepted: '"set_replicas" or "resize"',
    failing: '{ "parameters": { "action": "grow", "target_size_bytes": 4294967296 } }',
    corrected: '{ "parameters": { "action": "resize", "target_size_bytes": 4294967296 } }',
    origin: '7.5',
  },
  dvm_recommendation_unknown_priority: {
    status: 422,
    field: 'priority',
    title: 'The filter names a priority that does not exist.',
    cause:
      'An unknown filter value would match nothing, and an empty answer would read as "all is well". The spelling is exact and lowercase.',
    accepted: '"critical", "high", "medium" or "low"',
    failing: 'GET /api/v1/dvm/recommendations?priority=urgent\nX-Tenant-ID: shop',
    corrected: 'GET /api/v1/dvm/recommendations?priority=critical\nX-Tenant-ID: shop',
    origin: '7.5',
  },
  dvm_recommendation_unknown_type: {
    status: 422,
    field: 'type',
    title: 'The filter names a type that does not exist.',
    cause:
      'An unknown filter value would match nothing, and an empty answer would read as "all is well". The spelling is exact and lowercase.',
    accepted: '"replication", "capacity" or "cleanup"',
    failing: 'GET /api/v1/dvm/recommendations?type=size\nX-Tenant-ID: shop',
    corrected: 'GET /api/v1/dvm/recommendations?type=capacity\nX-Tenant-ID: shop',
    origin: '7.5',
  },
  dvm_recommendation_volume_missing: {
    status: 410,
    field: 'volume_id',
    title: 'The volume was deleted or moved since the recommendation was computed.',
    cause:
      'Between the read and the apply the volume went away or changed its primary node, so the computed change no longer means what it said. Nothing was changed.',
    accepted: 'a recommendation read after the change; read GET /api/v1/dvm/recommendations again',
    failing:
      'POST /api/v1/dvm/recommendations/rec-resize/apply      the volume was deleted a moment ago\n\n{}',
    corrected: 'GET /api/v1/dvm/recommendations\nX-Tenant-ID: shop',
    origin: '7.5',
  },
  query_parameter_unknown: {
    status: 400,
    field: 'computed',
    title: 'The route does not know this query parameter.',
    cause:
      'A mistyped filter that was ignored would return more than was asked for, and a mistyped `dryRun` would store what should only be tried. Every route refuses parameters it does not know; the rejection names the ones it does. Names are case-sensitive.',
    accepted: 'only the query parameters that the route documents',
    failing: 'POST /api/v1/deployments?dry_run=true',
    corrected: 'POST /api/v1/deployments?dryRun=true',
    origin: '7.5',
  },
});
