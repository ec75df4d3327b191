import { NAME, NODE_NAME, PLAIN_PATH } from './forms.ts';
import { type Draft, shape } from '../schema/shape.ts';

/** `POST /api/v1/dvm/volumes`; the rules of each field own its wrong types. */
export const volumeBody = shape({
  type: 'object',
  fields: {
    name: {
      type: 'any',
      schema: { type: 'string', ...NAME },
      description: 'Unique in the tenant; mounts may name it.',
      example: 'pg-data',
    },
    class: {
      type: 'any',
      schema: { type: 'string', enum: ['ephemeral', 'replicated', 'object'] },
      description:
        'What happens to the bytes when a node is lost: ephemeral, they are lost with it; replicated, copies on other nodes take over; object is not served by any node yet.',
      example: 'replicated',
    },
    type: {
      type: 'any',
      schema: { type: 'string', enum: ['volume', 'bind', 'tmpfs'] },
      description:
        'volume: space that the node makes; bind: a directory of the host; tmpfs: memory. The last two are of class ephemeral.',
      example: 'volume',
    },
    sizeBytes: {
      type: 'any',
      schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      description: 'Bytes; at least 134217728 for the class replicated.',
      example: 1_073_741_824,
    },
    nodeId: {
      type: 'string',
      form: NODE_NAME,
      description: 'Node of the primary.',
      absent: 'one is chosen',
      example: 'berlin-1',
      ownCode: 'node_not_a_placement_candidate',
    },
    replicas: {
      type: 'integer',
      form: { minimum: 0, maximum: 100 },
      description: 'Copies beside the primary, each on a node of its own; class replicated only.',
      absent: '0; with class replicated that is announced',
      example: 1,
      exampleWith: { class: 'replicated' },
    },
    hostPath: {
      type: 'any',
      schema: { type: ['string', 'null'], ...PLAIN_PATH },
      description: 'Directory of the host; type bind only, and required there.',
      absent: 'none',
      example: '/srv/orders',
      exampleWith: { class: 'ephemeral', type: 'bind' },
    },
  },
  required: ['name', 'class', 'type', 'sizeBytes'],
  named: 'VolumeDescription',
});

export type VolumeDraft = Draft<typeof volumeBody>;

export const replicaBody = shape({
  type: 'object',
  fields: {
    node_id: {
      type: 'string',
      form: NODE_NAME,
      description: 'An enrolled node that holds no copy of the volume yet.',
      ownCode: 'node_not_a_placement_candidate',
      ownForm: 'the name of an enrolled node that holds no copy of the volume; GET /api/v1/nodes lists them',
    },
  },
  required: ['node_id'],
});

export const promoteBody = shape({
  type: 'object',
  fields: {
    node_id: {
      type: 'string',
      form: NODE_NAME,
      description: 'A node with a live copy of the volume.',
      ownCode: 'node_not_a_placement_candidate',
      ownForm:
        'the name of a node with a live copy of the volume; GET /api/v1/dvm/volumes/{id} lists its copies',
    },
  },
  required: ['node_id'],
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
