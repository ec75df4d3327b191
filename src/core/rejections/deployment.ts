import { entries } from './entry.ts';

/** Deployment, name, image, replicas, environment. */
export const deploymentCodes = entries({
  name_required: {
    status: 422,
    field: 'name',
    title: 'The deployment has no name.',
    cause:
      'The name is the identity of a deployment: container name, reverse-proxy router id, DNS alias on the tenant network and key-value path segment are all taken from it verbatim. The control plane never invents one. The field is absent, null or the empty string.',
    accepted: 'a lowercase DNS-style name, for example "web" or "order-api-2"',
    failing: '{ "kind": "Deployment", "image": "registry.internal:5000/shop/web:1.4.2" }',
    corrected: '{ "kind": "Deployment", "name": "web", "image": "registry.internal:5000/shop/web:1.4.2" }',
    origin: '7.1',
  },
  deployment_name_invalid: {
    status: 422,
    field: 'name',
    title: 'The deployment name holds characters that a DNS label cannot hold.',
    cause:
      'The name becomes a DNS alias, a container name and a path segment without any translation, so it must be valid in all three. Upper case, underscores, dots, slashes, spaces, a leading digit or hyphen and a trailing hyphen are the usual reasons. Characters are checked before the length.',
    accepted:
      'lowercase letters, digits and hyphens; starts with a letter; ends with a letter or digit; at most 63 characters',
    failing: '{ "name": "Order_API", "image": "registry.internal:5000/shop/orders:2.0.1" }',
    corrected: '{ "name": "order-api", "image": "registry.internal:5000/shop/orders:2.0.1" }',
    origin: '7.1',
  },
  deployment_name_too_long: {
    status: 422,
    field: 'name',
    title: 'The deployment name is longer than a DNS label may be.',
    cause:
      'A DNS label holds at most 63 characters, and the name is used as one without being shortened. A shortened alias could collide with another deployment, so a long name is refused and never cut.',
    accepted: 'at most 63 characters',
    failing: '{ "name": "checkout-service-for-the-european-storefront-behind-the-new-payment-gateway" }',
    corrected: '{ "name": "checkout-eu" }',
    origin: '7.1',
  },
  reserved_infrastructure_name: {
    status: 422,
    field: 'name',
    title: 'The name is reserved for the store the control plane itself connects to.',
    cause:
      'A deployment answers to its name on the tenant network. One that carried the name of the key-value store could receive the connections the control plane makes to its own database. The names are reserved for every tenant, the platform included; the operator sets them with the configuration key `reservedNames` (default: `etcd`, `berth-etcd`).',
    accepted:
      'any valid name that is not reserved; the rejection lists the names that are (by default etcd, berth-etcd)',
    failing: '{ "name": "etcd", "image": "registry.internal:5000/infra/etcd:3.5.17" }',
    corrected: '{ "name": "orders-etcd", "image": "registry.internal:5000/infra/etcd:3.5.17" }',
    origin: '7.1',
  },
  deployment_not_found: {
    status: 404,
    field: 'name, deployment_id',
    title: 'No deployment of this tenant has that name or id.',
    cause:
      'PUT changes an existing record and never creates one, so that a mistyped name cannot start a second workload. The same answer is given for a deployment of another tenant: the two cases cannot be told apart. The field is `name` when a name was used and `deployment_id` when a typed id (`dep_…`) was used.',
    accepted:
      'the name or id of an existing deployment of this tenant; create a new one with POST /api/v1/deployments',
    failing: 'PUT /api/v1/deployments/wbe\n\n{ "replicas": 3 }',
    corrected: 'PUT /api/v1/deployments/web\n\n{ "replicas": 3 }',
    origin: '7.1',
  },
  manifest_wrong_kind: {
    status: 422,
    field: 'kind',
    title: 'The document is not a Deployment.',
    cause:
      'A document of another kind was sent to a deployment route. A job runs to completion and a deployment is kept running, so reading one as the other would restart finished work for ever. An absent `kind` is read as `Deployment` and announced in the answer.',
    accepted: '"Deployment"; a document of kind Job is sent to POST /api/v1/jobs',
    failing: 'POST /api/v1/deployments\n\n{ "kind": "Job", "name": "nightly-report" }',
    corrected:
      'POST /api/v1/jobs\n\n{ "kind": "Job", "name": "nightly-report", "image": "registry.internal:5000/shop/report:1.0.0" }',
    origin: '7.1',
  },
  image_required: {
    status: 422,
    field: 'image',
    title: 'The image is missing or is not pinned.',
    cause:
      'Every instance, on every node and after every restart, must run the same image. A reference that is absent, empty, unparsable, without tag and digest, or tagged `latest` cannot promise that: two nodes could pull different content for the same spec hash.',
    accepted: 'a pinned reference, <registry>/<repository>:<tag> or …@sha256:<digest>, never the tag latest',
    failing: '{ "name": "web", "image": "registry.internal:5000/shop/web:latest" }',
    corrected: '{ "name": "web", "image": "registry.internal:5000/shop/web:1.4.2" }',
    origin: '7.1',
  },
  image_not_found: {
    status: 404,
    field: 'image',
    title: 'The registry confirms that it holds no manifest for this reference.',
    cause:
      'The control plane asks the registry for the manifest of the exact reference before it stores anything. Only a confirmed 404 (manifest or repository unknown, or an index without a child for the platforms of your nodes) is refused. A registry that is unreachable, slower than 3 s or answers 5xx does not refuse the write: the deployment is stored with the warning `registry_unreachable`. An answer about a digest is kept for 60 s, one about a tag for 1 s.',
    accepted:
      'a reference whose manifest is already in the registry; push the image first, then send the same request',
    failing: '{ "name": "web", "image": "registry.internal:5000/shop/web:1.4.3-not-pushed" }',
    corrected: '{ "name": "web", "image": "registry.internal:5000/shop/web:1.4.2" }',
    origin: '7.1',
  },
  registry_credential_store_unavailable: {
    status: 503,
    field: 'image',
    title: 'The control plane cannot read the credentials it needs to ask the registry.',
    cause:
      'Credentials for registries live in the secrets store under `registries/<host>`. The store does not answer or is sealed, so the check of the image cannot be made with the right identity, and asking anonymously could report a private image as missing. The request itself is fine. This is not the case of an unreachable registry, which is let through with a warning.',
    accepted: 'the same request, once GET /healthz reports secrets.connected true and secrets.sealed false',
    failing: 'POST /api/v1/deployments      while /healthz says "secrets": { "connected": false }',
    corrected:
      'POST /api/v1/deployments      the unchanged body, after /healthz says "secrets": { "connected": true }',
    origin: '7.1',
  },
  replicas_negative: {
    status: 422,
    field: 'replicas',
    title: 'The number of replicas is below zero.',
    cause:
      'A count of containers cannot be negative. A client that subtracts from a count it read earlier is the usual source. To stop a deployment without deleting it, send `0`.',
    accepted: 'an integer from 0; 0 stops the deployment and keeps its record',
    failing: '{ "replicas": -1 }',
    corrected: '{ "replicas": 0 }',
    origin: '7.1',
  },
  replicas_out_of_range: {
    status: 422,
    field: 'replicas',
    title: 'The number of replicas is not an integer within the configured range.',
    cause:
      'The upper bound protects nodes from a slip of the keyboard; the operator sets it with `maxReplicasPerDeployment` (default 100). A fraction, a number written as a string and any other type are refused with this code too: the server does not guess what "2.5" or "three" means.',
    accepted: 'an integer from 0 to max_replicas_per_deployment (100 unless configured otherwise)',
    failing: '{ "replicas": "3" }',
    corrected: '{ "replicas": 3 }',
    origin: '7.1',
  },
  plaintext_credential_in_environment: {
    status: 422,
    field: 'environment.<key>, composedEnvironment.<key>, command[<i>], healthCheck.command[<i>]',
    title: 'A value in environment, the text of a template or an argument looks like a credential.',
    cause:
      '`environment` is for constants: it is stored in clear, returned by GET, archived, backed up and shown in the dashboard. A value is taken for a credential when its shape says so (a private key block, a cloud or vendor token format, a JWT, a URL with `user:password@`) or when its key ends in a credential word such as `PASSWORD`, `PASSPHRASE`, `SECRET`, `TOKEN`, `API_KEY`, `ACCESS_KEY`, `PRIVATE_KEY` or `CREDENTIALS` and the value is not trivial. Not credentials: keys ending in `_FILE`, `_PATH`, `_TTL`, `_LENGTH`, `_NAME` or `_ENABLED`, `_URL` without user information, booleans, empty strings, and numbers unless the last word of the key is a password word. The literal text of `composedEnvironment` and the arguments of `command` and `healthCheck.command` are stored in clear too, and are judged by the shape of the text. The value is never repeated in the rejection, the log or the audit. `expected` prints what to paste: the workload sees the same variable.',
    accepted:
      'a constant; put the credential into the secrets store and reference it with a secrets entry whose vault_path is deployments/<name>',
    failing: '{ "name": "web", "environment": { "DB_PASSWORD": "example-not-a-real-password" } }',
    corrected:
      '{ "name": "web", "environment": {}, "secrets": [ { "name": "DB", "vault_path": "deployments/web", "anchor": "external", "values": { "PASSWORD": "example-not-a-real-password" } } ] }',
    origin: '7.1',
  },
  secrets_version_negative: {
    status: 422,
    field: 'secretsVersion',
    title: 'The secrets version is below zero.',
    cause:
      '`secretsVersion` counts rotations and is covered by the spec hash. It is 0 on a new deployment and only the rotation operation raises it, so it can never be negative. A non-negative value that differs from the stored one is not taken either, but announced instead of refused.',
    accepted:
      'an integer from 0, or the field left out; raise it with POST /api/v1/deployments/{name}/secrets/rotate',
    failing: '{ "secretsVersion": -1 }',
    corrected: '{ "secretsVersion": 0 }',
    origin: '7.1',
  },
});
