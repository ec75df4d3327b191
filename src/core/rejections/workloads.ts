import { INSTANCE_SIGNALS } from '../model/stop.ts';
import { entries } from './entry.ts';

/** What deployments and jobs declare beyond what they share. */
export const workloadCodes = entries({
  image_unsigned: {
    status: 422,
    field: 'image',
    title: 'The policy of the tenant wants this image signed, and the registry has no signature of it.',
    cause:
      'The policy (`GET /api/v1/tenants/{tenant}/image-policy`) covers this image. The control plane looked for signatures of the digest that the registry has for it: as cosign stores them beside the image (`sha256-….sig`), and among what refers to it. There is none. A signature of another tag, of an earlier push or of one platform of an index is not a signature of these bytes.',
    accepted:
      'an image signed by one of the keys that the rejection names: cosign sign --key <key> <image>@<digest>',
    failing: 'POST /api/v1/deployments      with an image that the policy covers and nobody signed',
    corrected:
      'POST /api/v1/deployments      the same body, after cosign sign --key cosign.key <image>@<digest>',
    origin: 'extension',
  },
  image_signature_invalid: {
    status: 422,
    field: 'image',
    title: 'None of the signatures of this image is one that the policy of the tenant accepts.',
    cause:
      'The registry has signatures beside the image, but none of them was made over this very digest by a key of the policy: they are by other keys, of other images, or were damaged. The rejection names the digest and the fingerprints of the keys that were tried. At most 16 signatures are looked at, the newest.',
    accepted:
      'an image signed by one of the keys that the rejection names: cosign sign --key <key> <image>@<digest>',
    failing: 'POST /api/v1/deployments      with an image that was signed by another key',
    corrected:
      'POST /api/v1/deployments      the same body, after cosign sign --key cosign.key <image>@<digest>',
    origin: 'extension',
  },
  image_signature_unverifiable: {
    status: 503,
    field: 'image',
    title: 'The policy of the tenant wants this image signed, and the registry cannot be asked.',
    cause:
      'Without a policy an unreachable registry is let through with a warning. Under one, what cannot be verified is not run: the registry did not answer, asked for other credentials, or answered with more than is read. What runs already keeps running, can be scaled by the field `replicas` alone, and can be stopped.',
    accepted: 'the same request, once the registry answers',
    failing: 'POST /api/v1/deployments      while the registry of an image that the policy covers is away',
    corrected: 'POST /api/v1/deployments      the unchanged body, once the registry answers',
    origin: 'extension',
  },
  deployment_already_exists: {
    status: 409,
    field: 'name',
    title: 'A deployment with this name exists already.',
    cause:
      'POST creates and never changes. Two clients that create the same name at the same time get one 201 and one of these, so neither overwrites the other.',
    accepted:
      'a name that is free in this tenant; change the existing one with PUT /api/v1/deployments/{name}',
    failing:
      'POST /api/v1/deployments\n\n{ "name": "web", "image": "registry.internal:5000/shop/web:1.4.2" }',
    corrected: 'PUT /api/v1/deployments/web\n\n{ "image": "registry.internal:5000/shop/web:1.4.2" }',
    origin: 'extension',
  },
  command_invalid: {
    status: 422,
    field: 'command',
    title: 'The command names no program.',
    cause:
      '`command` replaces the `CMD` of the image, one element per argument, without a shell; an `ENTRYPOINT` of the image stays and gets them as its arguments. Without one the first element is the program, so the list must not be empty and the first element not the empty string. To take the `CMD` of the image, leave the field out. A single string in place of the list is `field_type_invalid`: it would have to be split by rules that differ between shells.',
    accepted: 'a non-empty array of strings, one per argument; for a shell use ["/bin/sh", "-c", "…"]',
    failing: '{ "command": ["", "--port", "8080"] }',
    corrected: '{ "command": ["/bin/web", "--port", "8080"] }',
    origin: 'extension',
  },
  user_invalid: {
    status: 422,
    field: 'user',
    title: 'The user cannot be read.',
    cause:
      '`user` is who runs the program in the container: a number, or a name that `/etc/passwd` of the image knows, with a group after a colon if one is needed. It is a text, so a number stands in quotation marks. A name that the image does not know is not refused here: the container cannot be made, and the status of the deployment says so. To take the user of the image, leave the field out.',
    accepted:
      'a text: uid or uid:gid such as "1000" or "1000:1000" (0 to 4294967294), or names such as "postgres" or "postgres:postgres"',
    failing: '{ "user": "1000:1000:1000" }',
    corrected: '{ "user": "1000:1000" }',
    origin: 'extension',
  },
  capability_unknown: {
    status: 422,
    field: 'capabilities.drop[<i>]',
    title: 'The list of capabilities to give up names none of Linux, or one twice.',
    cause:
      '`capabilities.drop` takes capabilities away from a container; a misspelt name would take nothing away, and nobody would notice. Names are those of Linux, with or without `CAP_`, in either case, and `ALL`. Containers have CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, NET_BIND_SERVICE, SETGID, SETUID and SYS_CHROOT by default; to give up one that they do not have is accepted and changes nothing. None can be added.',
    accepted: 'names of capabilities of Linux, each once, such as "CHOWN" or "NET_BIND_SERVICE"; or "ALL"',
    failing: '{ "capabilities": { "drop": ["CHWON"] } }',
    corrected: '{ "capabilities": { "drop": ["CHOWN"] } }',
    origin: 'extension',
  },
  stop_invalid: {
    status: 422,
    field: 'stop.<field>',
    title: 'The way to end the container cannot be read.',
    cause:
      '`stop.signal` is what the main process of a container is sent when it is to end, by its name; absent, that of the image, which is SIGTERM unless the image says otherwise. `stop.grace` is how long it has until it is killed, 10 seconds where it is absent. A misspelt signal would be ignored by the program, and every stop would end with a kill. PostgreSQL ends fast and cleanly with SIGINT, nginx finishes its requests with SIGQUIT.',
    accepted:
      'signal: one of SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGABRT, SIGALRM, SIGPWR, SIGKILL, SIGRTMIN+3; grace: a duration from 1s to 1h',
    failing: '{ "stop": { "signal": "INT" } }',
    corrected: '{ "stop": { "signal": "SIGINT", "grace": "30s" } }',
    origin: 'extension',
  },
  file_invalid: {
    status: 422,
    field: 'files[<i>].<field>',
    title: 'A file for the container cannot be read, or its path is taken.',
    cause:
      '`files` are small configuration files that the container finds at absolute paths, read-only. Each has `path` and either `content` (text) or `base64` (bytes), and may have a `mode` of three octal digits in quotation marks. A path is no volume, in no volume and in no other file, and not one that the kernel or the engine fills. All of them are 262,144 bytes at most (`field_too_large`). A credential in one is refused like one in the environment: secrets are delivered as variables.',
    accepted:
      '[{"path": "/etc/nginx/conf.d/site.conf", "content": "…"}], with "base64" instead of "content" for bytes, "mode": "0444"',
    failing: '{ "files": [{ "path": "../nginx.conf", "content": "events {}" }] }',
    corrected: '{ "files": [{ "path": "/etc/nginx/nginx.conf", "content": "events {}" }] }',
    origin: 'extension',
  },
  environment_invalid: {
    status: 422,
    field: 'environment.<key>',
    title: 'A variable has a name that a process environment cannot hold, or a placeholder as its value.',
    cause:
      'The name ends at the first equals sign, and programs cannot read back a name with a space or a leading digit. The same rule holds for the names in `composedEnvironment`. A `{{secret.<resource>.<key>}}` in `environment` would reach the workload as it stands: templates belong in `composedEnvironment`, and `expected` prints the entry.',
    accepted:
      'a letter or underscore, then letters, digits, underscores, dots and hyphens, at most 256 characters: [A-Za-z_][A-Za-z0-9_.-]*; a constant as its value',
    failing: '{ "environment": { "LOG LEVEL": "info" } }',
    corrected: '{ "environment": { "LOG_LEVEL": "info" } }',
    origin: 'extension',
  },
  field_too_large: {
    status: 422,
    field: 'computed',
    title: 'A field is larger than a spec may hold.',
    cause:
      'Specs are read whole, again and again, by the control plane and by agents, and every version of them is kept: a field that is sent without bounds would take memory from every tenant. A field of a deployment or job may be 65,536 bytes as JSON, a list or map may have 1,024 entries, and all fields together may be 262,144 bytes. Files and large data belong in the image, in a volume or in a secret.',
    accepted:
      'at most 65,536 bytes of JSON in one field, 1,024 entries in a list or map, and 262,144 bytes in all',
    failing: '{ "labels": { "notes": "<70,000 bytes of text>" } }',
    corrected: '{ "labels": { "notes": "see the runbook" } }',
    origin: 'extension',
  },
  ports_invalid: {
    status: 422,
    field: 'ports[<i>].<field>',
    title: 'A port mapping is malformed.',
    cause:
      'Each entry maps a port of the container to one of the host. The usual reasons are a missing container port, a port outside 1-65535, or the same host port twice, which no node could open. Without `host` the port is not opened on the node.',
    accepted: '{ "container": 1-65535, "host": 1-65535 }, host optional, each host port once',
    failing: '{ "ports": [ { "container": 8080, "host": 80800 } ] }',
    corrected: '{ "ports": [ { "container": 8080, "host": 18080 } ] }',
    origin: 'extension',
  },
  ingress_invalid: {
    status: 422,
    field: 'ingress[<i>].<field>',
    title: 'An entry of the ingress is malformed.',
    cause:
      'Each entry is a way in to the deployment. Of `http`, a plain DNS name: a scheme, a port, a wildcard or a character of the rule language of a proxy could route the traffic of others; names in other scripts are sent in their ASCII form (`xn--…`). A `path` is a prefix of whole segments. `tcp` and `udp` have no host: they come in at `listen`, a port of the ingress nodes, and are passed on as they are. `port` is the one on which the container listens. Each host with its path, and each port, stands once, at most one entry is for Traefik, and there are at most 32. An entry that is sent by itself, without a list, has fields without an index (`ingress.host`).',
    accepted:
      '{ "host": "<lowercase DNS name>", "path": "/prefix", "port": 1-65535, "tls": "auto" | "off" | { "vault_path": "<namespace>/<label>" } }, or { "protocol": "tcp" | "udp", "listen": 1-65535, "port": 1-65535 }; "provider": "traefik" with host and port alone',
    failing: '{ "ingress": [{ "host": "https://shop.example.com/", "port": 8080 }] }',
    corrected: '{ "ingress": [{ "host": "shop.example.com", "port": 8080 }] }',
    origin: 'extension',
  },
  ingress_host_taken: {
    status: 409,
    field: 'ingress[<i>].host',
    title: 'Another deployment of the tenant has this host, or this port of the ingress nodes.',
    cause:
      'Requests for a host and a path, or connections to a port of the ingress nodes, go to one deployment. It is held from the write that names it until a write that does not, or until the deployment is deleted; a stopped deployment keeps it. `why` names the holder. A rollback or a restore whose host was taken meanwhile is refused in the same way. The same host with another `path` is free, and what other tenants have does not matter. Entries for Traefik are not held.',
    accepted:
      'a host with a path, or a port, that no other deployment of the tenant has; or release it there first',
    failing: '{ "ingress": [{ "host": "shop.example.com", "port": 8080 }] }',
    corrected: '{ "ingress": [{ "host": "shop.example.com", "path": "/api", "port": 8080 }] }',
    origin: 'extension',
  },
  ingress_host_not_found: {
    status: 404,
    field: 'host',
    title: 'No deployment of this tenant has that host.',
    cause:
      'The host is in `ingress` of none of its deployments, or belongs to another tenant; the cases are answered alike.',
    accepted: 'a host that berth ingress lists, without its path',
    failing: 'POST /api/v1/ingress/shpo.example.com/revoke',
    corrected: 'POST /api/v1/ingress/shop.example.com/revoke',
    origin: 'extension',
  },
  ingress_certificate_not_issued: {
    status: 409,
    field: 'host',
    title: 'Berth got no certificate for this host.',
    cause:
      "Only what ingress nodes got from the authority themselves (`tls: auto`) can be revoked by them. The host is served without TLS, or with a certificate of a secret: revoke that where it was issued, and write another one into the secret. Or no node of the tenant serves the ingress, so that nobody has the key; then the authority's own site is the way.",
    accepted: 'a host with tls auto that an ingress node serves',
    failing: 'POST /api/v1/ingress/plain.example.com/revoke      whose entry has "tls": "off"',
    corrected: 'POST /api/v1/ingress/shop.example.com/revoke      whose entry has "tls": "auto"',
    origin: 'extension',
  },
  certificate_not_revoked: {
    status: 503,
    field: 'host',
    title: 'The ingress node could not have the certificate revoked.',
    cause:
      'The authority refused, or did not answer; `why` has its words. Nothing was changed: the certificate is served as before. The same request can be sent again at any time; a certificate that is revoked already counts as done.',
    accepted: 'the same request, once the authority answers',
    failing: 'POST /api/v1/ingress/shop.example.com/revoke      while the authority is away',
    corrected: 'POST /api/v1/ingress/shop.example.com/revoke      once it answers',
    origin: 'extension',
  },
  update_invalid: {
    status: 422,
    field: 'update.<field>',
    title: 'The settings of the rolling update are malformed or cannot make progress.',
    cause:
      'With `maxSurge` 0 and `maxUnavailable` 0 no instance may be started before one is stopped, and none may be stopped either, so the rollout would never move. Counts are integers from 0 to 100; `progressDeadline` is a duration; `onFailure` says what happens when it passes.',
    accepted:
      'maxSurge and maxUnavailable from 0 to 100, not both 0; progressDeadline from 1s to 24h; onFailure "rollback" or "leave"',
    failing: '{ "update": { "maxSurge": 0, "maxUnavailable": 0 } }',
    corrected:
      '{ "update": { "maxSurge": 1, "maxUnavailable": 0, "progressDeadline": "5m", "onFailure": "rollback" } }',
    origin: 'extension',
  },
  labels_invalid: {
    status: 422,
    field: 'labels.<key>',
    title: 'A label has a key or a value that cannot be used.',
    cause:
      'Labels are compared by the scheduler and written onto containers, so they must be short and printable: a space, a control character or a symbol at either end of the key makes a label that cannot be selected. The same rule holds for the labels of nodes and networks.',
    accepted:
      'keys of letters, digits, "_", ".", "/" and "-", at most 253 characters, starting and ending with a letter or digit; values of at most 4,096 characters without control characters',
    failing: '{ "labels": { "team name": "shop" } }',
    corrected: '{ "labels": { "team-name": "shop" } }',
    origin: 'extension',
  },
  label_reserved: {
    status: 422,
    field: 'labels.<key>',
    title: 'The label key belongs to the platform.',
    cause:
      'Labels that start with `berth.io/` tell the platform which tenant and deployment a container belongs to, and `traefik.` labels configure the reverse proxy. A workload that could set them could take over the containers or the traffic of others. Routes are declared with `ingress`.',
    accepted: 'keys that start with neither "berth.io/" nor "traefik."',
    failing: '{ "labels": { "traefik.enable": "true" } }',
    corrected: '{ "ingress": { "host": "shop.example.com", "port": 8080 } }',
    origin: 'extension',
  },
  healthcheck_duration_invalid: {
    status: 422,
    field: 'healthCheck.<field>',
    title: 'A duration of the health check cannot be read.',
    cause:
      '`timeout`, `interval`, `startPeriod` and `restartAfter` (which may also be `never`, and is at least 1s) are duration strings: numbers with a unit, without spaces. A number without a unit says nothing, and guessing seconds where milliseconds were meant changes the check a thousandfold.',
    accepted: 'a duration of at most 24h such as "10s", "1m30s" or "500ms"',
    failing: '{ "healthCheck": { "type": "exec", "command": ["/bin/check"], "interval": "10" } }',
    corrected: '{ "healthCheck": { "type": "exec", "command": ["/bin/check"], "interval": "10s" } }',
    origin: 'extension',
  },
  depends_on_invalid: {
    status: 422,
    field: 'dependsOn.<name>',
    title: 'A dependency has no valid name or no known condition.',
    cause:
      'Each entry names a deployment of the same tenant and the condition to wait for: `healthy` (its health check passes) or `started` (a container runs). A dependency that does not exist yet is not refused: the deployment is stored with a warning and waits.',
    accepted: '{ "<deployment name>": "healthy" | "started" }',
    failing: '{ "dependsOn": { "db": "ready" } }',
    corrected: '{ "dependsOn": { "db": "healthy" } }',
    origin: 'extension',
  },
  depends_on_cycle: {
    status: 422,
    field: 'dependsOn.<name>',
    title: 'The deployments would wait for one another in a circle.',
    cause:
      'Each deployment of the circle would wait for the next, and none would ever start. A deployment that depends on itself is the smallest case. The rejection prints the circle, taken from this description and the stored ones.',
    accepted: 'dependencies without a circle',
    failing: '{ "name": "web", "dependsOn": { "web": "healthy" } }',
    corrected: '{ "name": "web", "dependsOn": { "db": "healthy" } }',
    origin: 'extension',
  },
  networks_invalid: {
    status: 422,
    field: 'computed',
    title: 'The list of networks cannot be used.',
    cause:
      "`networks` names the networks that containers are attached to instead of the tenant's; `tenant` adds that one. Absent, it is the tenant's alone.",
    accepted: '1 to 16 names of networks, each once',
    failing: '{ "networks": [] }',
    corrected: '{ "networks": ["backend", "tenant"] }',
    origin: 'extension',
  },
  access_invalid: {
    status: 422,
    field: 'computed',
    title: 'It cannot be said so who may connect.',
    cause:
      "`access.from` lists the deployments and jobs whose connections are let through, and `ingress` for requests from outside. It needs the tenant's network, on which it is enforced, and a deployment with an `ingress` has to let it through.",
    accepted: 'names of deployments and jobs, each once, and ingress; an empty list for nobody',
    failing: '{ "access": { "from": ["Web"] } }',
    corrected: '{ "access": { "from": ["web"] } }',
    origin: 'extension',
  },
  access_source_unknown: {
    status: 422,
    field: 'access.from[<index>]',
    title: 'access.from names neither a deployment nor a job of the tenant.',
    cause:
      'A mistyped name would let nobody through and would be noticed by connections that fail. Names that are created by the same `berth apply` (query `alongside`), and those of a spec that is restored or rolled back to, are stored with a warning.',
    accepted: 'names of deployments and jobs of the tenant, and ingress',
    failing:
      'POST /api/v1/deployments      while there is no "wbe"\n\n{ "name": "db", "access": { "from": ["wbe"] } }',
    corrected:
      'POST /api/v1/deployments      once there is "web"\n\n{ "name": "db", "access": { "from": ["web"] } }',
    origin: 'extension',
  },
  resources_invalid: {
    status: 422,
    field: 'resources.<field>',
    title: 'A resource request or limit cannot be used.',
    cause:
      '`cpu` is a number of cores above 0; `memory` is a string with a unit (`Ki`, `Mi`, `Gi`, `Ti`, or `k`, `M`, `G`, `T` for powers of 1,000). A request above its limit could never be granted. Requests inform placement and are not reservations; limits bind the container.',
    accepted:
      'cpu above 0 and at most 1,024 cores, such as 0.5; memory of at least 4Mi, such as "256Mi"; requests not above limits',
    failing:
      '{ "resources": { "requests": { "cpu": 0.5, "memory": "1Gi" }, "limits": { "memory": "512Mi" } } }',
    corrected:
      '{ "resources": { "requests": { "cpu": 0.5, "memory": "256Mi" }, "limits": { "memory": "512Mi" } } }',
    origin: 'extension',
  },
  scaling_policy_invalid: {
    status: 422,
    field: 'computed',
    title: 'The scaling policy is malformed or contradicts itself.',
    cause:
      'The policy moves the number of replicas between its bounds towards the target load, not more often than the cooldown. `minReplicas` above `maxReplicas` leaves no number; a bound outside the range of replicas could not be stored. A read-write volume allows one replica, so nothing can be scaled there.',
    accepted:
      'minReplicas ≤ maxReplicas ≤ max_replicas_per_deployment, targetCpuPercent 1-100, cooldown such as "60s"',
    failing: '{ "minReplicas": 5, "maxReplicas": 2, "targetCpuPercent": 70, "cooldown": "60s" }',
    corrected: '{ "minReplicas": 2, "maxReplicas": 5, "targetCpuPercent": 70, "cooldown": "60s" }',
    origin: 'extension',
  },
  scaling_policy_not_found: {
    status: 404,
    field: 'name',
    title: 'The deployment has no scaling policy.',
    cause:
      'The deployment exists, but no policy was set for it, or it was deleted. Without one, `replicas` changes only by PUT.',
    accepted: 'a deployment with a policy; set one with PUT /api/v1/deployments/{name}/scaling-policy',
    failing: 'GET /api/v1/deployments/web/scaling-policy',
    corrected:
      'PUT /api/v1/deployments/web/scaling-policy\n\n{ "minReplicas": 2, "maxReplicas": 5, "targetCpuPercent": 70, "cooldown": "60s" }',
    origin: 'extension',
  },
  canary_invalid: {
    status: 422,
    field: 'computed',
    title: 'The canary is malformed.',
    cause:
      'A canary runs a few instances of a changed spec beside the stable ones. It needs either an image or a spec, not both and not neither, and at least one replica. The changed spec is checked by the same rules as a deployment; a second writer of a volume is not possible beside the stable instance.',
    accepted: '{ "image": "<pinned reference>", "replicas": 1 } or { "spec": { … }, "replicas": 1 }',
    failing: '{ "replicas": 0 }',
    corrected: '{ "image": "registry.internal:5000/shop/web:1.5.0", "replicas": 1 }',
    origin: 'extension',
  },
  canary_not_found: {
    status: 404,
    field: 'name',
    title: 'The deployment has no canary to promote or abort.',
    cause:
      'No canary was started, or it was already promoted or aborted, possibly by somebody else a moment ago.',
    accepted: 'a deployment with a running canary; start one with POST /api/v1/deployments/{name}/canary',
    failing: 'POST /api/v1/deployments/web/canary/promote',
    corrected:
      'POST /api/v1/deployments/web/canary\n\n{ "image": "registry.internal:5000/shop/web:1.5.0", "replicas": 1 }',
    origin: 'extension',
  },
  canary_already_exists: {
    status: 409,
    field: 'name',
    title: 'A canary runs beside the deployment already.',
    cause:
      'Two canaries at once could not be told apart in the traffic they share, so a deployment has one at a time. `status.canary` of the deployment shows it.',
    accepted: 'promote or abort the running canary, then start the next one',
    failing:
      'POST /api/v1/deployments/web/canary      while one runs\n\n{ "image": "registry.internal:5000/shop/web:1.6.0", "replicas": 1 }',
    corrected:
      'POST /api/v1/deployments/web/canary/abort\nPOST /api/v1/deployments/web/canary\n\n{ "image": "registry.internal:5000/shop/web:1.6.0", "replicas": 1 }',
    origin: 'extension',
  },
  instance_not_found: {
    status: 404,
    field: 'instance',
    title: 'The deployment has no such instance.',
    cause:
      'Instances come and go with updates, rotations and lost nodes, so an id read a while ago may be gone. Read the list again.',
    accepted: 'an id listed by GET /api/v1/deployments/{name}/instances',
    failing: 'GET /api/v1/deployments/web/logs?instance=ins_gone',
    corrected: 'GET /api/v1/deployments/web/instances',
    origin: 'extension',
  },
  signal_invalid: {
    status: 422,
    field: 'signal',
    title: 'No signal of this name can be sent to an instance.',
    cause:
      'Signals are sent by name, and only those that a program may answer or that end it: one that halts it would leave an instance that runs and does nothing.',
    accepted: `one of: ${INSTANCE_SIGNALS.join(', ')}`,
    failing: 'POST /api/v1/deployments/web/instances/ins_01jdexample/signal\n\n{ "signal": "SIGSTOP" }',
    corrected: 'POST /api/v1/deployments/web/instances/ins_01jdexample/signal\n\n{ "signal": "SIGHUP" }',
    origin: 'extension',
  },
  instance_not_running: {
    status: 409,
    field: 'instance',
    title: 'The instance is not in a state in which this can be done.',
    cause:
      'A signal needs a container that runs, and an instance that is on its way out is not restarted: the deployment has another one in its place already, or wants fewer. `why` says which.',
    accepted: 'an instance that is wanted and, for a signal, whose state is running',
    failing:
      'POST /api/v1/deployments/web/instances/ins_01jdexample/signal      while its container starts\n\n{ "signal": "SIGHUP" }',
    corrected:
      'POST /api/v1/deployments/web/instances/ins_01jdexample/signal      once its state is running\n\n{ "signal": "SIGHUP" }',
    origin: 'extension',
  },
  exec_unavailable: {
    status: 503,
    field: 'instance',
    title: 'A command cannot be run in the instance at the moment.',
    cause:
      'The instance has no running container, or its node does not permit commands in containers. Nothing was run.',
    accepted: 'an instance whose state is running, on a node that permits it',
    failing: 'POST /api/v1/deployments/web/exec      while no instance is running',
    corrected: 'GET /api/v1/deployments/web/instances      and choose one that is running',
    origin: 'extension',
  },
  job_invalid: {
    status: 422,
    field: 'computed',
    title: 'The job is malformed.',
    cause:
      'What a job shares with a deployment is checked by the same rules and codes. This code is for what only a job has: `kind` must be `Job`, `schedule` a cron expression of five fields, or six with seconds first, in UTC, that fits some moment, `timeout` a duration, `retries` an integer from 0 to 10, and `before` names a deployment and a command for one of its instances, with a timeout of its own up to an hour.',
    accepted:
      'kind "Job"; schedule such as "0 3 * * *"; timeout from 1s to 720h such as "30m"; retries an integer from 0 to 10; before { deployment, command, timeout from 1s to 1h }',
    failing: '{ "kind": "Job", "name": "nightly-report", "schedule": "every night" }',
    corrected: '{ "kind": "Job", "name": "nightly-report", "schedule": "0 3 * * *" }',
    origin: 'extension',
  },
  job_before_deployment_not_found: {
    status: 404,
    field: 'before.deployment',
    title: 'The job has a command before it in a deployment that does not exist.',
    cause:
      'Before each run the command of `before` is run in an instance of that deployment, and without one the run fails: a backup that nobody notices to be missing. So a deployment that is not there is refused where `before` is written or changed. One of another tenant gets the same answer. A deployment that is deleted later fails the runs, with the reason `before_unavailable`.',
    accepted: 'a deployment listed by GET /api/v1/deployments, or before left out',
    failing:
      '{ "kind": "Job", "name": "backup-pg-data", "before": { "deployment": "pgg", "command": ["/bin/dump"] } }',
    corrected:
      '{ "kind": "Job", "name": "backup-pg-data", "before": { "deployment": "pg", "command": ["/bin/dump"] } }',
    origin: 'extension',
  },
  job_not_found: {
    status: 404,
    field: 'name',
    title: 'No job of this tenant has that name.',
    cause: 'The job does not exist, was deleted, or belongs to another tenant; the cases are answered alike.',
    accepted: 'a name listed by GET /api/v1/jobs',
    failing: 'POST /api/v1/jobs/nightly/run',
    corrected: 'POST /api/v1/jobs/nightly-report/run',
    origin: 'extension',
  },
  job_already_exists: {
    status: 409,
    field: 'name',
    title: 'A job with this name exists already.',
    cause:
      'POST creates and never changes. To run an existing job once more, start it; to change it, send PUT.',
    accepted:
      'a name that is free in this tenant; change the existing job with PUT /api/v1/jobs/{name}, run it with POST /api/v1/jobs/{name}/run',
    failing:
      'POST /api/v1/jobs\n\n{ "kind": "Job", "name": "nightly-report", "image": "registry.internal:5000/shop/report:1.0.0" }',
    corrected: 'POST /api/v1/jobs/nightly-report/run',
    origin: 'extension',
  },
  job_already_running: {
    status: 409,
    field: 'name',
    title: 'A run of this job is under way.',
    cause:
      'A job has one run at a time: two at once could write the same data twice. The rejection names the run. Wait for its end, or cancel it.',
    accepted: 'a job without a run under way; end one with POST /api/v1/jobs/{name}/cancel',
    failing: 'POST /api/v1/jobs/nightly-report/run      while it runs',
    corrected: 'POST /api/v1/jobs/nightly-report/run      after its run has ended',
    origin: 'extension',
  },
  job_not_running: {
    status: 409,
    field: 'name',
    title: 'There is no run to cancel.',
    cause: 'No run of the job is under way; it may have ended a moment ago. Nothing was changed.',
    accepted: 'a job whose status is Pending, Running or Retrying',
    failing: 'POST /api/v1/jobs/nightly-report/cancel      after its run has ended',
    corrected: 'GET /api/v1/jobs/nightly-report',
    origin: 'extension',
  },
  job_run_not_found: {
    status: 404,
    field: 'run',
    title: 'The job has no such run or attempt.',
    cause:
      'Of each job the newest 20 runs are kept, with what each attempt printed. The run may be older, belong to another job, or have had fewer attempts.',
    accepted: 'the id of a run listed by GET /api/v1/jobs/{name}, and an attempt that was made',
    failing: 'GET /api/v1/jobs/nightly-report/logs?run=run_gone',
    corrected: 'GET /api/v1/jobs/nightly-report/logs',
    origin: 'extension',
  },
});
