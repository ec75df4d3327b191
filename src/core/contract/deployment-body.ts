import { INGRESS_PROTOCOLS, INGRESS_PROVIDERS } from '../model/ingress.ts';
import { SECRET_CHARSETS, SECRET_ENCODINGS } from '../model/secret-limits.ts';
import {
  ANCHOR,
  CONTAINER_USER,
  COUNTRY,
  DURATION,
  HOST_NAME,
  INGRESS_PATH,
  INGRESS_TLS,
  LABEL_VALUE,
  LABELS,
  MEMORY,
  NAME,
  NODE_NAME,
  PINNED_IMAGE,
  PLAIN_PATH,
  PORT,
  SECRET_ENTRY_NAME,
  SECRET_KEY,
  SECRET_PATH,
  VARIABLES,
  VOLUME_ID,
} from './forms.ts';
import { MAX_FILES } from '../model/config-file.ts';
import { STOP_SIGNALS } from '../model/stop.ts';
import { MAX_NETWORKS } from '../model/network.ts';
import { type Draft, type Sent, shape } from '../schema/shape.ts';

const strings = shape({ type: 'list', items: { type: 'string' } });
const stringMap = shape({ type: 'map', items: { type: 'string' } });

const amounts = shape({
  type: 'object',
  named: 'ResourceAmounts',
  fields: {
    cpu: { type: 'number', form: { exclusiveMinimum: 0, maximum: 1024 }, description: 'Cores, e.g. 0.5.' },
    memory: {
      type: 'string',
      form: MEMORY,
      description: 'Bytes with a unit: 256Mi, 1Gi, 500M; at least 4Mi.',
    },
  },
});

const randomText = {
  bytes: {
    type: 'integer',
    form: { minimum: 1 },
    description: '16 to 1,024; default 32.',
    ownCode: 'secret_generate_bytes_out_of_range',
  },
  encoding: {
    type: 'string',
    form: { enum: SECRET_ENCODINGS },
    description: 'base64url (default), base64 or hex.',
    ownCode: 'secret_generate_encoding_unknown',
  },
  length: {
    type: 'integer',
    form: { minimum: 1 },
    description: '1 to 1,024.',
    ownCode: 'secret_generate_length_out_of_range',
  },
  charset: {
    type: 'string',
    form: { enum: SECRET_CHARSETS },
    description: 'alphanumeric (default), lowercase or symbols.',
    ownCode: 'secret_generate_charset_unknown',
  },
} as const;

const generate = shape({
  type: 'object',
  named: 'SecretGeneration',
  form: { propertyNames: SECRET_KEY },
  fields: {
    keys: {
      type: 'list',
      items: { type: 'string', form: SECRET_KEY, ownCode: 'secret_key_invalid' },
      form: { minItems: 1, uniqueItems: true },
      description: 'Keys that are all made in the same way.',
      ownCode: 'secret_generate_keys_required',
    },
    ...randomText,
  },
  others: {
    type: 'object',
    named: 'SecretKeyGeneration',
    description: 'How one key is made, under the name of the key.',
    fields: {
      ...randomText,
      alternate: {
        type: 'list',
        items: { type: 'string', form: { minLength: 1 } },
        form: { minItems: 2, uniqueItems: true },
        description: 'Values that are taken in turn, one at each rotation.',
      },
    },
  },
});

export const secretMaterialFields = {
  values: {
    type: 'map',
    items: { type: 'string', form: { minLength: 1 } },
    form: { propertyNames: SECRET_KEY },
    sensitive: true,
    description: 'Write-time only: goes to the secrets store and is never stored with the deployment.',
  },
  generate: { ...generate, description: 'Write-time only: keys to mint in the secrets store.' },
} as const;

export const secretAnchor = shape({
  type: 'string',
  form: ANCHOR,
  description: 'process, external, or volume(<volume-id>).',
  ownCode: 'secret_anchor_invalid',
});

const secretEntry = shape({
  type: 'object',
  named: 'SecretEntryDescription',
  fields: {
    name: {
      type: 'string',
      form: SECRET_ENTRY_NAME,
      description: 'Prefix of the delivered variables: NAME_key.',
      ownCode: 'secret_name_invalid',
    },
    vault_path: {
      type: 'string',
      form: SECRET_PATH,
      description: "<namespace>/<label> inside the tenant's own secrets mount.",
      ownCode: 'secret_path_shape',
    },
    anchor: secretAnchor,
    rotation: {
      type: 'string',
      form: { enum: ['restart'] },
      description: 'Only restart.',
      ownCode: 'secret_rotation_unsupported',
    },
    mount_path: {
      type: 'any',
      schema: { not: {} },
      description: 'Unsupported: delivery is environment only.',
    },
    ...secretMaterialFields,
  },
  required: ['name', 'vault_path'],
});

const duration = shape({ type: 'string', form: DURATION, ownCode: 'healthcheck_duration_invalid' });

const healthCheck = shape({
  type: 'object',
  named: 'HealthCheckDescription',
  fields: {
    type: { type: 'any', schema: { type: 'string', enum: ['exec'] } },
    command: {
      ...strings,
      form: { minItems: 1, maxItems: 1024 },
      description: 'One element: shell form; several: argv.',
      ownCode: 'healthcheck_command_missing',
    },
    interval: duration,
    timeout: { ...duration, description: 'At least 10s; absent takes the runtime default of 30s.' },
    retries: {
      type: 'integer',
      form: { minimum: 3 },
      description: 'At least 3; absent takes the runtime default.',
      ownCode: 'healthcheck_retries_below_floor',
    },
    startPeriod: duration,
    restartAfter: {
      type: 'string',
      form: { anyOf: [DURATION, { const: 'never' }] },
      description:
        'How long an instance may be unhealthy before it is restarted, 1s to 24h, or never; absent: 3 intervals, at least 30s. Changing it restarts nothing.',
      ownCode: 'healthcheck_duration_invalid',
    },
  },
  required: ['type', 'command'],
});

const configFile = shape({
  type: 'object',
  named: 'ConfigFileDescription',
  fields: {
    path: {
      type: 'string',
      form: PLAIN_PATH,
      description: 'Absolute; in no volume and no other file.',
      ownCode: 'file_invalid',
    },
    content: { type: 'string', sensitive: true, description: 'As text.', ownCode: 'file_invalid' },
    base64: { type: 'string', sensitive: true, description: 'As bytes.', ownCode: 'file_invalid' },
    mode: {
      type: 'string',
      form: { pattern: '^0?[0-7]{3}$' },
      description: 'Octal, in quotation marks; absent: 0444.',
      ownCode: 'file_invalid',
    },
  },
  required: ['path'],
});

const volumeMount = shape({
  type: 'any',
  schema: {
    type: 'object',
    properties: {
      volumeId: { type: 'string', ...VOLUME_ID },
      volume: { type: 'string', ...NAME, description: 'Instead of its id: the name; stored as volumeId.' },
      mountPath: { type: 'string', ...PLAIN_PATH },
      readOnly: { type: 'boolean', default: false },
    },
    required: ['mountPath'],
    anyOf: [{ required: ['volumeId'] }, { required: ['volume'] }],
    additionalProperties: false,
  },
});

/** What a workload gives up of what containers may do by default. */
const confinement = {
  user: {
    type: 'string',
    form: CONTAINER_USER,
    description: 'uid, uid:gid, or names that the image knows; absent: the user of the image.',
    ownCode: 'user_invalid',
  },
  readOnlyRootFilesystem: {
    type: 'boolean',
    description: 'Writable are its volumes, and /tmp and /run in memory (64 MiB each).',
  },
  capabilities: {
    type: 'object',
    fields: {
      drop: {
        type: 'list',
        items: { type: 'string' },
        description: 'Capabilities of Linux to give up, such as CHOWN; ALL leaves none.',
        ownCode: 'capability_unknown',
      },
    },
  },
} as const;

const country = shape({ type: 'string', form: COUNTRY, ownCode: 'residency_country_invalid' });

const placement = shape({
  type: 'object',
  named: 'PlacementDescription',
  fields: {
    residency: {
      type: 'object',
      fields: {
        country,
        region: { type: 'string', ownCode: 'residency_region_undeclared' },
        blockedCountries: { type: 'list', items: country },
      },
      form: { minProperties: 1 },
    },
    constraints: {
      type: 'map',
      items: { type: 'string', form: { minLength: 1, maxLength: 4096 } },
      form: { propertyNames: { minLength: 1, maxLength: 253 }, maxProperties: 1024 },
      description: 'Node labels that must be equal.',
    },
    antiAffinity: {
      type: 'list',
      items: { type: 'string', form: NAME },
      form: { maxItems: 1024 },
      description: 'Names of deployments not to share a node with.',
    },
  },
});

/** Each is a key of the commit that stores the spec. */
export const MAX_INGRESS = 32;

const ingressEntry = shape({
  type: 'object',
  named: 'IngressDescription',
  fields: {
    host: {
      type: 'string',
      form: HOST_NAME,
      description: 'Of http, and required there: the name that requests come for.',
    },
    path: { type: 'string', form: INGRESS_PATH, description: 'Of http: a prefix; absent: all paths.' },
    listen: {
      type: 'integer',
      form: PORT,
      description: 'Of tcp and udp, and required there: the port on the ingress nodes.',
    },
    port: { type: 'integer', form: PORT, description: 'The port that the container listens on.' },
    protocol: {
      type: 'string',
      form: { enum: INGRESS_PROTOCOLS },
      description: 'http (default), tcp or udp.',
      ownCode: 'ingress_invalid',
    },
    tls: {
      type: 'any',
      schema: INGRESS_TLS,
      description:
        'Of http: auto (default), a certificate by ACME; off, plain HTTP; or a reference to a certificate with its key.',
    },
    provider: {
      type: 'string',
      form: { enum: INGRESS_PROVIDERS },
      description: "caddy (default), on the tenant's ingress nodes; traefik, labels on the containers.",
      ownCode: 'ingress_invalid',
    },
  },
  required: ['port'],
});

/** Keys that the server owns: they appear in a GET body, and are ignored when it is sent back. */
export const SERVER_OWNED = [
  'id',
  'tenantId',
  'revision',
  'specHash',
  'imageDigest',
  'createdAt',
  'updatedAt',
  'status',
  'storedLabels',
  'containerDefaults',
] as const;
const RESPONSE_ONLY = ['alterations', 'warnings', 'removed', 'plan'] as const;

export const deploymentBody = shape({
  type: 'object',
  fields: {
    kind: { type: 'any', schema: { type: 'string', enum: ['Deployment'] } },
    name: { type: 'string', form: NAME, ownCode: 'deployment_name_invalid' },
    image: {
      type: 'string',
      form: PINNED_IMAGE,
      cleared: false,
      description: 'A pinned reference, never latest.',
      ownCode: 'image_required',
    },
    replicas: { type: 'any', schema: { type: 'integer', minimum: 0 } },
    command: { ...strings, form: { minItems: 1, maxItems: 1024 } },
    ...confinement,
    environment: {
      ...stringMap,
      form: VARIABLES,
      sensitive: true,
      description: 'Constants only; a credential here is refused.',
    },
    secrets: { type: 'list', items: secretEntry },
    composedEnvironment: {
      type: 'map',
      items: { type: 'string', form: { minLength: 1 } },
      form: { propertyNames: SECRET_KEY, maxProperties: 1024 },
      sensitive: true,
      description: 'Variables built from secrets: {{secret.<resource>.<key>}}.',
      ownCode: 'secret_compose_template_malformed',
    },
    secretsVersion: {
      type: 'integer',
      form: { minimum: 0 },
      description: 'Rotation counter; only the rotation operation raises it.',
      ownCode: 'secrets_version_negative',
    },
    stop: {
      type: 'object',
      fields: {
        signal: {
          type: 'string',
          form: { enum: STOP_SIGNALS },
          description: 'Absent: that of the image, or SIGTERM.',
          ownCode: 'stop_invalid',
        },
        grace: {
          type: 'string',
          form: DURATION,
          description: 'Between the signal and the kill, 1s to 1h; absent: 10s.',
          ownCode: 'stop_invalid',
        },
      },
      description: 'How containers are told to end.',
    },
    files: {
      type: 'list',
      items: configFile,
      form: { maxItems: MAX_FILES },
      description: 'Small files, read-only in the container, 256 KiB together. A credential here is refused.',
    },
    healthCheck,
    volumes: { type: 'list', items: volumeMount },
    placement,
    resources: { type: 'object', fields: { requests: amounts, limits: amounts } },
    nodeId: { type: 'string', form: NODE_NAME, ownCode: 'node_not_a_placement_candidate' },
    dependsOn: {
      type: 'map',
      form: { propertyNames: NAME, maxProperties: 1024 },
      ownCode: 'depends_on_invalid',
      items: { type: 'any', schema: { type: 'string', enum: ['healthy', 'started'] } },
    },
    labels: { type: 'map', items: { type: 'string', form: LABEL_VALUE }, form: LABELS },
    ports: {
      type: 'list',
      items: {
        type: 'object',
        fields: { container: { type: 'integer', form: PORT }, host: { type: 'integer', form: PORT } },
        required: ['container'],
      },
      form: { maxItems: 1024 },
    },
    ingress: {
      type: 'list',
      orOne: true,
      items: ingressEntry,
      form: { maxItems: MAX_INGRESS },
      description: 'Ways in from outside; one object is a list of it alone.',
    },
    networks: {
      ...strings,
      items: { type: 'string', form: NAME },
      form: { minItems: 1, maxItems: MAX_NETWORKS, uniqueItems: true },
      description: "Names of networks to attach to instead of the tenant's; tenant adds that one.",
      ownCode: 'networks_invalid',
    },
    access: {
      type: 'object',
      fields: {
        from: {
          type: 'list',
          items: { type: 'string', form: NAME },
          form: { maxItems: 1024, uniqueItems: true },
          description: 'Deployments and jobs that may connect, and ingress; an empty list: nobody.',
          ownCode: 'access_invalid',
        },
      },
      required: ['from'],
      description:
        "Absent: every deployment and job of the tenant may connect. Only on the tenant's network: not with networks that leave it out. With an ingress that Berth serves, from names ingress.",
    },
    update: {
      type: 'object',
      fields: {
        maxSurge: { type: 'integer', form: { minimum: 0, maximum: 100 } },
        maxUnavailable: { type: 'integer', form: { minimum: 0, maximum: 100 } },
        progressDeadline: { type: 'string', form: DURATION, description: '1s to 24h.' },
        onFailure: {
          type: 'string',
          form: { enum: ['rollback', 'leave'] },
          description: 'What happens to a rollout past its deadline.',
        },
      },
    },
  },
  ignored: [...SERVER_OWNED, ...RESPONSE_ONLY],
  nullClears: true,
  required: ['name', 'image'],
  named: 'DeploymentDescription',
});

/** Of an update: what is not sent stays as it is. */
export const deploymentChange = shape({ ...deploymentBody, required: [], named: 'DeploymentChange' });

/** The same where the body says which one. */
export const namedDeploymentChange = shape({
  ...deploymentBody,
  required: ['name'],
  named: 'NamedDeploymentChange',
});

export type DeploymentDraft = Draft<typeof deploymentBody>;
export type SentDeployment = Sent<typeof deploymentBody>;
export type IngressEntryDraft = Draft<typeof ingressEntry>;
export type SecretEntryDraft = Draft<typeof secretEntry>;
