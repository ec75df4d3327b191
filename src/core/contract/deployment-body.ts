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
  bytes: { type: 'integer', description: '16 to 1,024; default 32.' },
  encoding: { type: 'string', description: 'base64url (default), base64 or hex.' },
  length: { type: 'integer', description: '1 to 1,024.' },
  charset: { type: 'string', description: 'alphanumeric (default), lowercase or symbols.' },
} as const;

const generate = shape({
  type: 'object',
  fields: { keys: { ...strings, description: 'Keys that are all made in the same way.' }, ...randomText },
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

const secretEntry = shape({
  type: 'object',
  fields: {
    name: { type: 'string', description: 'Prefix of the delivered variables: NAME_key.' },
    vault_path: { type: 'string', description: "<namespace>/<label> inside the tenant's own secrets mount." },
    anchor: { type: 'string', description: 'process, external, or volume(<volume-id>).' },
    rotation: { type: 'string', description: 'Only restart.' },
    mount_path: {
      type: 'any',
      schema: { not: {} },
      description: 'Unsupported: delivery is environment only.',
    },
    ...secretMaterialFields,
  },
});

const healthCheck = shape({
  type: 'object',
  fields: {
    type: { type: 'any', schema: { type: 'string', enum: ['exec'] } },
    command: { ...strings, description: 'One element: shell form; several: argv.' },
    interval: string,
    timeout: { type: 'string', description: 'At least 10s; absent takes the runtime default of 30s.' },
    retries: { type: 'integer', description: 'At least 3; absent takes the runtime default.' },
    startPeriod: string,
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

const placement = shape({
  type: 'object',
  fields: {
    residency: {
      type: 'object',
      fields: { country: string, region: string, blockedCountries: strings },
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
  'createdAt',
  'updatedAt',
  'status',
  'storedLabels',
] as const;
const RESPONSE_ONLY = ['alterations', 'warnings', 'removed', 'plan'] as const;

export const deploymentBody = shape({
  type: 'object',
  fields: {
    kind: { type: 'any', schema: { type: 'string', enum: ['Deployment'] } },
    name: string,
    image: { type: 'string', description: 'A pinned reference, never latest.' },
    replicas: { type: 'any', schema: { type: 'integer', minimum: 0 } },
    command: strings,
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
    },
    secretsVersion: {
      type: 'integer',
      description: 'Rotation counter; only the rotation operation raises it.',
    },
    healthCheck,
    volumes: { type: 'list', items: volumeMount },
    placement,
    resources: { type: 'object', fields: { requests: amounts, limits: amounts } },
    nodeId: string,
    dependsOn: {
      type: 'map',
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
});

export type DeploymentDraft = Draft<typeof deploymentBody>;
export type SecretEntryDraft = Draft<typeof secretEntry>;
