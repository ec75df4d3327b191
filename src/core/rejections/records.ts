import { entries } from './entry.ts';

/** Secrets, backups, archives, tenants, quotas and tokens. */
export const recordCodes = entries({
  secret_name_duplicate: {
    status: 422,
    field: 'secrets[<i>].name',
    title: 'Two secret entries have the same name.',
    cause:
      'The name is the prefix of the delivered variables, so two entries with one name would write into the same variables, and the later one would win without a sign.',
    accepted: 'each name once in secrets',
    failing:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" }, { "name": "DB", "vault_path": "resources/cache", "anchor": "external" } ] }',
    corrected:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external" }, { "name": "CACHE", "vault_path": "resources/cache", "anchor": "external" } ] }',
    origin: 'extension',
  },
  secret_entries_too_many: {
    status: 422,
    field: 'secrets',
    title: 'The spec references more secrets than the limit.',
    cause:
      'Every entry is read from the secrets store whenever a container is created, all of them within one deadline. A document holds many keys: what belongs together is one document and one entry.',
    accepted: 'at most 64 entries in secrets',
    failing: '{ "secrets": ["<65 entries>"] }',
    corrected: '{ "secrets": [ { "name": "APP", "vault_path": "resources/app", "anchor": "external" } ] }',
    origin: 'extension',
  },
  secret_environment_collision: {
    status: 422,
    field: 'computed',
    title: 'A delivered variable has the same name as another variable of the deployment.',
    cause:
      'Each key of a secret arrives as `NAME_key`. Another entry, `environment` or `composedEnvironment` sets the same variable, and one of the two values would be lost. The entries `A` with the key `B_c` and `A_B` with the key `c` collide too. Keys that are unknown at write time are checked when the container is created, which then fails closed.',
    accepted: 'names such that no NAME_key equals another variable',
    failing:
      '{ "environment": { "DB_host": "db" }, "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external", "values": { "host": "db-2" } } ] }',
    corrected:
      '{ "secrets": [ { "name": "DB", "vault_path": "resources/db", "anchor": "external", "values": { "host": "db-2" } } ] }',
    origin: 'extension',
  },
  secret_not_found: {
    status: 404,
    field: 'name',
    title: 'There is no secret at this path, or the deployment does not declare it.',
    cause:
      'No document was written at the path and no deployment of the tenant references it, or a rotation names an entry that `secrets` does not list. `GET /api/v1/secrets` shows every document, and every path that is referenced without one.',
    accepted:
      'a path listed by GET /api/v1/secrets; write the document with PUT /api/v1/secrets/{namespace}/{name}',
    failing: 'GET /api/v1/secrets/resources/databse',
    corrected: 'GET /api/v1/secrets/resources/database',
    origin: 'extension',
  },
  secrets_sealed: {
    status: 503,
    field: 'secrets',
    title: 'The secrets store is sealed.',
    cause:
      'The store runs but has no root key, so it can neither encrypt nor decrypt. There is no fallback to storing in clear. The operator provides the root key file (mode 0600) and restarts the control plane, or unseals Vault. Running containers keep what they have.',
    accepted: 'the same request, once GET /healthz reports secrets.sealed false',
    failing: 'PUT /api/v1/secrets/resources/db      while /healthz says "secrets": { "sealed": true }',
    corrected:
      'PUT /api/v1/secrets/resources/db      the unchanged body, after /healthz says "secrets": { "sealed": false }',
    origin: 'extension',
  },
  secrets_store_unavailable: {
    status: 503,
    field: 'secrets',
    title: 'The secrets store does not answer.',
    cause:
      'The operation needs the secrets store, and it cannot be reached, is too slow or fails. Nothing was stored, neither the record nor material. The request itself is fine.',
    accepted: 'the same request, once GET /healthz reports secrets.connected true',
    failing: 'PUT /api/v1/secrets/resources/db      while /healthz says "secrets": { "connected": false }',
    corrected:
      'PUT /api/v1/secrets/resources/db      the unchanged body, after /healthz says "secrets": { "connected": true }',
    origin: 'extension',
  },
  secrets_store_forbidden: {
    status: 503,
    field: 'secrets',
    title: 'The secrets store refuses the control plane.',
    cause:
      'The store answers, and its policy does not grant what the operation needs: the message names the path and the capability. Nothing was stored. Asking again does not help; the operator widens the policy, or gives the control plane another token.',
    accepted: 'the same request, once the policy of the secrets store grants it',
    failing: 'PUT /api/v1/secrets/resources/db      while the policy grants no update on its path',
    corrected: 'PUT /api/v1/secrets/resources/db      the unchanged body, after the policy was widened',
    origin: 'extension',
  },
  secrets_store_unusable: {
    status: 503,
    field: 'secrets',
    title: 'The secrets store cannot be used as it is set up.',
    cause:
      'The store answers, but not as one that versions its documents: the mount of the tenant is KV version 1 or of another kind, the configured namespace or the AppRole method is not there. Nothing was written. The message says what was found; the operator mends it.',
    accepted: 'the same request, once the mount is KV version 2 in a namespace that is there',
    failing: 'PUT /api/v1/secrets/resources/db      while the mount of the tenant is KV version 1',
    corrected: 'PUT /api/v1/secrets/resources/db      the unchanged body, after the mount was upgraded',
    origin: 'extension',
  },
  rotation_rollout_incomplete: {
    status: 409,
    field: 'phase',
    title: 'The previous phase has not reached every running instance of every consumer.',
    cause:
      'Each phase raises `secretsVersion` and rolls the instances. While one of them still runs with the version before, the next phase could take away the only credential it knows. The credential may have other consumers: `retire` waits until each of them has promoted it, or runs with the new version, and `abort` until none runs with the new version alone. `why` names deployments and instances; the status of a deployment counts the updated ones.',
    accepted: 'the same phase, once the named deployments and instances have what it relies on',
    failing:
      'POST /api/v1/deployments/web/secrets/rotate      1 of 3 instances updated\n\n{ "phase": "promote" }',
    corrected:
      'POST /api/v1/deployments/web/secrets/rotate      3 of 3 instances updated\n\n{ "phase": "promote" }',
    origin: 'extension',
  },
  secret_rotation_in_progress: {
    status: 409,
    field: 'computed',
    title: 'The credential is being rotated, so its document is not written beside that.',
    cause:
      'During a rotation two versions of the document are delivered, and every consumer knows at least one of them. A third one that came in between would be known to nobody. The rotation ends with `retire`, or with `abort`, which goes back to the old version; new material is given with the `stage` that begins one.',
    accepted: 'the same write, after retire or abort',
    failing:
      'PUT /api/v1/secrets/resources/db      after stage\n\n{ "values": { "password": "example-not-a-real-password" } }',
    corrected: 'POST /api/v1/secrets/resources/db/rotate      and then the write\n\n{ "phase": "abort" }',
    origin: 'extension',
  },
  backup_not_found: {
    status: 404,
    field: 'id',
    title: 'No backup of this tenant has that id.',
    cause:
      'The backup does not exist, was deleted, or belongs to another tenant; the cases are answered alike.',
    accepted: 'an id listed by GET /api/v1/backups',
    failing: 'POST /api/v1/backups/bak_mistyped/restore',
    corrected: 'POST /api/v1/backups/bak_01jdexample/restore',
    origin: 'extension',
  },
  backup_invalid: {
    status: 422,
    field: 'computed',
    title: 'The imported document is not a backup that can be restored.',
    cause:
      'An import must be the unchanged answer of `GET /api/v1/backups/{id}/export`: spec, scaling policy, canary state and revision history, with references to secrets only. A document with values in it, of an unknown schema version or with missing parts is refused before anything is stored.',
    accepted: 'the document returned by GET /api/v1/backups/{id}/export',
    failing: 'POST /api/v1/backups/import\n\n{ "name": "web" }',
    corrected:
      'GET /api/v1/backups/bak_01jdexample/export      and send its answer to POST /api/v1/backups/import',
    origin: 'extension',
  },
  archive_version_not_found: {
    status: 404,
    field: 'version',
    title: 'The archive of the deployment has no such version.',
    cause:
      'The archive keeps the last 100 versions of the configuration of a deployment, also after it is deleted, and fewer where the quota of archives is reached (event `archive.trimmed`). The version never existed or is older than that.',
    accepted: 'a version listed by GET /api/v1/archives/deployments/{name}',
    failing: 'POST /api/v1/deployments/web/rollback\n\n{ "version": 900 }',
    corrected: 'POST /api/v1/deployments/web/rollback\n\n{ "version": 7 }',
    origin: 'extension',
  },
  tenant_already_exists: {
    status: 409,
    field: 'slug',
    title: 'A tenant with this slug exists already.',
    cause:
      'The slug names the tenant in headers, paths and network names, so it is unique across the platform.',
    accepted: 'a slug that no tenant has',
    failing: 'POST /api/v1/tenants\n\n{ "slug": "shop" }',
    corrected: 'POST /api/v1/tenants\n\n{ "slug": "shop-eu" }',
    origin: 'extension',
  },
  tenant_name_invalid: {
    status: 422,
    field: 'slug',
    title: 'The slug of the tenant cannot be used.',
    cause:
      'The slug appears in headers, paths and network names without translation, so it follows the rules of a DNS label. It is required. A text in the form of a UUID is refused, because `X-Tenant-ID` takes either.',
    accepted:
      'lowercase letters, digits and hyphens; starts with a letter; ends with a letter or digit; at most 63 characters',
    failing: '{ "slug": "Shop EU" }',
    corrected: '{ "slug": "shop-eu" }',
    origin: 'extension',
  },
  tenant_in_use: {
    status: 409,
    field: 'tenant',
    title: 'The tenant still has records and cannot be deleted.',
    cause:
      'Deleting a tenant does not stop its containers or erase its volumes on the way: they would go on running with nobody to account for them. Delete deployments, jobs, networks and volumes and release its nodes first. The platform tenant is always in use.',
    accepted:
      'a tenant without deployments, jobs, networks, volumes and nodes; the rejection counts what is left',
    failing: 'DELETE /api/v1/tenants/shop      with 2 deployments and 1 node left',
    corrected: 'DELETE /api/v1/tenants/shop      after they were deleted',
    origin: 'extension',
  },
  quota_invalid: {
    status: 422,
    field: 'computed',
    title: 'The quota is malformed.',
    cause:
      'A quota bounds what a tenant may place (a number of containers, cpu cores and bytes of memory), what it may store (records and bytes of each kind) and how many streams it may follow. What is left out is not bounded for containers, cpu and memory, and takes the default of the platform for the rest. Reaching a quota stops what would add and shrinks nothing, so a quota below the present use is accepted.',
    accepted:
      'containers an integer from 0, cpu a number from 0, memoryBytes an integer from 0, records and bytes objects of kind and integer, streams an integer from 0; each optional',
    failing: '{ "containers": -1, "memoryBytes": "16Gi" }',
    corrected: '{ "containers": 50, "cpu": 16, "memoryBytes": 17179869184 }',
    origin: 'extension',
  },
  quota_exceeded: {
    status: 409,
    field: 'computed',
    title: 'The tenant has as much stored as it may.',
    cause:
      'Records of a tenant take memory and disk that it shares with others, so there is a limit of number and bytes for every kind: the quota of the tenant, or the default of the platform. `received` counts what is stored and what the request adds, `field` names the limit. Deletions and updates that shrink are always accepted. `GET /api/v1/tenants/{tenant}` and `berth describe tenant <slug>` show what is used.',
    accepted:
      'a request that fits; delete what is not needed, or let a platform administrator raise the quota',
    failing: 'POST /api/v1/deployments      with as many deployments as the quota allows',
    corrected: 'POST /api/v1/deployments      after one was deleted, or the quota raised',
    origin: 'extension',
  },
  image_policy_invalid: {
    status: 422,
    field: 'computed',
    title: 'The policy about signatures of images is malformed.',
    cause:
      'A policy says which images of the tenant have to be signed, and by which keys. Images are named in the spelling that they are compared in: `*`, a registry with a repository, or a place with everything below it, which ends in `/*`; there are no other patterns. Keys are public keys in PEM; a private key is refused, and nothing of it is shown.',
    accepted:
      'signatures: at most 32 entries of images and 1 to 8 keys (ECDSA P-256, P-384, P-521, Ed25519, RSA from 2048 bits)',
    failing:
      'PUT /api/v1/tenants/shop/image-policy\n\n{ "signatures": [{ "images": "registry.example.com/*/web", "keys": ["-----BEGIN PUBLIC KEY-----…"] }] }',
    corrected:
      'PUT /api/v1/tenants/shop/image-policy\n\n{ "signatures": [{ "images": "registry.example.com/acme/*", "keys": ["-----BEGIN PUBLIC KEY-----…"] }] }',
    origin: 'extension',
  },
  container_defaults_invalid: {
    status: 422,
    field: 'computed',
    title: 'What is to bound containers by default cannot be used.',
    cause:
      'These bound every new container of a tenant where its workload does not: `memory` where it has no limit of its own, `pids` (processes and threads), `cpuWeight` (share of a busy processor) and `logSize` (what is kept of its output). The body replaces all four; one that is left out is that of the platform. Containers that run keep what they were made with.',
    accepted:
      'memory "1%" to "100%" of the node, or an amount of at least 16Mi; pids from 16 to 4194304; cpuWeight from 1 to 10000; logSize from 1M to 1T; each optional',
    failing: '{ "memory": "150%", "pids": 4 }',
    corrected: '{ "memory": "512Mi", "pids": 1024 }',
    origin: 'extension',
  },
  token_invalid: {
    status: 422,
    field: 'computed',
    title: 'The request for a token is malformed.',
    cause:
      'A token is scoped to one tenant and one role and has an end. The role is unknown or above the role of the caller, the name is missing, or the lifetime is not a duration. Join tokens live 15 minutes unless `ttl` says otherwise and may be bound to one `nodeName`.',
    accepted:
      'role platform-admin, tenant-admin, deployer, secret-writer, viewer or, in the tenant of the platform, metrics, not above your own; ttl such as "15m" or "720h"',
    failing: 'POST /api/v1/tokens\n\n{ "name": "ci", "role": "root", "ttl": "720h" }',
    corrected: 'POST /api/v1/tokens\n\n{ "name": "ci", "role": "deployer", "ttl": "720h" }',
    origin: 'extension',
  },
  token_not_found: {
    status: 404,
    field: 'id',
    title: 'No token of this tenant has that id.',
    cause:
      'The token was revoked already, has never existed, or belongs to another tenant; the cases are answered alike. The id is the public part of a token; the secret part is never needed to revoke it.',
    accepted: 'an id listed by GET /api/v1/tokens',
    failing: 'DELETE /api/v1/tokens/tokmistyped',
    corrected: 'DELETE /api/v1/tokens/tok01jdexample',
    origin: 'extension',
  },
  webhook_invalid: {
    status: 422,
    field: 'computed',
    title: 'The description of the webhook cannot be used.',
    cause:
      'The name is not one, the URL is no absolute URL or leads where the control plane does not call, or a filter is of no form that an event could have. Webhooks are called over HTTPS at public addresses; the platform lists exceptions in webhooks.allowPrivate and webhooks.insecure.',
    accepted:
      'a name, a URL such as https://hooks.example.com/berth, kinds such as node.failed or deployment.*, subjects such as Deployment/web or Node/*',
    failing:
      'POST /api/v1/webhooks\n\n{ "name": "alarms", "url": "http://169.254.169.254/", "signing": { "vault_path": "resources/hooks" } }',
    corrected:
      'POST /api/v1/webhooks\n\n{ "name": "alarms", "url": "https://hooks.example.com/berth", "signing": { "vault_path": "resources/hooks" } }',
    origin: 'extension',
  },
  webhook_not_found: {
    status: 404,
    field: 'name',
    title: 'No webhook of this tenant has that name.',
    cause:
      'The webhook does not exist, was deleted, or belongs to another tenant; the cases are answered alike.',
    accepted: 'a name listed by GET /api/v1/webhooks',
    failing: 'GET /api/v1/webhooks/alrts',
    corrected: 'GET /api/v1/webhooks/alerts',
    origin: 'extension',
  },
  webhook_already_exists: {
    status: 409,
    field: 'name',
    title: 'A webhook with this name exists already.',
    cause: 'POST creates and never changes; PUT /api/v1/webhooks/{name} updates.',
    accepted: 'a name that is free in this tenant',
    failing:
      'POST /api/v1/webhooks      while "alerts" exists\n\n{ "name": "alerts", "url": "https://hooks.example.com/berth", "signing": { "vault_path": "resources/hooks" } }',
    corrected: 'PUT /api/v1/webhooks/alerts\n\n{ "url": "https://hooks.example.com/berth" }',
    origin: 'extension',
  },
  webhook_dead_letter_not_found: {
    status: 404,
    field: 'computed',
    title: 'The event is no dead letter of this webhook.',
    cause:
      'It was delivered, still waits, made room for newer ones (1,000 are kept), or is of another webhook.',
    accepted: 'ids listed by GET /api/v1/webhooks/{name}/dead-letters',
    failing: 'POST /api/v1/webhooks/alerts/redeliver\n\n{ "events": ["evt_unknown"] }',
    corrected: 'POST /api/v1/webhooks/alerts/redeliver',
    origin: 'extension',
  },
});
