import { type Draft, shape } from './shape.ts';

const string = shape({ type: 'string' });
const strings = shape({ type: 'list', items: { type: 'string' } });
const stringMap = shape({ type: 'map', items: { type: 'string' } });

const amounts = shape({
  type: 'object',
  fields: {
    cpu: { type: 'number', description: 'Cores, e.g. 0.5.' },
    memory: { type: 'string', description: 'Bytes with a unit: 256Mi, 1Gi, 500M.' },
  },
});

const randomText = {
  bytes: {
    type: 'integer',
    description: '16 to 1,024; default 32.',
    ownCode: 'secret_generate_bytes_out_of_range',
  },
  encoding: {
    type: 'string',
    description: 'base64url (default), base64 or hex.',
    ownCode: 'secret_generate_encoding_unknown',
  },
  length: { type: 'integer', description: '1 to 1,024.', ownCode: 'secret_generate_length_out_of_range' },
  charset: {
    type: 'string',
    description: 'alphanumeric (default), lowercase or symbols.',
    ownCode: 'secret_generate_charset_unknown',
  },
} as const;

const generate = shape({
  type: 'object',
  fields: {
    keys: {
      type: 'list',
      items: { type: 'string', ownCode: 'secret_key_invalid' },
      description: 'Keys that are all made in the same way.',
      ownCode: 'secret_generate_keys_required',
    },
    ...randomText,
  },
  others: {
    type: 'object',
    description: 'How one key is made, under the name of the key.',
    fields: {
      ...randomText,
      alternate: { ...strings, description: 'Values that are taken in turn, one at each rotation.' },
    },
  },
});

export const secretMaterialFields = {
  values: {
    type: 'map',
    items: { type: 'string' },
    sensitive: true,
    description: 'Write-time only: goes to the secrets store and is never stored with the deployment.',
  },
  generate: { ...generate, description: 'Write-time only: keys to mint in the secrets store.' },
} as const;

export const secretAnchor = shape({
  type: 'string',
  description: 'process, external, or volume(<volume-id>).',
  ownCode: 'secret_anchor_invalid',
});

const secretEntry = shape({
  type: 'object',
  fields: {
    name: {
      type: 'string',
      description: 'Prefix of the delivered variables: NAME_key.',
      ownCode: 'secret_name_invalid',
    },
    vault_path: {
      type: 'string',
      description: "<namespace>/<label> inside the tenant's own secrets mount.",
      ownCode: 'secret_path_shape',
    },
    anchor: secretAnchor,
    rotation: { type: 'string', description: 'Only restart.', ownCode: 'secret_rotation_unsupported' },
    mount_path: {
      type: 'any',
      schema: { not: {} },
      description: 'Unsupported: delivery is environment only.',
    },
    ...secretMaterialFields,
  },
});

const duration = shape({ type: 'string', ownCode: 'healthcheck_duration_invalid' });

const healthCheck = shape({
  type: 'object',
  fields: {
    type: { type: 'any', schema: { type: 'string', enum: ['exec'] } },
    command: {
      ...strings,
      description: 'One element: shell form; several: argv.',
      ownCode: 'healthcheck_command_missing',
    },
    interval: duration,
    timeout: { ...duration, description: 'At least 10s; absent takes the runtime default of 30s.' },
    retries: {
      type: 'integer',
      description: 'At least 3; absent takes the runtime default.',
      ownCode: 'healthcheck_retries_below_floor',
    },
    startPeriod: duration,
  },
});

const volumeMount = shape({
  type: 'any',
  schema: {
    type: 'object',
    properties: {
      volumeId: { type: 'string' },
      mountPath: { type: 'string' },
      readOnly: { type: 'boolean', default: false },
    },
    required: ['volumeId', 'mountPath'],
    additionalProperties: false,
  },
});

/** What a workload gives up of what containers may do by default. */
const confinement = {
  user: {
    type: 'string',
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

const country = shape({ type: 'string', ownCode: 'residency_country_invalid' });

const placement = shape({
  type: 'object',
  fields: {
    residency: {
      type: 'object',
      fields: {
        country,
        region: { type: 'string', ownCode: 'residency_region_undeclared' },
        blockedCountries: { type: 'list', items: country },
      },
    },
    constraints: { ...stringMap, description: 'Node labels that must be equal.' },
    antiAffinity: { ...strings, description: 'Names of deployments not to share a node with.' },
  },
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
    name: { type: 'string', ownCode: 'deployment_name_invalid' },
    image: { type: 'string', description: 'A pinned reference, never latest.', ownCode: 'image_required' },
    replicas: { type: 'any', schema: { type: 'integer', minimum: 0 } },
    command: strings,
    ...confinement,
    environment: {
      ...stringMap,
      sensitive: true,
      description: 'Constants only; a credential here is refused.',
    },
    secrets: { type: 'list', items: secretEntry },
    composedEnvironment: {
      ...stringMap,
      sensitive: true,
      description: 'Variables built from secrets: {{secret.<resource>.<key>}}.',
      ownCode: 'secret_compose_template_malformed',
    },
    secretsVersion: {
      type: 'integer',
      description: 'Rotation counter; only the rotation operation raises it.',
      ownCode: 'secrets_version_negative',
    },
    healthCheck,
    volumes: { type: 'list', items: volumeMount },
    placement,
    resources: { type: 'object', fields: { requests: amounts, limits: amounts } },
    nodeId: { type: 'string', ownCode: 'node_not_a_placement_candidate' },
    dependsOn: {
      type: 'map',
      ownCode: 'depends_on_invalid',
      items: { type: 'any', schema: { type: 'string', enum: ['healthy', 'started'] } },
    },
    labels: stringMap,
    ports: {
      type: 'list',
      items: { type: 'object', fields: { container: { type: 'integer' }, host: { type: 'integer' } } },
    },
    ingress: { type: 'object', fields: { host: string, port: { type: 'integer' } } },
    update: {
      type: 'object',
      fields: {
        maxSurge: { type: 'integer' },
        maxUnavailable: { type: 'integer' },
        progressDeadline: string,
        onFailure: string,
      },
    },
  },
  ignored: [...SERVER_OWNED, ...RESPONSE_ONLY],
  nullClears: true,
});

export type DeploymentDraft = Draft<typeof deploymentBody>;
export type SecretEntryDraft = Draft<typeof secretEntry>;
