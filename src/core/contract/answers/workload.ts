import { INGRESS_PROTOCOLS, INGRESS_PROVIDERS } from '../../model/ingress.ts';
import { STOP_SIGNALS } from '../../model/stop.ts';
import { shape } from '../../schema/shape.ts';
import { INGRESS_TLS } from '../forms.ts';
import { flag, integer, listOf, number, optional, text, textMap, texts } from './field-shapes.ts';

const amounts = shape({
  type: 'object',
  fields: { cpu: optional(number), memory: optional(text) },
});

const requests = shape({ type: 'object', fields: { ...amounts.fields, disk: optional(text) } });

/** What deployments and jobs have in common, as it is stored. */
export const workloadFields = {
  name: text,
  image: text,
  command: optional(texts),
  user: optional(text),
  readOnlyRootFilesystem: optional(flag),
  capabilities: { type: 'object', optional: true, fields: { drop: optional(texts) } },
  environment: optional(textMap),
  secrets: listOf({
    type: 'object',
    fields: { name: text, vault_path: text, anchor: text, rotation: { type: 'string', values: ['restart'] } },
  }),
  composedEnvironment: optional(textMap),
  stop: {
    type: 'object',
    optional: true,
    fields: { signal: { type: 'string', values: STOP_SIGNALS, optional: true }, grace: optional(text) },
  },
  files: optional(
    listOf({
      type: 'object',
      fields: { path: text, content: optional(text), base64: optional(text), mode: optional(text) },
    }),
  ),
  volumes: optional(listOf({ type: 'object', fields: { volumeId: text, mountPath: text, readOnly: flag } })),
  placement: {
    type: 'object',
    optional: true,
    fields: {
      residency: {
        type: 'object',
        optional: true,
        fields: { country: optional(text), region: optional(text), blockedCountries: optional(texts) },
      },
      constraints: optional(textMap),
      antiAffinity: optional(texts),
    },
  },
  resources: {
    type: 'object',
    optional: true,
    fields: { requests: optional(requests), limits: optional(amounts) },
  },
  nodeId: optional(text),
  networks: optional(texts),
  labels: optional(textMap),
} as const;

export const deploymentSpecFields = {
  kind: { type: 'string', values: ['Deployment'] },
  ...workloadFields,
  replicas: integer,
  secretsVersion: integer,
  healthCheck: {
    type: 'object',
    optional: true,
    fields: {
      type: { type: 'string', values: ['exec'] },
      command: texts,
      interval: optional(text),
      timeout: optional(text),
      retries: optional(integer),
      startPeriod: optional(text),
      restartAfter: optional(text),
    },
  },
  dependsOn: { type: 'map', optional: true, items: { type: 'string', values: ['healthy', 'started'] } },
  ports: optional(listOf({ type: 'object', fields: { container: integer, host: optional(integer) } })),
  ingress: optional(
    listOf({
      type: 'object',
      fields: {
        host: optional(text),
        path: optional(text),
        listen: optional(integer),
        port: integer,
        protocol: { type: 'string', optional: true, values: INGRESS_PROTOCOLS },
        tls: { type: 'any', optional: true, schema: INGRESS_TLS },
        provider: { type: 'string', optional: true, values: INGRESS_PROVIDERS },
      },
    }),
  ),
  access: { type: 'object', optional: true, fields: { from: texts } },
  update: {
    type: 'object',
    optional: true,
    fields: {
      maxSurge: optional(integer),
      maxUnavailable: optional(integer),
      progressDeadline: optional(text),
      onFailure: { type: 'string', optional: true, values: ['rollback', 'leave'] },
    },
  },
} as const;

export const deploymentSpec = shape({
  type: 'object',
  named: 'DeploymentSpec',
  description: 'As it is stored: references to secrets, never material.',
  fields: deploymentSpecFields,
});

export const jobSpecFields = {
  kind: { type: 'string', values: ['Job'] },
  ...workloadFields,
  schedule: optional(text),
  timeout: optional(text),
  retries: optional(integer),
  before: {
    type: 'object',
    optional: true,
    description: 'What has to succeed in an instance of the deployment before a run starts its container.',
    fields: { deployment: text, command: texts, timeout: optional(text) },
  },
} as const;
