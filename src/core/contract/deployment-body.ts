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
    cpu: {
      type: 'number',
      form: { exclusiveMinimum: 0, maximum: 1024 },
      description: 'Cores.',
      absent: 'none are reserved, or none are the limit',
      example: 0.5,
    },
    memory: {
      type: 'string',
      form: MEMORY,
      description: 'Bytes with a unit: 256Mi, 1Gi, 500M; at least 4Mi.',
      absent: 'nothing is reserved, or the default of the tenant is the limit',
      example: '256Mi',
    },
  },
});

const requests = shape({
  type: 'object',
  named: 'ResourceRequests',
  fields: {
    ...amounts.fields,
    disk: {
      type: 'string',
      form: MEMORY,
      description:
        "Of the disk of the node's engine, for what the container writes outside of its volumes: bytes with a unit, 10Gi, 500M; at least 4Mi. Placement goes by it; the container is not held to it.",
      absent: 'nothing is reserved',
      example: '10Gi',
    },
  },
});

const randomText = {
  bytes: {
    type: 'integer',
    form: { minimum: 1 },
    description: 'Random bytes of each value: 16 to 1,024. Not together with length.',
    absent: '32',
    example: 24,
    ownCode: 'secret_generate_bytes_out_of_range',
  },
  encoding: {
    type: 'string',
    form: { enum: SECRET_ENCODINGS },
    description: 'How the bytes are written as text.',
    absent: 'base64url',
    example: 'hex',
    ownCode: 'secret_generate_encoding_unknown',
  },
  length: {
    type: 'integer',
    form: { minimum: 1 },
    description:
      'Characters of each value instead of bytes: at most 1,024, and as many as 128 bits of chance need.',
    absent: 'bytes decides',
    example: 32,
    ownCode: 'secret_generate_length_out_of_range',
  },
  charset: {
    type: 'string',
    form: { enum: SECRET_CHARSETS },
    description: 'Which characters are taken; with length.',
    absent: 'alphanumeric',
    example: 'symbols',
    exampleWith: { length: 32 },
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
      absent: 'keys are described by their names',
      example: ['PASSWORD'],
      ownCode: 'secret_generate_keys_required',
    },
    ...randomText,
  },
  others: {
    type: 'object',
    named: 'SecretKeyGeneration',
    description: 'How one key is made, under the name of the key.',
    absent: 'keys are made in the same way',
    example: { alternate: ['app_a', 'app_b'] },
    fields: {
      ...randomText,
      alternate: {
        type: 'list',
        items: { type: 'string', form: { minLength: 1 } },
        form: { minItems: 2, uniqueItems: true },
        description: 'Values that are taken in turn, one at each rotation.',
        absent: 'the value is random',
        example: ['app_a', 'app_b'],
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
    absent: 'the values are in the store already',
    example: { PASSWORD: 'example-not-a-real-password' },
  },
  generate: {
    ...generate,
    description: 'Write-time only: keys to mint in the secrets store; one that exists is left alone.',
    absent: 'nothing is minted',
    example: { keys: ['PASSWORD'] },
  },
} as const;

export const secretAnchor = shape({
  type: 'string',
  form: ANCHOR,
  description:
    'What the credential lives with: process (made again with the container), external (another system knows it), or volume(<volume-id>), data that were encrypted with it.',
  absent: 'external, and announced',
  example: 'process',
  ownCode: 'secret_anchor_invalid',
});

const secretEntry = shape({
  type: 'object',
  named: 'SecretEntryDescription',
  fields: {
    name: {
      type: 'string',
      form: SECRET_ENTRY_NAME,
      description: 'Prefix of the delivered variables: NAME_key. Each once.',
      example: 'DB',
      ownCode: 'secret_name_invalid',
    },
    vault_path: {
      type: 'string',
      form: SECRET_PATH,
      description: "<namespace>/<label> inside the tenant's own secrets mount.",
      example: 'deployments/web',
      ownCode: 'secret_path_shape',
    },
    anchor: secretAnchor,
    rotation: {
      type: 'string',
      form: { enum: ['restart'] },
      description: 'How a new version reaches the containers: they are made again.',
      absent: 'restart, and announced',
      example: 'restart',
      ownCode: 'secret_rotation_unsupported',
    },
    mount_path: {
      type: 'any',
      schema: { not: {} },
      description: 'Refused whatever it holds: values are delivered as variables only.',
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
    type: {
      type: 'any',
      schema: { type: 'string', enum: ['exec'] },
      description: 'A command inside the container; there is no other kind.',
      example: 'exec',
    },
    command: {
      ...strings,
      form: { minItems: 1, maxItems: 1024 },
      description:
        'One element: given to a shell; several: a program and its arguments. Status 0 is healthy. A command that cannot fail is refused.',
      example: ['wget -qO /dev/null http://127.0.0.1:8080/'],
      ownCode: 'healthcheck_command_missing',
    },
    interval: {
      ...duration,
      description: 'Between two checks; above 0, at most 24h.',
      absent: "the engine's, 30s",
      example: '10s',
    },
    timeout: {
      ...duration,
      description: 'After which a check has failed; 10s to 24h.',
      absent: "the engine's, 30s",
      example: '10s',
    },
    retries: {
      type: 'integer',
      form: { minimum: 3 },
      description: 'Failures in a row that make an instance unhealthy.',
      absent: "the engine's, 3",
      example: 5,
      ownCode: 'healthcheck_retries_below_floor',
    },
    startPeriod: {
      ...duration,
      description: 'After the start, in which failures do not count; at most 24h.',
      absent: 'none',
      example: '30s',
    },
    restartAfter: {
      type: 'string',
      form: { anyOf: [DURATION, { const: 'never' }] },
      description:
        'How long an instance may be unhealthy before it is restarted, 1s to 24h, or never. Changing it restarts nothing.',
      absent: '3 intervals, at least 30s',
      example: '2m',
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
      example: '/etc/nginx/conf.d/site.conf',
      ownCode: 'file_invalid',
    },
    content: {
      type: 'string',
      sensitive: true,
      description: 'As text.',
      absent: 'base64 has it',
      example: 'server { listen 8080; }',
      ownCode: 'file_invalid',
    },
    base64: {
      type: 'string',
      sensitive: true,
      description: 'As bytes.',
      absent: 'content has it',
      example: 'c2VydmVyIHt9',
      exampleWith: { content: undefined },
      ownCode: 'file_invalid',
    },
    mode: {
      type: 'string',
      form: { pattern: '^0?[0-7]{3}$' },
      description: 'Octal, in quotation marks.',
      absent: '0444',
      example: '0555',
      ownCode: 'file_invalid',
    },
  },
  required: ['path'],
  example: { path: '/etc/nginx/conf.d/site.conf', content: 'server { listen 8080; }' },
});

const volumeMount = shape({
  type: 'any',
  schema: {
    type: 'object',
    properties: {
      volumeId: {
        type: 'string',
        ...VOLUME_ID,
        description: 'Id of the volume; required where it is not named by volume.',
        examples: ['vol_01m7gzptv2km35zj7x023917tw'],
      },
      volume: {
        type: 'string',
        ...NAME,
        description: 'Instead of its id: the name; stored as volumeId.',
        examples: ['orders'],
      },
      mountPath: {
        type: 'string',
        ...PLAIN_PATH,
        description: 'Where the container sees it: absolute and plain, each once.',
        examples: ['/var/lib/orders'],
      },
      readOnly: {
        type: 'boolean',
        default: false,
        description:
          'The container cannot write to it. A volume that is written to has one instance at a time.',
        examples: [true],
      },
    },
    required: ['mountPath'],
    anyOf: [{ required: ['volumeId'] }, { required: ['volume'] }],
    additionalProperties: false,
  },
  description: 'A volume of the tenant and where the container sees it.',
  example: { volumeId: 'vol_01m7gzptv2km35zj7x023917tw', mountPath: '/var/lib/orders' },
});

/** What a workload gives up of what containers may do by default. */
const confinement = {
  user: {
    type: 'string',
    form: CONTAINER_USER,
    description: 'Who runs the program: uid, uid:gid, or names that the image knows, as a text.',
    absent: 'the user of the image',
    example: '1000:1000',
    ownCode: 'user_invalid',
  },
  readOnlyRootFilesystem: {
    type: 'boolean',
    description:
      'Nothing of the image can be written; writable are its volumes, and /tmp and /run in memory (64 MiB each).',
    absent: 'false',
    example: true,
  },
  capabilities: {
    type: 'object',
    fields: {
      drop: {
        type: 'list',
        items: { type: 'string' },
        description: 'Capabilities of Linux to give up, such as CHOWN; ALL leaves none. None can be added.',
        absent: 'none is given up',
        example: ['ALL'],
        ownCode: 'capability_unknown',
      },
    },
    description: 'What the container may do as root.',
    absent: 'the nine that every container has',
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
        country: {
          ...country,
          description: 'Only nodes in this country; an ISO 3166-1 code, stored in upper case.',
          absent: 'any',
          example: 'DE',
        },
        region: {
          type: 'string',
          description: 'Only nodes in the countries of this region, which the configuration declares.',
          absent: 'any',
          example: 'eu',
          ownCode: 'residency_region_undeclared',
        },
        blockedCountries: {
          type: 'list',
          items: country,
          description: 'No node in one of these countries.',
          absent: 'none is blocked',
          example: ['FR'],
        },
      },
      form: { minProperties: 1 },
      description: 'Where the containers and their data may be.',
      absent: 'anywhere among the nodes of the tenant',
    },
    constraints: {
      type: 'map',
      items: { type: 'string', form: { minLength: 1, maxLength: 4096 } },
      form: { propertyNames: { minLength: 1, maxLength: 253 }, maxProperties: 1024 },
      description: 'Labels that a node must have, with these values.',
      absent: 'none',
      example: { disk: 'ssd' },
    },
    antiAffinity: {
      type: 'list',
      items: { type: 'string', form: NAME },
      form: { maxItems: 1024 },
      description: 'Names of deployments not to share a node with; its own name: one instance per node.',
      absent: 'none',
      example: ['web'],
    },
  },
  description: 'Which nodes may run it.',
  absent: 'every node of the tenant',
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
      absent: 'of tcp and udp',
      example: 'shop.example.com',
    },
    path: {
      type: 'string',
      form: INGRESS_PATH,
      description: 'Of http: a prefix of whole segments; the longest one that fits is taken.',
      absent: 'all paths',
      example: '/api',
    },
    listen: {
      type: 'integer',
      form: PORT,
      description: 'Of tcp and udp, and required there: the port on the ingress nodes.',
      absent: 'of http',
      example: 5432,
      exampleWith: { host: undefined, protocol: 'tcp', port: 5432 },
    },
    port: {
      type: 'integer',
      form: PORT,
      description: 'The port that the container listens on.',
      example: 8080,
    },
    protocol: {
      type: 'string',
      form: { enum: INGRESS_PROTOCOLS },
      description: 'http: by host and path; tcp and udp: passed on as they are.',
      absent: 'http',
      example: 'tcp',
      exampleWith: { host: undefined, listen: 5432, port: 5432 },
      ownCode: 'ingress_invalid',
    },
    tls: {
      type: 'any',
      schema: INGRESS_TLS,
      description:
        'Of http: auto, a certificate by ACME; off, plain HTTP; or a reference to a certificate with its key.',
      absent: 'auto',
      example: 'off',
    },
    provider: {
      type: 'string',
      form: { enum: INGRESS_PROVIDERS },
      description:
        "caddy: served by the tenant's ingress nodes; traefik: labels on the containers for a Traefik of yours, with host and port alone.",
      absent: 'caddy',
      example: 'traefik',
      ownCode: 'ingress_invalid',
    },
  },
  required: ['port'],
  example: { host: 'shop.example.com', port: 8080 },
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
    kind: {
      type: 'any',
      schema: { type: 'string', enum: ['Deployment'] },
      description: 'What the document describes.',
      absent: 'Deployment, and announced',
      example: 'Deployment',
    },
    name: {
      type: 'string',
      form: NAME,
      description:
        "Unique in the tenant, never changed: also the container's name and the name that others reach it by.",
      example: 'web',
      ownCode: 'deployment_name_invalid',
    },
    image: {
      type: 'string',
      form: PINNED_IMAGE,
      cleared: false,
      description: 'A pinned reference with a tag or a digest, never latest.',
      example: 'registry.internal:5000/shop/web:1.4.2',
      ownCode: 'image_required',
    },
    replicas: {
      type: 'any',
      schema: { type: 'integer', minimum: 0 },
      description:
        'Instances that are kept running; at most maxReplicasPerDeployment of the configuration (100). 0 stops it and keeps the record.',
      absent: '1, and announced',
      example: 3,
    },
    command: {
      ...strings,
      form: { minItems: 1, maxItems: 1024 },
      description:
        "Replaces the image's CMD, one element per argument, without a shell. The image's ENTRYPOINT stays and gets them as its arguments; without one the first element is the program.",
      absent: "the image's CMD",
      example: ['/bin/web', '--port', '8080'],
    },
    ...confinement,
    environment: {
      ...stringMap,
      form: VARIABLES,
      sensitive: true,
      description: 'Variables with constant values; a credential here is refused.',
      absent: 'none beyond those of the image',
      example: { LOG_LEVEL: 'info' },
    },
    secrets: {
      type: 'list',
      items: secretEntry,
      description: 'Credentials by reference: each key of a secret is delivered as a variable.',
      absent: 'none',
    },
    composedEnvironment: {
      type: 'map',
      items: { type: 'string', form: { minLength: 1 } },
      form: { propertyNames: SECRET_KEY, maxProperties: 1024 },
      sensitive: true,
      description:
        'Variables put together from constants and secrets: {{secret.<resource>.<key>}}, where the resource is the last part of a vault_path in secrets.',
      absent: 'none',
      example: { DATABASE_URL: 'postgres://app:{{secret.web.PASSWORD}}@db:5432/app' },
      exampleWith: { secrets: [{ name: 'DB', vault_path: 'deployments/web' }] },
      ownCode: 'secret_compose_template_malformed',
    },
    secretsVersion: {
      type: 'integer',
      form: { minimum: 0 },
      description: 'Counter of rotations; only the rotation operation raises it.',
      absent: 'as stored; 0 on a new deployment',
      example: 0,
      ownCode: 'secrets_version_negative',
    },
    stop: {
      type: 'object',
      fields: {
        signal: {
          type: 'string',
          form: { enum: STOP_SIGNALS },
          description: 'What the main process is sent.',
          absent: 'that of the image, or SIGTERM',
          example: 'SIGINT',
          ownCode: 'stop_invalid',
        },
        grace: {
          type: 'string',
          form: DURATION,
          description: 'Between the signal and the kill, 1s to 1h.',
          absent: '10s',
          example: '30s',
          ownCode: 'stop_invalid',
        },
      },
      description: 'How containers are told to end.',
      absent: 'the signal of the image and 10s',
    },
    files: {
      type: 'list',
      items: configFile,
      form: { maxItems: MAX_FILES },
      description: 'Small files, read-only in the container, 256 KiB together. A credential here is refused.',
      absent: 'none',
    },
    healthCheck: {
      ...healthCheck,
      description:
        'How the container tells that it works: for rollouts, names, dependsOn: healthy and restarts.',
      absent: 'an instance counts as healthy while it runs',
    },
    volumes: {
      type: 'list',
      items: volumeMount,
      description: 'Volumes that the container sees.',
      absent: 'none',
    },
    placement,
    resources: {
      type: 'object',
      fields: {
        requests: {
          ...requests,
          description: 'What a node must have free to take an instance.',
          absent: 'nothing is reserved; against a quota the default request counts',
        },
        limits: {
          ...amounts,
          description: 'What an instance may use at most; not below the request.',
          absent: 'no limit of CPU; of memory the container defaults of the tenant (90 % of the node)',
        },
      },
      description: 'CPU, memory and disk of one instance.',
      absent: 'nothing is reserved, and the defaults of the tenant bound it',
    },
    nodeId: {
      type: 'string',
      form: NODE_NAME,
      description: 'The one node that may run it, by name.',
      absent: 'the scheduler chooses',
      example: 'berlin-1',
      ownCode: 'node_not_a_placement_candidate',
    },
    dependsOn: {
      type: 'map',
      form: { propertyNames: NAME, maxProperties: 1024 },
      ownCode: 'depends_on_invalid',
      items: { type: 'any', schema: { type: 'string', enum: ['healthy', 'started'] } },
      description:
        'Deployments that have to be there before an instance is created: started, one of its instances runs; healthy, one is healthy. Instances that run are never touched by it.',
      absent: 'waits for nothing',
      example: { db: 'healthy' },
    },
    labels: {
      type: 'map',
      items: { type: 'string', form: LABEL_VALUE },
      form: LABELS,
      description: 'Written onto the containers. Those below berth. and of residency are reserved.',
      absent: 'none',
      example: { team: 'shop' },
    },
    ports: {
      type: 'list',
      items: {
        type: 'object',
        fields: {
          container: {
            type: 'integer',
            form: PORT,
            description: 'The port that the program listens on.',
            example: 8080,
          },
          host: {
            type: 'integer',
            form: PORT,
            description: 'The port of the node that leads to it; each once on a node.',
            absent: 'not opened on the node',
            example: 18_080,
          },
        },
        required: ['container'],
      },
      form: { maxItems: 1024 },
      description: 'Ports of the container, and of its node.',
      absent: 'none is opened on the node; deployments of the tenant reach every port all the same',
    },
    ingress: {
      type: 'list',
      orOne: true,
      items: ingressEntry,
      form: { maxItems: MAX_INGRESS },
      description: 'Ways in from outside; one object is a list of it alone.',
      absent: 'none',
    },
    networks: {
      ...strings,
      items: { type: 'string', form: NAME },
      form: { minItems: 1, maxItems: MAX_NETWORKS, uniqueItems: true },
      description: "Names of networks to attach to instead of the tenant's; tenant adds that one.",
      absent: "the tenant's network alone",
      example: ['backend', 'tenant'],
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
          example: ['web'],
          ownCode: 'access_invalid',
        },
      },
      required: ['from'],
      description:
        "Who may connect. Only on the tenant's network: not with networks that leave it out. With an ingress that Berth serves, from names ingress.",
      absent: 'every deployment and job of the tenant may connect',
    },
    update: {
      type: 'object',
      fields: {
        maxSurge: {
          type: 'integer',
          form: { minimum: 0, maximum: 100 },
          description: 'Instances above replicas while an update runs; not 0 together with maxUnavailable.',
          absent: '1',
          example: 2,
        },
        maxUnavailable: {
          type: 'integer',
          form: { minimum: 0, maximum: 100 },
          description:
            'Instances below replicas while an update runs; the last available one is kept whatever it says.',
          absent: '0',
          example: 1,
        },
        progressDeadline: {
          type: 'string',
          form: DURATION,
          description: 'Without progress for so long, a rollout has failed; 1s to 24h.',
          absent: '10m',
          example: '5m',
        },
        onFailure: {
          type: 'string',
          form: { enum: ['rollback', 'leave'] },
          description:
            'What happens to a rollout that failed: rollback returns to the last complete one, leave waits for you.',
          absent: 'leave',
          example: 'rollback',
        },
      },
      description: 'How an update proceeds.',
      absent: 'one more instance at a time, none missing',
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
