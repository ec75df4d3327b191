import { shape } from '../../schema/shape.ts';
import {
  RECOMMENDATION_ACTIONS,
  RECOMMENDATION_PRIORITIES,
  RECOMMENDATION_TYPES,
} from '../../model/recommendation.ts';
import {
  announced,
  flag,
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

const volumeFields = {
  id: text,
  tenantId: text,
  name: text,
  class: { type: 'string', values: ['ephemeral', 'replicated', 'object'] },
  type: { type: 'string', values: ['volume', 'bind', 'tmpfs'] },
  phase: { type: 'string', values: ['Pending', 'Materializing', 'Ready', 'Degraded', 'Deleting'] },
  message: { ...text, optional: true, description: 'Why it is not Ready, or not as large as wanted.' },
  sizeBytes: { ...integer, description: 'What df shows in a container, as soon as it is measured.' },
  wantedSizeBytes: { ...integer, description: 'What was asked for.' },
  usedBytes: nullable(integer),
  measuredAt: nullable(time),
  primaryNodeId: nullable(text),
  wantedReplicas: { ...integer, description: 'Copies wanted beside the primary.' },
  replicas: listOf({
    type: 'object',
    fields: {
      nodeId: text,
      state: { type: 'string', values: ['syncing', 'live', 'failed'] },
      lagSeconds: nullable(number),
      formerEpoch: {
        ...integer,
        optional: true,
        description: 'It was the primary until then and may hold bytes of its own.',
      },
      misplaced: {
        ...text,
        optional: true,
        description: 'Why it cannot take over, although it is kept: whose residency excludes its node.',
      },
      problem: { ...text, optional: true, description: 'Why its primary brings it nothing newer.' },
    },
  }),
  accessMode: { type: 'string', values: ['ReadWriteOnce'] },
  hostPath: optional(text),
  epoch: { ...integer, description: 'Raised with every promotion.' },
  switchover: {
    type: 'object',
    optional: true,
    description: 'Its primary is being moved as planned.',
    fields: {
      to: text,
      step: {
        type: 'string',
        values: ['preparing', 'stopping', 'copying'],
        description:
          'The other node fetches the images of what mounts it, which runs on meanwhile; what mounts it stops; its last copy is made.',
      },
      by: { type: 'string', values: ['drain', 'request'] },
      since: time,
    },
  },
  switchoverFailed: {
    type: 'object',
    optional: true,
    description: 'The last planned move was given up; its primary stayed where it was.',
    fields: { to: text, by: { type: 'string', values: ['drain', 'request'] }, why: text, at: time },
  },
  createdAt: time,
  consumers: listOf({
    type: 'object',
    fields: { deployment: optional(text), job: optional(text), readOnly: flag },
  }),
} as const;

export const volume = shape({ type: 'object', named: 'Volume', fields: { ...volumeFields, revision } });

export const volumeWritten = shape({
  type: 'object',
  named: 'VolumeWritten',
  fields: { ...volumeFields, revision: { ...revision, optional: true }, ...announced },
});

export const recommendation = shape({
  type: 'object',
  named: 'Recommendation',
  fields: {
    id: text,
    applicable: flag,
    type: { type: 'string', values: RECOMMENDATION_TYPES },
    priority: { type: 'string', values: RECOMMENDATION_PRIORITIES },
    volume_id: text,
    parameters: {
      type: 'object',
      fields: {
        action: { type: 'string', optional: true, values: RECOMMENDATION_ACTIONS },
        target_replicas: optional(integer),
        target_size_bytes: optional(integer),
      },
    },
    reason: text,
  },
});

/** Snapshots are never made, so that none is ever shown. */
export const snapshot = shape({ type: 'object', named: 'Snapshot', fields: { id: text } });

const networkFields = {
  name: text,
  driver: { type: 'string', values: ['bridge'] },
  labels: textMap,
  internal: flag,
  nodeId: text,
  tenantId: text,
  createdAt: time,
  status: {
    type: 'object',
    fields: { phase: { type: 'string', values: ['Pending', 'Ready', 'Failed'] }, message: text },
  },
} as const;

export const network = shape({
  type: 'object',
  named: 'Network',
  fields: { ...networkFields, revision: optional(revision) },
});

export const networkWritten = shape({
  type: 'object',
  named: 'NetworkWritten',
  fields: { ...networkFields, revision, ...announced },
});
