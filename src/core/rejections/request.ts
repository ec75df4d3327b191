import { entries } from './entry.ts';

/** Refusals of the request itself, before or beside any record. */
export const requestCodes = entries({
  body_malformed: {
    status: 400,
    field: 'body',
    title: 'The body cannot be parsed.',
    cause:
      'The text is not one complete JSON document (or YAML document, where `application/yaml` is accepted), is not valid UTF-8, holds the same key twice in one object (one of the two values would be lost), holds a fraction that would be read as a whole number (`100.00000000000000001`, `1e-400`), or uses the key `__proto__`. The body is never repeated in the rejection, because a broken one may hold a credential anywhere.',
    accepted:
      'one well-formed JSON document (or YAML document, where application/yaml is accepted) in UTF-8, each key once in its object',
    failing: 'POST /api/v1/deployments      trailing comma\n \n{ "name": "web", }',
    corrected: 'POST /api/v1/deployments\n\n{ "name": "web" }',
    origin: 'extension',
  },
  body_too_large: {
    status: 413,
    field: 'body',
    title: 'The body is larger than the limit.',
    cause:
      'Bodies are held in memory while they are checked, so their size is bounded (1 MiB unless configured otherwise, and 20,000 members of lists and objects, 40,000 in a backup; YAML, which is slow to read, 64 KiB and a number of parts). Descriptions of workloads are small; files that a workload needs belong in its image or on a volume.',
    accepted: 'a body of at most 1 MiB (1,048,576 bytes), or the configured limit',
    failing: 'POST /api/v1/deployments\nContent-Length: 5000000',
    corrected: 'POST /api/v1/deployments\nContent-Length: 2048',
    origin: 'extension',
  },
  body_too_deep: {
    status: 400,
    field: 'body',
    title: 'The body is nested too deeply.',
    cause:
      'Depth is counted before the text is parsed, so that a small body of brackets cannot exhaust the stack. No document of this interface needs more than a few levels; a deeper one is usually a document wrapped into itself by a script.',
    accepted: 'at most 32 levels of objects and arrays',
    failing: 'POST /api/v1/deployments      33 or more levels, [[[[ … ]]]]',
    corrected:
      'POST /api/v1/deployments\n\n{ "name": "web", "placement": { "residency": { "country": "DE" } } }',
    origin: 'extension',
  },
  content_type_unsupported: {
    status: 415,
    field: 'Content-Type',
    title: 'The media type of the body is not supported on this route.',
    cause:
      'The server does not guess the format of a body. All writes take `application/json`; writes of deployments, jobs, networks and volumes take `application/yaml` too. The charset, if given, must be utf-8, and the body must not be compressed.',
    accepted: 'application/json; also application/yaml for deployments, jobs, networks and volumes',
    failing: 'POST /api/v1/deployments\nContent-Type: text/plain',
    corrected: 'POST /api/v1/deployments\nContent-Type: application/json',
    origin: 'extension',
  },
  route_not_found: {
    status: 404,
    field: 'path',
    title: 'There is no such path.',
    cause:
      'The path matches no route. The usual reasons are a missing `/api/v1`, a singular noun (`deployment` for `deployments`) and a trailing slash. All routes are listed in `/openapi.json`.',
    accepted: 'a path listed in /openapi.json',
    failing: 'GET /api/v1/deployment/web',
    corrected: 'GET /api/v1/deployments/web',
    origin: 'extension',
  },
  method_not_allowed: {
    status: 405,
    field: 'method',
    title: 'The path exists, but not with this method.',
    cause:
      'The `Allow` header of the answer lists the methods of the path. There is no PATCH: PUT replaces each field that is sent and leaves the others as they are.',
    accepted: 'a method listed in the Allow header',
    failing: 'PATCH /api/v1/deployments/web\n\n{ "replicas": 3 }',
    corrected: 'PUT /api/v1/deployments/web\n\n{ "replicas": 3 }',
    origin: 'extension',
  },
  unauthenticated: {
    status: 401,
    field: 'Authorization',
    title: 'The request carries no valid credential.',
    cause:
      'The header is missing, is not a Bearer credential, or the token is unknown, mistyped (its checksum fails), expired or revoked. The answer does not say which, so that nothing can be learned about tokens by trying.',
    accepted: 'Authorization: Bearer <token> with a live token',
    failing: 'GET /api/v1/deployments',
    corrected: 'GET /api/v1/deployments\nAuthorization: Bearer <your token>',
    origin: 'extension',
  },
  tenant_forbidden: {
    status: 403,
    field: 'X-Tenant-ID',
    title: 'The credential does not act for the tenant that the request names.',
    cause:
      'The tenant follows from the credential. The header `X-Tenant-ID` and a tenant in the path are assertions that are compared with it; they never widen it. Only a platform token may act for a tenant it names.',
    accepted: 'the tenant of the credential, or no X-Tenant-ID',
    failing: 'GET /api/v1/deployments      with a token of the tenant shop\nX-Tenant-ID: bank',
    corrected: 'GET /api/v1/deployments      with a token of the tenant shop\nX-Tenant-ID: shop',
    origin: 'extension',
  },
  role_forbidden: {
    status: 403,
    field: 'Authorization',
    title: 'The role of the credential does not permit this operation.',
    cause:
      'Each role may do what its job needs: `viewer` reads, `deployer` writes workloads, with new secrets or those of the workload alone, `secret-writer` writes secrets, `tenant-admin` also enrols nodes and issues tokens, `platform-admin` manages tenants, `metrics` reads `/metrics` and nothing else. No role can read a secret value back.',
    accepted: 'a credential with a role that permits the operation; the rejection names the roles',
    failing: 'PUT /api/v1/secrets/resources/db      with a token of the role viewer',
    corrected: 'PUT /api/v1/secrets/resources/db      with a token of the role secret-writer',
    origin: 'extension',
  },
  csrf_token_invalid: {
    status: 403,
    field: 'X-CSRF-Token',
    title: 'A write with a session cookie does not carry the session’s CSRF token.',
    cause:
      'A browser sends the cookie of the dashboard with every request, also with one that another site provoked, so a write must prove that the dashboard itself made it. Clients that use `Authorization: Bearer` need no such token. Reload the dashboard if this appears there.',
    accepted: 'the CSRF token of the session in X-CSRF-Token, or a Bearer credential in place of the cookie',
    failing: 'DELETE /api/v1/deployments/web\nCookie: <session>',
    corrected: 'DELETE /api/v1/deployments/web\nCookie: <session>\nX-CSRF-Token: <token of the session>',
    origin: 'extension',
  },
  origin_forbidden: {
    status: 403,
    field: 'Origin',
    title: 'A WebSocket was asked for by a page of another site.',
    cause:
      'A browser lets any page open a WebSocket to any host and sends the cookie along, so that the host has to look where the page came from. The dashboard of the control plane itself may; programs send `Authorization` and no `Origin`.',
    accepted: 'the origin of the control plane itself, or an Authorization header and no Origin',
    failing: 'GET /api/v1/deployments/web/exec\nOrigin: https://elsewhere.example',
    corrected: 'GET /api/v1/deployments/web/exec\nUpgrade: websocket\nSec-WebSocket-Protocol: berth.exec.v1',
    origin: 'extension',
  },
  upgrade_required: {
    status: 426,
    field: 'Upgrade',
    title: 'This is spoken over a WebSocket only.',
    cause:
      'What is asked for goes on in both directions: input, output, the size of a terminal, signals. A request of HTTP has one answer. For a command without input, `POST` to the same path answers with what it printed.',
    accepted: 'a WebSocket of the subprotocol berth.exec.v1',
    failing: 'GET /api/v1/deployments/web/exec',
    corrected: 'GET /api/v1/deployments/web/exec\nUpgrade: websocket\nSec-WebSocket-Protocol: berth.exec.v1',
    origin: 'extension',
  },
  tenant_not_found: {
    status: 404,
    field: 'tenant',
    title: 'There is no such tenant.',
    cause:
      'No tenant has this UUID or slug, or the credential may not know of it; the two are answered alike. Platform administrators list tenants with `GET /api/v1/tenants`.',
    accepted: 'the UUID or the slug of an existing tenant',
    failing: 'GET /api/v1/tenants/shpo',
    corrected: 'GET /api/v1/tenants/shop',
    origin: 'extension',
  },
  apply_dry_run_only: {
    status: 422,
    field: 'dryRun',
    title: 'A set of documents is planned as a whole, and not written as a whole.',
    cause:
      'Each document has its own write, with its own revision, audit line and answer; a request that wrote many would have to hide which of them were stored when one fails. Ask for the plan of the set, then write its documents in the order of the plan, as `berth apply -f` does.',
    accepted: 'true',
    failing: 'POST /api/v1/apply\n\n[{ "name": "web", "image": "registry.internal:5000/shop/web:1.4.2" }]',
    corrected:
      'POST /api/v1/apply?dryRun=true\n\n[{ "name": "web", "image": "registry.internal:5000/shop/web:1.4.2" }]',
    origin: 'extension',
  },
  document_described_twice: {
    status: 422,
    field: 'computed',
    title: 'Two documents of the set describe the same record.',
    cause: 'One of them would undo the other, and which one would depend on their order.',
    accepted: 'one document per kind and name',
    failing:
      'POST /api/v1/apply?dryRun=true\n\n[{ "name": "web", "image": "registry.internal:5000/shop/web:1.4.2" }, { "name": "web", "image": "registry.internal:5000/shop/web:1.4.3" }]',
    corrected:
      'POST /api/v1/apply?dryRun=true\n\n[{ "name": "web", "image": "registry.internal:5000/shop/web:1.4.3" }]',
    origin: 'extension',
  },
  field_unknown: {
    status: 422,
    field: 'computed',
    title: 'The body has a field that this record does not have.',
    cause:
      'A field that was ignored would be a setting that is believed to be active and is not. Names are case-sensitive, camelCase except where the interface says otherwise (`vault_path`, `mount_path`, `node_id`). The rejection names the nearest known field, and for words of other systems (`count`, `env`, `restart_policy`, `mem_limit`, `livenessProbe` …) the field that is meant here.',
    accepted: 'only documented fields',
    failing: '{ "name": "web", "healthcheck": { "type": "exec", "command": ["/bin/check"] } }',
    corrected: '{ "name": "web", "healthCheck": { "type": "exec", "command": ["/bin/check"] } }',
    origin: 'extension',
  },
  field_type_invalid: {
    status: 422,
    field: 'computed',
    title: 'A field has the wrong JSON type.',
    cause:
      'Values are not converted: a number in quotes is a string, a single object is not a list. In YAML, unquoted true, 8080 and 1.10 are not strings, which is the usual cause in `environment`; quote them.',
    accepted: 'the documented type of the field',
    failing: '{ "environment": { "WORKERS": 4 } }',
    corrected: '{ "environment": { "WORKERS": "4" } }',
    origin: 'extension',
  },
  name_mismatch: {
    status: 422,
    field: 'name',
    title: 'The name in the path and the name in the body differ.',
    cause:
      'A name cannot be changed: it is the identity of the record. When the two differ, one of them is a mistake, and acting on either could change the wrong record. To rename, create a new one and delete the old.',
    accepted: 'the name of the path, or no name in the body',
    failing: 'PUT /api/v1/deployments/web\n\n{ "name": "web-2", "replicas": 3 }',
    corrected: 'PUT /api/v1/deployments/web\n\n{ "name": "web", "replicas": 3 }',
    origin: 'extension',
  },
  revision_mismatch: {
    status: 412,
    field: 'If-Match',
    title: 'The record has changed since it was read.',
    cause:
      '`If-Match` carries the `ETag` of the version on which the change is based. Another write came in between; going on would undo it without anybody noticing. Read the record, make the change on top of it and send it with the new `ETag`.',
    accepted: 'the ETag of the current record, or no If-Match to overwrite on purpose',
    failing: 'PUT /api/v1/deployments/web\nIf-Match: "41"\n\n{ "replicas": 3 }',
    corrected: 'PUT /api/v1/deployments/web\nIf-Match: "42"\n\n{ "replicas": 3 }',
    origin: 'extension',
  },
  plan_outdated: {
    status: 412,
    field: 'plan',
    title: 'The plan is not what would happen now.',
    cause:
      'The query parameter `plan` carries the id of a plan that a dry run showed. It names the record as it was, the document, and what becomes of each instance and where. One of them is another by now: somebody changed the record, the document is not the one that was planned, or instances and nodes moved so that another instance would be replaced or another node chosen. Nothing was stored.',
    accepted: 'the id of a plan that still holds, or no plan to store whatever it does',
    failing: 'PUT /api/v1/deployments/web?plan=0b6d8f12-5c3e9a77-e1f04d28\n\n{ "replicas": 3 }',
    corrected: 'PUT /api/v1/deployments/web?dryRun=true\n\n{ "replicas": 3 }',
    origin: 'extension',
  },
  header_duplicate: {
    status: 400,
    field: 'computed',
    title: 'A header that may appear once was sent more than once.',
    cause:
      'Proxies and servers differ in which of two equal headers they believe. For headers that decide who acts, for whom and on which version (`Authorization`, `X-Tenant-ID`, `If-Match`, `Idempotency-Key`, `Content-Type`) two values are refused rather than one chosen.',
    accepted: 'each of these headers at most once',
    failing: 'GET /api/v1/deployments\nX-Tenant-ID: shop\nX-Tenant-ID: bank',
    corrected: 'GET /api/v1/deployments\nX-Tenant-ID: shop',
    origin: 'extension',
  },
  header_invalid: {
    status: 400,
    field: 'computed',
    title: 'A header has a value that cannot be used.',
    cause:
      'The value does not have the form that the header needs, for example an `If-Match` without quotes, an `Idempotency-Key` that is not 1-255 printable ASCII characters without spaces, or a `Last-Event-ID` that is not the id of an event.',
    accepted: 'the documented form of the header; the rejection states it',
    failing: 'POST /api/v1/deployments\nIdempotency-Key:',
    corrected: 'POST /api/v1/deployments\nIdempotency-Key: deploy-web-2024-11-05-1',
    origin: 'extension',
  },
  idempotency_key_conflict: {
    status: 409,
    field: 'Idempotency-Key',
    title: 'The idempotency key was used before with another request.',
    cause:
      'For 24 h a POST with the same key replays the first answer instead of acting again. This request has the key of an earlier one but another path or body, so replaying would hide it and acting would break the promise of the key.',
    accepted: 'a new key for a new request; the same key only with the same path and body',
    failing:
      'POST /api/v1/deployments\nIdempotency-Key: deploy-1      used for "web" before\n\n{ "name": "api" }',
    corrected: 'POST /api/v1/deployments\nIdempotency-Key: deploy-2\n\n{ "name": "api" }',
    origin: 'extension',
  },
  query_parameter_invalid: {
    status: 400,
    field: 'computed',
    title: 'A query parameter has a value that cannot be used.',
    cause:
      'The parameter is known, its value is not: a limit outside 1-1,000, a cursor that this server did not issue, a time that is not ISO 8601, a boolean other than true or false, or the same parameter twice. The server does not fall back to a default that was not asked for.',
    accepted: 'the documented form of the parameter, once; limit is an integer from 1 to 1,000',
    failing: 'GET /api/v1/deployments?limit=5000',
    corrected: 'GET /api/v1/deployments?limit=1000',
    origin: 'extension',
  },
  rate_limited: {
    status: 429,
    field: 'Authorization',
    title: 'The credential has sent too many requests.',
    cause:
      'Each token may send 1,000 requests per second with a burst of 2,000 (configurable), so that one client in a loop cannot starve the others. `Retry-After` says how many seconds to wait. To follow changes, use the event stream instead of polling.',
    accepted: 'at most 1,000 requests per second per token; wait for Retry-After',
    failing: 'GET /api/v1/deployments      in a loop without a pause',
    corrected: 'GET /api/v1/events?subject=web\nAccept: text/event-stream',
    origin: 'extension',
  },
  stream_limit_reached: {
    status: 429,
    field: 'Authorization',
    title: 'The credential, or its tenant, holds too many streams.',
    cause:
      'Event streams, logs and commands in containers last as long as their reader wants, and each takes a connection and memory of the control plane: 100 per token and 500 per tenant at once unless configured otherwise (`limits.streamsPerToken`, `limits.streamsPerTenant`), and never more than half of the connections that the process may have. Streams that nobody reads any more are usually those of a program that opens a new one without ending the old.',
    accepted:
      'fewer streams at once: one event stream tells of everything in the tenant; wait for Retry-After',
    failing: 'GET /api/v1/events      with 100 streams of the token open\nAccept: text/event-stream',
    corrected: 'GET /api/v1/events      after one of them was closed\nAccept: text/event-stream',
    origin: 'extension',
  },
  answers_unread: {
    status: 429,
    field: 'Authorization',
    title: 'Answers to the credential, or its tenant, were not read.',
    cause:
      'An answer is in memory of the control plane until its reader has taken it. A token may have 16 MiB of answers under way and a tenant 64 MiB unless configured otherwise (`limits.unreadBytesPerToken`, `limits.unreadBytesPerTenant`); a connection that takes nothing for 30 s (`limits.sendTimeout`) is ended. Pages of lists are at most 4 MiB; the `Link` header names the next one.',
    accepted: 'fewer long answers at once, each read to its end; wait for Retry-After',
    failing: 'GET /api/v1/deployments      while many other answers to the token are not read',
    corrected: 'GET /api/v1/deployments      after they were read',
    origin: 'extension',
  },
  connection_limit_reached: {
    status: 429,
    alsoStatus: 503,
    field: 'connection',
    title: 'There are too many connections of this address, or in all.',
    cause:
      'One address may hold 1,000 connections at once unless configured otherwise (`limits.connectionsPerAddress`; sessions of agents are not counted, and addresses in `limits.connectionsExempt`, which is where proxies belong, have no limit): 429. With status 503 the process has no more descriptors than it keeps for health, agents and its store (`limits.reservedDescriptors`); its limit is `LimitNOFILE` of its unit.',
    accepted: 'fewer connections, kept open and used again; wait for Retry-After',
    failing: 'GET /api/v1/deployments      over the 1,001st connection',
    corrected: 'GET /api/v1/deployments      over a connection that is open already',
    origin: 'extension',
  },
  cell_unavailable: {
    status: 503,
    alsoStatus: 502,
    field: 'cell',
    title: 'The cell of this credential cannot be reached.',
    cause:
      'Several installations (cells) are behind one address, and a token or session belongs to one of them. Its control plane is away or starting; other cells, and containers of this one, are not affected. With status 503 nothing was sent to the cell. With 502 the connection ended before the answer: whether a write was stored is not known, and an `Idempotency-Key` makes repeating a POST safe.',
    accepted: 'the same request later; Retry-After says when to try',
    failing: 'POST /api/v1/deployments      while the control plane of the cell is stopped',
    corrected: 'POST /api/v1/deployments      the unchanged body, after the cell is back',
    origin: 'extension',
  },
  cell_unknown: {
    status: 503,
    field: 'Authorization',
    title: 'The token names a cell that the router does not know.',
    cause:
      'A token made by a control plane with a `cell` ends its id with the name of that cell, by which the router in front of several cells chooses. The cell was removed from the description of the cells, was not added to it yet, or the token was altered. Add the cell to the file, run `berth cells haproxy` and reload the router; or take a token of a cell that exists.',
    accepted: 'a token of a cell that the router knows',
    failing: 'GET /api/v1/deployments      with a token of the cell eu3, which the router was not told of',
    corrected: 'GET /api/v1/deployments      after eu3 was added to cells.yaml and the router was reloaded',
    origin: 'extension',
  },
  store_unavailable: {
    status: 503,
    field: 'store',
    title: 'The key-value store cannot be reached, or the control plane is starting or shutting down.',
    cause:
      'Nothing can be read or stored reliably at the moment, so nothing was. Running containers are not affected. The request itself is fine. After a write that got this answer, the state before the write holds unless a read shows otherwise; an `Idempotency-Key` makes repeating a POST safe.',
    accepted:
      'the same request later; GET /healthz reports store.connected, and Retry-After says when to try',
    failing: 'POST /api/v1/deployments      while /healthz says "store": { "connected": false }',
    corrected:
      'POST /api/v1/deployments      the unchanged body, after /healthz says "store": { "connected": true }',
    origin: 'extension',
  },
  memory_low: {
    status: 503,
    field: 'server',
    title: 'The control plane has too little memory left to store more.',
    cause:
      'Everything that is alive is held in memory. Before it runs out, writes that add are refused: first those of tenants that have more stored than others, then all, and large bodies that come at the same time as many others. Reads, deletions, what agents report and what runs are not affected. Nothing was stored.',
    accepted:
      'the same request later, after records were deleted or the control plane was given more memory; Retry-After says when to try',
    failing: 'POST /api/v1/deployments      while the control plane is short of memory',
    corrected: 'POST /api/v1/deployments      the unchanged body, once it has room again',
    origin: 'extension',
  },
  internal_error: {
    status: 500,
    field: 'server',
    title: 'The control plane failed in a way it should not.',
    cause:
      'This is a bug, not a mistake in the request. The details are in the log of the control plane under the `X-Request-ID` of the answer and are not shown here, because they may hold data of others. A write that got this answer was not stored.',
    accepted: 'report the X-Request-ID to the operator; repeating the same request is unlikely to help',
    failing: 'HTTP/1.1 500 Internal Server Error\nX-Request-ID: req-example',
    corrected: 'Search the log of the control plane for req-example and report what it shows',
    origin: 'extension',
  },
});
