import { INGRESS_PROTOCOLS } from '../../model/ingress.ts';
import { shape } from '../../schema/shape.ts';
import { failure } from './failure.ts';
import { placementPlan } from './placement.ts';
import {
  announced,
  containerDefaults,
  flag,
  freeMap,
  imageDigest,
  integer,
  listOf,
  nullable,
  number,
  optional,
  revision,
  text,
  textMap,
  time,
} from './field-shapes.ts';
import { deploymentSpec, deploymentSpecFields } from './workload.ts';

/** What the server owns of a workload. */
export const ownedFields = {
  id: text,
  tenantId: text,
  revision,
  specHash: text,
  imageDigest,
  createdAt: time,
  updatedAt: time,
  storedLabels: textMap,
} as const;

const counts = { placed: integer, running: integer, healthy: integer } as const;

const nodeStatus = {
  type: 'string',
  optional: true,
  values: ['failed', 'lost'],
  description:
    'Its node does not answer: state, health and the like are what was seen before. Of a lost one the instances are replaced elsewhere.',
} as const;

const deploymentStatus = shape({
  type: 'object',
  named: 'DeploymentStatus',
  fields: {
    phase: {
      type: 'string',
      values: ['Pending', 'Waiting', 'Progressing', 'Running', 'Degraded', 'Stopped'],
    },
    since: { ...time, optional: true, description: 'When the phase was entered.' },
    message: text,
    desired: integer,
    ...counts,
    updated: integer,
    virtualAddress: optional({
      ...text,
      description:
        'Stays for as long as the deployment: connections to it go to instances that are healthy. Absent: it is not on the tenant’s network (see networks), or no node has one.',
    }),
    ingress: optional(
      listOf({
        type: 'object',
        named: 'IngressStatus',
        description: "A way in, as the tenant's ingress nodes serve it.",
        fields: {
          protocol: { type: 'string', values: INGRESS_PROTOCOLS },
          host: optional(text),
          path: optional(text),
          listen: optional(integer),
          url: optional(text),
          state: {
            type: 'string',
            values: ['serving', 'waiting', 'failed', 'unserved'],
            description: 'serving: by at least one node; unserved: the tenant has no ingress node.',
          },
          problem: optional({ ...text, description: 'Why not, or of a node that does not serve it.' }),
          nodes: { ...listOf(text), description: 'That serve it.' },
          certificate: optional({ type: 'object', fields: { issuer: text, notAfter: text } }),
        },
      }),
    ),
    rollout: {
      type: 'object',
      optional: true,
      description: 'How far the current spec has come; absent until a controller has looked.',
      fields: {
        version: integer,
        state: { type: 'string', values: ['progressing', 'complete', 'failed'] },
        failed: {
          type: 'object',
          optional: true,
          description: 'The version that failed, where this one was put back for it (update.onFailure).',
          fields: { version: integer, specHash: text, message: text },
        },
      },
    },
    secretsVersion: integer,
    rotation: {
      type: 'object',
      fields: {
        phase: nullable({ type: 'string', values: ['stage', 'promote', 'retire', 'abort'] }),
        next: { type: 'string', values: ['stage', 'promote', 'retire'] },
        delivered: {
          type: 'map',
          optional: true,
          description: 'By path, while it lasts: the versions that containers are given.',
          items: {
            type: 'object',
            fields: { current: integer, next: optional(integer), previous: optional(integer) },
          },
        },
      },
    },
    canary: {
      type: 'object',
      optional: true,
      description: 'While one runs; its instances are in no other count.',
      fields: {
        image: text,
        imageDigest,
        specHash: text,
        replicas: integer,
        weight: optional(integer),
        ...counts,
        message: text,
        createdAt: time,
      },
    },
    instances: listOf({
      type: 'object',
      fields: {
        id: text,
        nodeId: text,
        specHash: text,
        state: text,
        health: optional(text),
        message: optional(text),
        address: optional({ ...text, description: "On the tenant's network." }),
        canary: optional(flag),
        nodeStatus,
      },
    }),
  },
});

const deploymentFields = {
  ...deploymentSpecFields,
  ...ownedFields,
  containerDefaults,
  status: deploymentStatus,
} as const;

export const deployment = shape({
  type: 'object',
  named: 'Deployment',
  description: 'The stored description, with what the server owns.',
  fields: deploymentFields,
});

export const deploymentWritten = shape({
  type: 'object',
  named: 'DeploymentWritten',
  fields: { ...deploymentFields, ...announced, plan: optional(placementPlan) },
});

const policyFields = {
  deployment: text,
  minReplicas: integer,
  maxReplicas: integer,
  targetCpuPercent: number,
  cooldown: text,
  createdAt: time,
  updatedAt: time,
  revision,
} as const;

export const scalingPolicy = shape({
  type: 'object',
  named: 'ScalingPolicy',
  fields: {
    ...policyFields,
    status: {
      type: 'object',
      nullable: true,
      description: 'Null until the control plane has looked.',
      fields: {
        state: { type: 'string', values: ['active', 'paused'] },
        message: text,
        replicas: integer,
        cpuPercent: optional(number),
        measured: integer,
      },
    },
  },
});

export const scalingPolicyWritten = shape({
  type: 'object',
  named: 'ScalingPolicyWritten',
  fields: { ...policyFields, ...announced },
});

const canaryFields = {
  deployment: text,
  image: text,
  imageDigest,
  replicas: integer,
  weight: optional(integer),
  specHash: text,
  stableSpecHash: text,
  createdAt: time,
  createdBy: text,
  status: { type: 'object', fields: { ...counts, message: text } },
  spec: deploymentSpec,
  revision,
} as const;

export const canary = shape({ type: 'object', named: 'Canary', fields: canaryFields });

export const canaryWritten = shape({
  type: 'object',
  named: 'CanaryWritten',
  fields: { ...canaryFields, ...announced },
});

const instanceFields = {
  id: text,
  deployment: text,
  nodeId: text,
  specHash: text,
  secretsVersion: integer,
  wanted: { type: 'string', values: ['run', 'stop'] },
  canary: optional(flag),
  attempt: integer,
  healthRestarts: {
    ...integer,
    optional: true,
    description:
      'How often it was restarted because it was unhealthy, since it was last well for ten minutes.',
  },
  leaving: optional({ ...text, description: 'Why it is being replaced on another node.' }),
  createdAt: time,
  nodeStatus,
  state: text,
  health: { type: 'string', optional: true, values: ['starting', 'healthy', 'unhealthy'] },
  reason: optional(text),
  message: optional(text),
  address: optional({ ...text, description: "On the tenant's network." }),
  containerId: optional(text),
  containerName: optional(text),
  observedSpecHash: optional(text),
  observedSecretsVersion: optional(integer),
  exitCode: optional(integer),
  restarts: optional(integer),
  startedAt: { ...text, optional: true, description: 'By the clock of the node.' },
  healthySince: { ...text, optional: true, description: 'By the clock of the node.' },
  ports: optional(listOf({ type: 'object', fields: { container: integer, host: integer } })),
  usage: {
    type: 'object',
    optional: true,
    description: 'What the agent measured last; per cent of one core.',
    fields: { cpuPercent: number, memoryBytes: integer },
  },
} as const;

export const instance = shape({
  type: 'object',
  named: 'Instance',
  description: 'As it is wanted, and as the agent of its node last saw it.',
  fields: instanceFields,
});

export const instanceDetail = shape({
  type: 'object',
  named: 'InstanceDetail',
  description:
    'One instance, seen closely. Its events: GET /api/v1/events?subject=Instance/{id}&since={createdAt}; what it prints: logs?instance={id}.',
  fields: {
    ...instanceFields,
    name: { ...text, description: 'For people: the deployment and the end of the id.' },
    current: { ...flag, description: 'It runs the spec that the deployment has now.' },
    image: optional(text),
    imageDigest,
    secrets: {
      ...listOf({
        type: 'object',
        fields: {
          path: text,
          current: integer,
          next: optional(integer),
          previous: optional(integer),
        },
      }),
      description: 'Versions of the credentials that its container was given, by path.',
    },
    node: {
      type: 'object',
      named: 'InstanceHost',
      description:
        'Where it is. A node that does not answer may still run it: what is said of it is what was seen last.',
      fields: {
        name: text,
        status: { type: 'string', values: ['ready', 'failed'] },
        connected: { ...flag, description: 'Its agent can be asked now.' },
        lastSeenAt: nullable(time),
        agentVersion: optional(text),
        engine: optional({ type: 'object', fields: { kind: text, version: text } }),
      },
    },
    order: {
      type: 'object',
      optional: true,
      description: 'What a person asked of it that is not carried out yet.',
      fields: { kind: { type: 'string', values: ['restart', 'stop'] }, at: time },
    },
    checks: {
      ...listOf({
        type: 'object',
        fields: { at: text, exitCode: optional(integer), output: text },
      }),
      optional: true,
      description:
        'The last health checks, oldest first, by the clock of the node; redacted. Absent: it has none, or its agent could not be asked.',
    },
    failures: {
      ...listOf(failure),
      description: 'How it failed lately, newest first; what it printed then: logs?previous=true.',
    },
  },
});

export const instanceOrdered = shape({
  type: 'object',
  named: 'InstanceOrdered',
  fields: {
    instance: text,
    deployment: text,
    nodeId: text,
    order: { type: 'string', values: ['restart', 'stop', 'signal'] },
    signal: optional(text),
    message: { ...text, description: 'What becomes of it.' },
    revision: optional(revision),
    ...announced,
  },
});

export const execution = shape({
  type: 'object',
  named: 'Execution',
  fields: {
    exitCode: { ...nullable(integer), description: 'Null when the command was ended.' },
    stdout: text,
    stderr: text,
    truncated: optional(flag),
    timedOut: optional(flag),
    instance: optional(text),
  },
});

/** As the agent of a node describes it: what Berth did not start may be in any state. */
export const container = shape({ ...freeMap, named: 'Container' });
