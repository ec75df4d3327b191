import { entries } from './entry.ts';

/** Secret references: anchors, paths, names, delivery and the persist guards. */
export const secretCodes = entries({
  anchored_secret_dropped: {
    status: 409,
    field: 'secrets',
    title: 'The update drops a secret that is anchored to a volume still mounted.',
    cause:
      'Material anchored with `volume(<id>)` belongs to the bytes on that volume: a database directory initialised with a password cannot be opened with another one. Sending `secrets` replaces the whole list, so a shortened list loses the reference without any other sign. While the volume is mounted, the anchored secret must stay.',
    accepted: 'the complete secrets list, or the same update with the volume removed from volumes as well',
    failing:
      '{ "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/var/lib/postgresql" } ], "secrets": [] }',
    corrected:
      '{ "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/var/lib/postgresql" } ], "secrets": [ { "name": "PG", "vault_path": "deployments/pg", "anchor": "volume(vol_01jdexample)" } ] }',
    origin: '7.3',
  },
  anchored_secret_repointed: {
    status: 409,
    field: 'computed',
    title: 'The update points an anchored secret at another path.',
    cause:
      'Changing `vault_path` of a secret anchored to a mounted volume swaps the material under data that was written with the old one, which can lock the workload out of its own volume. A rotation changes the material in phases so that at no time zero credentials are valid.',
    accepted:
      'the stored vault_path; to change the material use POST /api/v1/deployments/{name}/secrets/rotate; to release the anchor remove the volume in the same update',
    failing:
      '{ "secrets": [ { "name": "PG", "vault_path": "deployments/pg-new", "anchor": "volume(vol_01jdexample)" } ] }',
    corrected: 'POST /api/v1/deployments/pg/secrets/rotate\n\n{ "phase": "stage", "secret": "PG" }',
    origin: '7.3',
  },
  anchored_secret_overwritten: {
    status: 409,
    field: 'computed',
    title: 'The write changes or drops a key that is anchored to a mounted volume.',
    cause:
      'A consumer of this document anchors it with `volume(<id>)`, and the volume is mounted: its data was made with this key and may not open with another one. A plain write would swap the key under the data. A rotation delivers old and new side by side, so that the workload can change over.',
    accepted:
      'the stored value, the document without a change of its keys, or POST /api/v1/secrets/{namespace}/{name}/rotate with the new material',
    failing:
      'PUT /api/v1/secrets/deployments/pg      the key password is anchored to a volume\n\n{ "values": { "password": "example-not-a-real-password" } }',
    corrected:
      'POST /api/v1/secrets/deployments/pg/rotate\n\n{ "phase": "stage", "values": { "password": "example-not-a-real-password" } }',
    origin: 'extension',
  },
  secret_anchor_invalid: {
    status: 422,
    field: 'computed',
    title: 'The anchor is none of the three accepted forms.',
    cause:
      'The anchor states whether the credential may ever be minted again: with the container (`process`), never by the platform (`external`), or never while a volume holds data made with it (`volume(<volume-id>)`). A guess could destroy access to data, so any other text, the empty string included, is refused. An absent anchor is read as `external`, the safe reading, and announced.',
    accepted: '"process", "external" or "volume(<volume-id>)"',
    failing: '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "container" } ] }',
    corrected: '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "process" } ] }',
    origin: '7.3',
  },
  secret_anchor_volume_ephemeral: {
    status: 422,
    field: 'computed',
    title: 'The anchor names a volume that does not outlive its container.',
    cause:
      'An anchor protects data that lasts. A `tmpfs` is emptied with its container, so nothing on it can depend on old material, and the protection would only block rotation.',
    accepted:
      'a volume of type volume or bind; for material that lives with the container use the anchor "process"',
    failing:
      '{ "volumes": [ { "volumeId": "vol_01jdtmpfs", "mountPath": "/run/cache" } ], "secrets": [ { "name": "CACHE", "vault_path": "deployments/cache", "anchor": "volume(vol_01jdtmpfs)" } ] }',
    corrected:
      '{ "volumes": [ { "volumeId": "vol_01jdtmpfs", "mountPath": "/run/cache" } ], "secrets": [ { "name": "CACHE", "vault_path": "deployments/cache", "anchor": "process" } ] }',
    origin: '7.3',
  },
  secret_anchor_volume_not_declared: {
    status: 422,
    field: 'computed',
    title: 'The anchor names a volume that this deployment does not mount.',
    cause:
      '`volume(<id>)` ties the credential to a volume of the same spec. An id that `volumes` does not list, often a name in place of the typed id, would protect nothing.',
    accepted: 'volume(<id>) with an id listed in volumes of the same deployment',
    failing:
      '{ "volumes": [], "secrets": [ { "name": "PG", "vault_path": "deployments/pg", "anchor": "volume(vol_01jdexample)" } ] }',
    corrected:
      '{ "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/var/lib/postgresql" } ], "secrets": [ { "name": "PG", "vault_path": "deployments/pg", "anchor": "volume(vol_01jdexample)" } ] }',
    origin: '7.3',
  },
  secret_mount_path_unsupported: {
    status: 422,
    field: 'secrets[<i>].mount_path',
    title: 'A secret cannot be delivered as a file.',
    cause:
      'Values reach a container as environment variables only, `NAME_key` for each key of the document. A `mount_path` that was stored and ignored would leave the workload waiting for a file that never appears, so any value is refused.',
    accepted: 'no mount_path; read the value from the variable <NAME>_<key>',
    failing:
      '{ "secrets": [ { "name": "TLS", "vault_path": "deployments/web", "anchor": "external", "mount_path": "/etc/tls" } ] }',
    corrected: '{ "secrets": [ { "name": "TLS", "vault_path": "deployments/web", "anchor": "external" } ] }',
    origin: '7.3',
  },
  secret_name_invalid: {
    status: 422,
    field: 'secrets[<i>].name',
    title: 'The name of the secret entry is not usable as a variable prefix.',
    cause:
      'The name is the prefix of every delivered variable: the key `password` of the entry `DB` arrives as `DB_password`. Hyphens, dots and spaces are not allowed in the names of environment variables. The name is required.',
    accepted: 'letters, digits and underscores: [A-Za-z0-9_]+',
    failing: '{ "secrets": [ { "name": "my-db", "vault_path": "resources/db", "anchor": "external" } ] }',
    corrected: '{ "secrets": [ { "name": "MY_DB", "vault_path": "resources/db", "anchor": "external" } ] }',
    origin: '7.3',
  },
  secret_vault_path_required: {
    status: 422,
    field: 'secrets[<i>].vault_path',
    title: 'The secret entry does not say where its material is.',
    cause:
      'A deployment holds references, never values. Without a path there is nothing to resolve when the container is created. This is the first of the path rules; relative, shape, namespace, name and split follow in that order.',
    accepted: '<namespace>/<label>, for example deployments/web or resources/db',
    failing: '{ "secrets": [ { "name": "DB", "anchor": "external" } ] }',
    corrected: '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" } ] }',
    origin: '7.3',
  },
  secret_vault_path_not_relative: {
    status: 422,
    field: 'secrets[<i>].vault_path',
    title: 'The path is absolute or leaves the tenant’s own mount.',
    cause:
      'Paths are resolved inside the secrets mount of the tenant. A leading slash or a `..` element could address the material of another tenant, so such a path is refused and never normalised.',
    accepted: 'a relative path without a leading slash and without .. elements',
    failing: '{ "secrets": [ { "name": "DB", "vault_path": "/resources/../db", "anchor": "external" } ] }',
    corrected: '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" } ] }',
    origin: '7.3',
  },
  secret_path_shape: {
    status: 422,
    field: 'computed, resource',
    title: 'The path does not consist of exactly a namespace and a label.',
    cause:
      'One document, one path of two non-empty segments. A single segment has no namespace, which the secrets policy needs to decide; deeper paths, doubled and trailing slashes would give one credential several spellings. A path that names a mount or version prefix of the store (`secret/data/…`) is the usual cause.',
    accepted: 'exactly <namespace>/<label>, for example resources/db',
    failing:
      '{ "secrets": [ { "name": "DB", "vault_path": "secret/data/resources/db", "anchor": "external" } ] }',
    corrected: '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" } ] }',
    origin: '7.3',
  },
  secret_path_namespace: {
    status: 422,
    field: 'computed, namespace',
    title: 'The namespace of the path is not granted by the secrets policy.',
    cause:
      'The policy grants read access by namespace. A path outside would resolve as 403 when the container is created and leave the workload `Degraded` without a container, so it is refused on write. The operator grants namespaces with `secrets.namespaces`.',
    accepted: 'a granted namespace; by default deployments or resources',
    failing: '{ "secrets": [ { "name": "DB", "vault_path": "databases/db", "anchor": "external" } ] }',
    corrected: '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" } ] }',
    origin: '7.3',
  },
  secret_path_name: {
    status: 422,
    field: 'computed',
    title: 'The part of the path after the namespace is not a DNS label.',
    cause:
      'The label names the credential in URLs, in the list of consumers and in placeholders such as `{{secret.db.password}}`, so it follows the rules of a DNS label. Upper case, underscores, dots and a hyphen at either end are refused.',
    accepted: 'lowercase letters, digits and inner hyphens, 1-63 characters',
    failing: '{ "secrets": [ { "name": "DB", "vault_path": "resources/Main_DB", "anchor": "external" } ] }',
    corrected: '{ "secrets": [ { "name": "DB", "vault_path": "resources/main-db", "anchor": "external" } ] }',
    origin: '7.3',
  },
  secret_path_namespace_split: {
    status: 422,
    field: 'secrets[<i>].vault_path',
    title: 'One credential is referenced under two namespaces.',
    cause:
      '`deployments/db` and `resources/db` would be two documents that everybody takes for one: a rotation of the first leaves readers of the second with dead material. One label therefore has one namespace, in the spec and across the tenant. `GET /api/v1/secrets/resources` shows which namespace is in use.',
    accepted: 'the namespace under which this label is already referenced, or another label',
    failing:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" }, { "name": "DB_RO", "vault_path": "deployments/db", "anchor": "external" } ] }',
    corrected:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" }, { "name": "DB_RO", "vault_path": "resources/db-ro", "anchor": "external" } ] }',
    origin: '7.3',
  },
  secret_rotation_unsupported: {
    status: 422,
    field: 'secrets[<i>].rotation',
    title: 'The rotation mode is not restart.',
    cause:
      'The environment of a running process cannot be changed from outside, so a container picks up new material only by being recreated. Promising a signal or a reload would be untrue. An absent mode is read as `restart` and announced.',
    accepted: '"restart", or the field left out',
    failing:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external", "rotation": "signal" } ] }',
    corrected:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external", "rotation": "restart" } ] }',
    origin: '7.3',
  },
  secret_material_would_persist: {
    status: 500,
    field: 'secrets[<i>].values',
    title: 'Secret values reached the last guard before the store.',
    cause:
      '`values` is write-time only: the material goes to the secrets store and the field is stripped before the record is built. This guard checks the record once more in the moment of storing. If it fires, the control plane has a bug; nothing was stored, and the value is not in the log. Retrying does not help: report the `X-Request-ID` of the answer to the operator.',
    accepted:
      'no values in the record to be stored; write the material with PUT /api/v1/secrets/{namespace}/{name} and send only the reference',
    failing:
      'the record to be stored      inside the control plane, not your request\n\n{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external", "values": { "password": "example-not-a-real-password" } } ] }',
    corrected:
      'the record to be stored      after stripping\n\n{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" } ] }',
    origin: '7.3',
  },
  secret_generate_would_persist: {
    status: 500,
    field: 'secrets[<i>].generate',
    title: 'A generate block reached the last guard before the store.',
    cause:
      '`generate` is an order to mint material once, at write time, and is stripped before the record is built. Stored, it would mint again on every later write of the record. If this guard fires, the control plane has a bug; nothing was stored. Report the `X-Request-ID` of the answer to the operator.',
    accepted:
      'no generate in the record to be stored; mint with PUT /api/v1/secrets/{namespace}/{name} and send only the reference',
    failing:
      'the record to be stored      inside the control plane, not your request\n\n{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "process", "generate": { "keys": ["password"] } } ] }',
    corrected:
      'the record to be stored      after stripping\n\n{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "process" } ] }',
    origin: '7.3',
  },
});
