import { type Draft, shape } from './shape.ts';

/** `POST /api/v1/dvm/volumes`; the rules of each field own its wrong types. */
export const volumeBody = shape({
  type: 'object',
  fields: {
    name: {
      type: 'any',
      schema: { type: 'string', maxLength: 63 },
      description: 'Lowercase letters, digits and hyphens.',
      example: 'pg-data',
    },
    class: {
      type: 'any',
      schema: { type: 'string', enum: ['ephemeral', 'replicated', 'object'] },
      description: 'What happens to the bytes when a node is lost.',
    },
    type: {
      type: 'any',
      schema: { type: 'string', enum: ['volume', 'bind', 'tmpfs'] },
      description: 'How it is mounted.',
    },
    sizeBytes: {
      type: 'any',
      schema: { type: 'integer', minimum: 1 },
      description: 'Bytes; at least 134217728 for the class replicated.',
      example: 1_073_741_824,
    },
    nodeId: {
      type: 'string',
      description: 'Node of the primary; absent: one is chosen.',
      ownCode: 'node_not_a_placement_candidate',
    },
    replicas: {
      type: 'integer',
      description: 'Copies beside the primary, each on a node of its own; class replicated only.',
    },
    hostPath: {
      type: 'any',
      schema: { type: 'string' },
      description: 'Directory of the host; type bind only.',
    },
  },
});

export type VolumeDraft = Draft<typeof volumeBody>;

export const replicaBody = shape({
  type: 'object',
  fields: {
    node_id: {
      type: 'string',
      description: 'An enrolled node that holds no copy of the volume yet.',
      ownCode: 'node_not_a_placement_candidate',
    },
  },
});

export const applyBody = shape({
  type: 'object',
  fields: {
    parameters: {
      type: 'any',
      schema: {
        type: 'object',
        properties: {
          action: { type: 'string', enum: ['set_replicas', 'resize'] },
          target_replicas: { type: 'integer', minimum: 1 },
          target_size_bytes: { type: 'integer', minimum: 1 },
        },
      },
      description: 'Absent: the recommended ones.',
    },
  },
});
