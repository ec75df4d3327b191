import { SERVER_OWNED } from './server-owned.ts';
import { confinement } from './workload/confinement.ts';
import {
  DURATION,
  LABEL_VALUE,
  LABELS,
  NAME,
  NODE_NAME,
  PINNED_IMAGE,
  PORT,
  SECRET_KEY,
  VARIABLES,
} from './forms.ts';
import { MAX_FILES } from '../model/config-file.ts';
import { STOP_SIGNALS } from '../model/stop.ts';
import { MAX_NETWORKS } from '../model/network.ts';
import { type Draft, type Sent, shape } from '../schema/shape.ts';
import { amounts, requests } from './workload/resources.ts';
import { secretEntry } from './workload/secrets.ts';
import { healthCheck } from './workload/health-check.ts';
import { configFile, volumeMount } from './workload/mounts.ts';
import { placement } from './workload/placement.ts';
import { ingressEntry, MAX_INGRESS } from './workload/ingress.ts';

const strings = shape({ type: 'list', items: { type: 'string' } });
const stringMap = shape({ type: 'map', items: { type: 'string' } });

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
      sensitive: true,
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
